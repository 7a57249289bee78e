/*
 * Gradients of experts.h, whose gates and lists these are, and the gates of training, all in
 * `storage`, sums in f32 and each in one order. Joined behind pack.h, fold.h and memory_exp.h.
 */
#define DEEP 8 /* elements of a sum that are added up by themselves */
#define TOP_MOST 64

/* Of the row at `gates` its experts and their weights, into local arrays, by one lane. */
#define EXPERTS_OF(gates)                                                                          \
    BARRIER();                                                                                     \
    if (LANE == 0) {                                                                               \
        u64 found = 0;                                                                             \
                                                                                                   \
        for (u64 e = 0; e < experts; e++)                                                          \
            if (LOAD(gates, e) != 0.0f && found < top) {                                           \
                weights[found] = LOAD(gates, e);                                                   \
                of[found++] = (u32)e;                                                              \
            }                                                                                      \
        for (; found < top; found++) {                                                             \
            weights[found] = 0.0f;                                                                 \
            of[found] = (u32)experts; /* none */                                                   \
        }                                                                                          \
    }                                                                                              \
    BARRIER()

/*
 * The gates are the softmax of the row's scores of the `top` experts with which its 2 top numbers
 * of `routing` begin. None of those is 0, however small.
 */
KERNEL(experts_weigh, const GLOBAL storage *scores, const GLOBAL i32 *routing,
       GLOBAL storage *gates, u64 scores_offset, u64 gates_offset, u64 rows, u64 experts, u64 top)
{
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *row = scores + scores_offset + r * experts;
        const GLOBAL i32 *given = routing + 2 * r * top;
        GLOBAL storage *out = gates + gates_offset + r * experts;
        f32 largest = LOAD(row, given[0]), sum = 0.0f;

        for (u64 s = 1; s < top; s++)
            largest = fold_max(largest, LOAD(row, given[s]));
        for (u64 s = 0; s < top; s++)
            sum += exp_f32(LOAD(row, given[s]) - largest);
        for (u64 e = LANE; e < experts; e += LANES)
            STORE(out, e, 0.0f);
        BARRIER();
        for (u64 s = LANE; s < top; s += LANES) {
            const u64 e = (u64)given[s];

            STORE(out, e, exp_f32(LOAD(row, e) - largest) / sum);
            if (LOAD(out, e) == 0.0f)
                STORE(out, e, 1.17549435e-38f); /* 2^-126 */
        }
        BARRIER();
    }
}

/*
 * Of a softmax whose weights, rounded, do not add up to 1: out = g (dg - mean of dg by g), as a sum
 * of differences: where one weight is nearly 1, its dg is nearly that mean.
 */
KERNEL(experts_weigh_backward, const GLOBAL f32 *up, const GLOBAL storage *gates,
       GLOBAL storage *out, u64 up_offset, u64 gates_offset, u64 out_offset, u64 rows, u64 experts)
{
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL f32 *from = up + up_offset + r * experts;
        const GLOBAL storage *row = gates + gates_offset + r * experts;
        GLOBAL storage *to = out + out_offset + r * experts;

        for (u64 e = LANE; e < experts; e += LANES) {
            const f32 g = LOAD(row, e);
            f32 sum = 0.0f, all = 0.0f;

            for (u64 f = 0; g != 0.0f && f < experts; f++) {
                sum = F_FMA(LOAD(row, f), from[e] - from[f], sum);
                all += LOAD(row, f);
            }
            STORE(to, e, g != 0.0f ? g * sum / all : 0.0f);
        }
    }
}

/*
 * What a row's experts have made, (rows, top n), times the gradient of their sum: that of gates, in
 * f32, since its differences count.
 */
KERNEL(experts_gates_backward, const GLOBAL storage *dy, const GLOBAL storage *x,
       const GLOBAL storage *gates, GLOBAL f32 *out, u64 dy_offset, u64 x_offset, u64 gates_offset,
       u64 out_offset, u64 rows, u64 experts, u64 top, u64 n)
{
    LOCAL_ARRAY(f32, weights, TOP_MOST);
    LOCAL_ARRAY(u32, of, TOP_MOST);
    GROUP_SCRATCH;

    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *up = dy + dy_offset + r * n, *in = x + x_offset + r * top * n;
        const GLOBAL storage *row = gates + gates_offset + r * experts;
        GLOBAL f32 *to = out + out_offset + r * experts;

        for (u64 e = LANE; e < experts; e += LANES)
            to[e] = 0.0f;
        EXPERTS_OF(row);
        for (u64 s = 0; s < top; s++) {
            f32 sum;

            SUM_OVER(sum, n, LOAD(up, i) * LOAD(in, s * n + i));
            if (LANE == 0 && of[s] < experts)
                to[of[s]] = sum;
        }
    }
}

