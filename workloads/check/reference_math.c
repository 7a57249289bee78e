#include "workloads/check/reference_math.h"

#include <math.h>

#define WORTH_THREADS 30000 /* elements below which one thread is faster */

#define GELU_SCALE 0.79788456080286535588 /* sqrt(2/pi) */
#define GELU_CUBIC 0.044715

void reference_norm_forward(const double *x, const float *gain, const float *bias, double *y,
                            double *mean, double *rstd, uint64_t rows, uint64_t width,
                            double epsilon)
{
#pragma omp parallel for schedule(static) if (rows * width > WORTH_THREADS)
    for (uint64_t r = 0; r < rows; r++) {
        const double *in = x + r * width;
        double *out = y + r * width, sum = 0.0, square = 0.0;

        for (uint64_t i = 0; i < width; i++)
            sum += in[i];
        mean[r] = sum / (double)width;
        for (uint64_t i = 0; i < width; i++)
            square += (in[i] - mean[r]) * (in[i] - mean[r]);
        rstd[r] = 1.0 / sqrt(square / (double)width + epsilon);
        for (uint64_t i = 0; i < width; i++)
            out[i] = (in[i] - mean[r]) * rstd[r] * (double)gain[i] + (double)bias[i];
    }
}

void reference_norm_backward(const double *x, const float *gain, const double *mean,
                             const double *rstd, const double *dy, double *dx, double *dgain,
                             double *dbias, uint64_t rows, uint64_t width)
{
#pragma omp parallel for schedule(static) if (rows * width > WORTH_THREADS)
    for (uint64_t r = 0; r < rows; r++) {
        const double *in = x + r * width, *up = dy + r * width;
        double sum = 0.0, product = 0.0;

        for (uint64_t i = 0; i < width; i++) {
            double scaled = up[i] * (double)gain[i];

            sum += scaled;
            product += scaled * (in[i] - mean[r]) * rstd[r];
        }
        for (uint64_t i = 0; i < width; i++) {
            double unit = (in[i] - mean[r]) * rstd[r];

            dx[r * width + i] += rstd[r] * (up[i] * (double)gain[i] - sum / (double)width -
                                            unit * product / (double)width);
        }
    }
#pragma omp parallel for schedule(static) if (rows * width > WORTH_THREADS)
    for (uint64_t i = 0; i < width; i++) {
        double g = 0.0, b = 0.0;

        for (uint64_t r = 0; r < rows; r++) {
            g += dy[r * width + i] * (x[r * width + i] - mean[r]) * rstd[r];
            b += dy[r * width + i];
        }
        dgain[i] = g;
        dbias[i] = b;
    }
}

void reference_rms_forward(const double *x, const float *gain, double *y, double *rstd,
                           uint64_t rows, uint64_t width, double epsilon)
{
#pragma omp parallel for schedule(static) if (rows * width > WORTH_THREADS)
    for (uint64_t r = 0; r < rows; r++) {
        const double *in = x + r * width;
        double square = 0.0;

        for (uint64_t i = 0; i < width; i++)
            square += in[i] * in[i];
        rstd[r] = 1.0 / sqrt(square / (double)width + epsilon);
        for (uint64_t i = 0; i < width; i++)
            y[r * width + i] = in[i] * rstd[r] * (double)gain[i];
    }
}

void reference_rms_backward(const double *x, const float *gain, const double *rstd,
                            const double *dy, double *dx, double *dgain, uint64_t rows,
                            uint64_t width)
{
#pragma omp parallel for schedule(static) if (rows * width > WORTH_THREADS)
    for (uint64_t r = 0; r < rows; r++) {
        const double *in = x + r * width, *up = dy + r * width;
        double product = 0.0;

        for (uint64_t i = 0; i < width; i++)
            product += up[i] * (double)gain[i] * in[i] * rstd[r];
        for (uint64_t i = 0; i < width; i++)
            dx[r * width + i] +=
                rstd[r] * (up[i] * (double)gain[i] - in[i] * rstd[r] * product / (double)width);
    }
#pragma omp parallel for schedule(static) if (rows * width > WORTH_THREADS)
    for (uint64_t i = 0; i < width; i++) {
        double sum = 0.0;

        for (uint64_t r = 0; r < rows; r++)
            sum += dy[r * width + i] * x[r * width + i] * rstd[r];
        dgain[i] = sum;
    }
}

