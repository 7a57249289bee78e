/*
 * reference_math - fp64 building blocks of the reference model, on the host, with OpenMP.
 *
 * Every sum runs in one fixed order for a given shape, whatever the number of threads or the
 * processor's vector width, so results are the same bytes everywhere. Arrays are row-major.
 */
#ifndef ASSAY_WORKLOADS_CHECK_REFERENCE_MATH_H
#define ASSAY_WORKLOADS_CHECK_REFERENCE_MATH_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/core/status.h"

/* A matrix to read: exactly one of f64 and f32 is set. Element (r, c) of op(M) lies at
   [r * stride + c], or at [c * stride + r] when it is transposed. */
struct reference_matrix {
    const double *f64;
    const float *f32;
    uint64_t stride;
    bool transpose;
};

/* C[m,n] (row stride `c_stride`) = A[m,k] B[k,n], added to C when `accumulate`. */
enum status reference_gemm(double *c, uint64_t c_stride, struct reference_matrix a,
                           struct reference_matrix b, uint64_t m, uint64_t n, uint64_t k,
                           bool accumulate, struct error *err);

/*
 * y = (x - mean) * rstd * g + b for each row, rstd = 1 / sqrt(variance + epsilon); keeps the rows'
 * means and reciprocal deviations.
 */
void reference_norm_forward(const double *x, const float *gain, const float *bias, double *y,
                            double *mean, double *rstd, uint64_t rows, uint64_t width,
                            double epsilon);
/* Adds to dx; writes dgain and dbias. */
void reference_norm_backward(const double *x, const float *gain, const double *mean,
                             const double *rstd, const double *dy, double *dx, double *dgain,
                             double *dbias, uint64_t rows, uint64_t width);

/* GELU, tanh form (Hendrycks and Gimpel 2016): 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). */
double reference_gelu(double x);
double reference_gelu_derivative(double x);

/* x[r, :] += bias for every row; and its gradient: dbias[c] += sum over rows of dy[r, c]. */
void reference_bias_add(double *x, const float *bias, uint64_t rows, uint64_t width);
void reference_column_sum(const double *dy, double *dbias, uint64_t rows, uint64_t width);

/*
 * y = x / sqrt(mean(x^2) + epsilon) * g for each row (Zhang and Sennrich 2019); keeps the rows'
 * reciprocal root mean squares. The backward form adds to dx and writes dgain.
 */
void reference_rms_forward(const double *x, const float *gain, double *y, double *rstd,
                           uint64_t rows, uint64_t width, double epsilon);
void reference_rms_backward(const double *x, const float *gain, const double *rstd,
                            const double *dy, double *dx, double *dgain, uint64_t rows,
                            uint64_t width);

/*
 * One causal attention head of `length` positions and `size` elements: q, k, v are columns of the
 * fused projection, whose rows are `stride` apart; p (length*length) receives the probabilities,
 * out (rows `width` apart) the values. The backward form reads p and writes dq, dk, dv, laid out as
 * q, k, v, and adds to the last two where another head of the same keys has written them (`adds`);
 * dp (length*length) is its scratch.
 */
struct reference_head {
    const double *q, *k, *v;
    uint64_t length, size, stride, width;
};
enum status reference_head_forward(struct reference_head head, double *p, double *out,
                                   struct error *err);
enum status reference_head_backward(struct reference_head head, const double *p, const double *dout,
                                    double *dq, double *dk, double *dv, double *dp, bool adds,
                                    struct error *err);

#endif