/* The gradient of what a row's experts have made, (rows, top n): that of their sum by weights. */
KERNEL(experts_combine_backward, const GLOBAL storage *dy, const GLOBAL storage *gates,
       GLOBAL storage *dx, u64 dy_offset, u64 gates_offset, u64 dx_offset, u64 rows, u64 experts,
       u64 top, u64 n)
{
    LOCAL_ARRAY(f32, weights, TOP_MOST);
    LOCAL_ARRAY(u32, of, TOP_MOST);

    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *up = dy + dy_offset + r * n;
        const GLOBAL storage *row = gates + gates_offset + r * experts;
        GLOBAL storage *to = dx + dx_offset + r * top * n;

        EXPERTS_OF(row);
        for (u64 s = 0; s < top; s++)
            for (u64 j = LANE; j < n; j += LANES)
                STORE(to, s * n + j, of[s] < experts ? weights[s] * LOAD(up, j) : 0.0f);
    }
}

/*
 * dx = base + the sum over a row's experts of dy W^T, W (k, n); with `parts`, as many as experts of
 * a row, for each of those by itself, dx being (rows, top k). `base` counts with `adds` alone.
 */
KERNEL(experts_inputs_backward, const GLOBAL storage *dy, const GLOBAL storage *w,
       const GLOBAL storage *gates, const GLOBAL storage *base, GLOBAL storage *dx, u64 dy_offset,
       u64 w_offset, u64 gates_offset, u64 base_offset, u64 dx_offset, u64 rows, u64 experts,
       u64 top, u64 parts, u64 k, u64 n, u32 adds)
{
    LOCAL_ARRAY(f32, weights, TOP_MOST);
    LOCAL_ARRAY(u32, of, TOP_MOST);
    const u64 whole = n / DEEP * DEEP;

    for (u64 item = GROUP; item < rows * parts; item += GROUPS) {
        const u64 r = item / parts, first = parts > 1 ? item % parts : 0;
        const u64 end = parts > 1 ? first + 1 : top;
        const GLOBAL storage *row = gates + gates_offset + r * experts;
        const GLOBAL storage *on = base + base_offset + item * k;
        GLOBAL storage *to = dx + dx_offset + item * k;

        EXPERTS_OF(row);
        for (u64 p = LANE; p < k; p += LANES) {
            f32 sums[DEEP], sum = adds ? LOAD(on, p) : 0.0f;

            UNROLL
            for (u32 d = 0; d < DEEP; d++)
                sums[d] = 0.0f;
            for (u64 s = first; s < end; s++) {
                const u64 e = of[s] < experts ? of[s] : 0;
                const GLOBAL storage *from = w + w_offset + (e * k + p) * n;
                const GLOBAL storage *up = dy + dy_offset + (r * top + s) * n;

                for (u64 j = 0; j < whole; j += DEEP) {
                    UNROLL
                    for (u32 d = 0; d < DEEP; d++)
                        sums[d] = F_FMA(LOAD(up, j + d), LOAD(from, j + d), sums[d]);
                }
                for (u64 j = whole; j < n; j++)
                    sums[0] = F_FMA(LOAD(up, j), LOAD(from, j), sums[0]);
            }
            UNROLL
            for (u32 d = 0; d < DEEP; d++)
                sum += sums[d];
            STORE(to, p, sum);
        }
    }
}

/*
 * dW = the sum over an expert's rows of x^T dy, 0 of one that has none; x's row of a place in the
 * lists is of number place / per. A group takes neighbouring columns of a row of one matrix.
 */
#if LANES == 1
#define WEIGHT_COLUMNS 64
#else
#define WEIGHT_COLUMNS 1
#endif
#define WEIGHT_BLOCK (LANES * WEIGHT_COLUMNS)

KERNEL(experts_weights_backward, const GLOBAL storage *x, const GLOBAL storage *dy,
       const GLOBAL i32 *lists, GLOBAL storage *dw, u64 x_offset, u64 dy_offset, u64 dw_offset,
       u64 rows, u64 experts, u64 top, u64 per, u64 k, u64 n)
{
    const u64 blocks = (n + WEIGHT_BLOCK - 1) / WEIGHT_BLOCK;

    for (u64 item = GROUP; item < experts * k * blocks; item += GROUPS) {
        const u64 at = item / blocks, e = at / k;
        const u64 c = item % blocks * WEIGHT_BLOCK + LANE * WEIGHT_COLUMNS;
        const u64 columns = c >= n ? 0 : n - c < WEIGHT_COLUMNS ? n - c : WEIGHT_COLUMNS;
        const u64 count = (u64)lists[e] < rows ? (u64)lists[e] : rows;
        f32 sums[WEIGHT_COLUMNS];

        for (u64 j = 0; j < WEIGHT_COLUMNS; j++)
            sums[j] = 0.0f;
        for (u64 i = 0; i < count; i++) {
            const u64 listed = (u64)lists[experts + e * rows + i];
            const u64 place = listed < rows * top ? listed : 0; /* whatever the lists say */
            const f32 a = LOAD(x, x_offset + place / per * k + at % k);
            const GLOBAL storage *up = dy + dy_offset + place * n + c;

            for (u64 j = 0; j < columns; j++)
                sums[j] = F_FMA(a, LOAD(up, j), sums[j]);
        }
        for (u64 j = 0; j < columns; j++)
            STORE(dw, dw_offset + at * n + c + j, sums[j]);
    }
}