double reference_gelu(double x)
{
    return 0.5 * x * (1.0 + tanh(GELU_SCALE * (x + GELU_CUBIC * x * x * x)));
}

double reference_gelu_derivative(double x)
{
    double t = tanh(GELU_SCALE * (x + GELU_CUBIC * x * x * x));

    return 0.5 * (1.0 + t) +
           0.5 * x * (1.0 - t * t) * GELU_SCALE * (1.0 + 3.0 * GELU_CUBIC * x * x);
}

void reference_bias_add(double *x, const float *bias, uint64_t rows, uint64_t width)
{
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t i = 0; i < width; i++)
            x[r * width + i] += (double)bias[i];
}

void reference_column_sum(const double *dy, double *dbias, uint64_t rows, uint64_t width)
{
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t i = 0; i < width; i++)
            dbias[i] += dy[r * width + i];
}

enum status reference_head_forward(struct reference_head head, double *p, double *out,
                                   struct error *err)
{
    uint64_t n = head.length, stride = head.stride;
    double scale = 1.0 / sqrt((double)head.size);
    struct reference_matrix q = {.f64 = head.q, .stride = stride};
    struct reference_matrix kt = {.f64 = head.k, .stride = stride, .transpose = true};
    struct reference_matrix v = {.f64 = head.v, .stride = stride};
    struct reference_matrix pm = {.f64 = p, .stride = n};

    TRY(reference_gemm(p, n, q, kt, n, n, head.size, false, err));
    for (uint64_t r = 0; r < n; r++) {
        double *row = p + r * n, top = -INFINITY, sum = 0.0;

        for (uint64_t c = 0; c <= r; c++) {
            row[c] *= scale;
            top = row[c] > top ? row[c] : top;
        }
        for (uint64_t c = 0; c <= r; c++) {
            row[c] = exp(row[c] - top);
            sum += row[c];
        }
        for (uint64_t c = 0; c < n; c++)
            row[c] = c <= r ? row[c] / sum : 0.0;
    }
    return reference_gemm(out, head.width, pm, v, n, head.size, n, false, err);
}

/* dp holds dout v^T on entry, the gradient of the scores before scaling on return. */
static void softmax_backward(const double *p, double *dp, uint64_t n, double scale)
{
    for (uint64_t r = 0; r < n; r++) {
        double dot = 0.0;

        for (uint64_t c = 0; c <= r; c++)
            dot += p[r * n + c] * dp[r * n + c];
        for (uint64_t c = 0; c < n; c++)
            dp[r * n + c] = c <= r ? scale * p[r * n + c] * (dp[r * n + c] - dot) : 0.0;
    }
}

enum status reference_head_backward(struct reference_head head, const double *p, const double *dout,
                                    double *dq, double *dk, double *dv, double *dp, bool adds,
                                    struct error *err)
{
    uint64_t n = head.length, stride = head.stride;
    struct reference_matrix pt = {.f64 = p, .stride = n, .transpose = true};
    struct reference_matrix up = {.f64 = dout, .stride = head.width};
    struct reference_matrix vt = {.f64 = head.v, .stride = stride, .transpose = true};
    struct reference_matrix k = {.f64 = head.k, .stride = stride};
    struct reference_matrix q = {.f64 = head.q, .stride = stride};
    struct reference_matrix ds = {.f64 = dp, .stride = n};
    struct reference_matrix dst = {.f64 = dp, .stride = n, .transpose = true};

    TRY(reference_gemm(dv, stride, pt, up, n, head.size, n, adds, err));
    TRY(reference_gemm(dp, n, up, vt, n, n, head.size, false, err));
    softmax_backward(p, dp, n, 1.0 / sqrt((double)head.size));
    TRY(reference_gemm(dq, stride, ds, k, n, head.size, n, false, err));
    return reference_gemm(dk, stride, dst, q, n, head.size, n, adds, err);
}
