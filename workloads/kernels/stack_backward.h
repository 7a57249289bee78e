/*
 * Gradients of what stack.h and attention.h have, all in `storage`, sums in f32 and each in one
 * order. Joined behind pack.h, fold.h and memory_exp.h.
 */

/* x = 0. */
KERNEL(stack_clear, GLOBAL storage *x, u64 offset, u64 n)
{
    x += offset;
    EACH_PACK(i, n)
    {
        pack out;

        PACK_EACH(j)
        STORE(out.part, j, 0.0f);
        pack_store(x + i, out);
    }
}

/*
 * Of stack_rms, whose parts these are; dy is the gradient of what it wrote:
 * dx = base + s (dy gain - x s^2 mean(dy gain x)), s = 1 / root of the mean square, and of parts
 * that stay base + dy; base counts with `adds` alone. `roots` gets each part's s.
 */
KERNEL(stack_rms_backward, const GLOBAL storage *x, const GLOBAL storage *gain,
       const GLOBAL storage *other_gain, const GLOBAL storage *dy, const GLOBAL storage *base,
       GLOBAL storage *dx, GLOBAL f32 *roots, u64 x_offset, u64 gain_offset, u64 other_offset,
       u64 dy_offset, u64 base_offset, u64 dx_offset, u64 rows, u64 first, u64 second, u64 all,
       u64 size, u32 adds, f32 epsilon)
{
    GROUP_SCRATCH;

    for (u64 r = GROUP; r < rows * all; r += GROUPS) {
        const u64 part = r % all;
        const GLOBAL storage *in = x + x_offset + r * size, *up = dy + dy_offset + r * size;
        const GLOBAL storage *on = base + base_offset + r * size;
        const GLOBAL storage *g = part < first ? gain + gain_offset : other_gain + other_offset;
        GLOBAL storage *out = dx + dx_offset + r * size;
        f32 squares, product, s;

        SUM_OVER(squares, size, LOAD(in, i) * LOAD(in, i));
        s = 1.0f / F_SQRT(squares / (f32)size + epsilon);
        SUM_OVER(product, size, LOAD(up, i) * LOAD(g, i) * LOAD(in, i));
        product *= s * s / (f32)size;
        for (u64 i = LANE; i < size; i += LANES) {
            const f32 d = LOAD(up, i);
            const f32 moved = s * (d * LOAD(g, i) - LOAD(in, i) * product);

            STORE(out, i, (adds ? LOAD(on, i) : 0.0f) + (part < first + second ? moved : d));
        }
        if (LANE == 0)
            roots[r] = s;
    }
}

/*
 * The gradient of a gain of stack_rms: out[c] = sum of dy x s over `count` parts of each row from
 * part `from` on. A group takes neighbouring columns of one of `slices` of the rows; the sums of
 * several slices go to `partial` (slices, size).
 */
#if LANES == 1
#define GAIN_COLUMNS 64
#else
#define GAIN_COLUMNS 1
#endif
#define GAIN_BLOCK (LANES * GAIN_COLUMNS)

KERNEL(stack_gain, const GLOBAL storage *x, const GLOBAL storage *dy, const GLOBAL f32 *roots,
       GLOBAL storage *out, GLOBAL f32 *partial, u64 x_offset, u64 dy_offset, u64 out_offset,
       u64 rows, u64 from, u64 count, u64 all, u64 size, u64 slices)
{
    const u64 blocks = (size + GAIN_BLOCK - 1) / GAIN_BLOCK;

    for (u64 task = GROUP; task < blocks * slices; task += GROUPS) {
        const u64 slice = task % slices, c = task / slices * GAIN_BLOCK + LANE * GAIN_COLUMNS;
        const u64 begin = rows * slice / slices, end = rows * (slice + 1) / slices;
        const u64 columns = c >= size ? 0 : size - c < GAIN_COLUMNS ? size - c : GAIN_COLUMNS;
        f32 sum[GAIN_COLUMNS];

        for (u64 j = 0; j < GAIN_COLUMNS; j++)
            sum[j] = 0.0f;
        for (u64 k = begin * count; k < end * count; k++) {
            const u64 part = k / count * all + from + k % count;
            const GLOBAL storage *in = x + x_offset + part * size + c;
            const GLOBAL storage *up = dy + dy_offset + part * size + c;
            const f32 s = roots[part];

            for (u64 j = 0; j < columns; j++)
                sum[j] = F_FMA(LOAD(up, j) * s, LOAD(in, j), sum[j]);
        }
        for (u64 j = 0; j < columns; j++)
            if (slices > 1)
                partial[slice * size + c + j] = sum[j];
            else
                STORE(out, out_offset + c + j, sum[j]);
    }
}

/* Of y = g sigmoid(g) x: dg = dy x sigmoid(g) (1 + g (1 - sigmoid(g))), dx = dy g sigmoid(g). */
KERNEL(stack_gate_backward, const GLOBAL storage *dy, const GLOBAL storage *g,
       const GLOBAL storage *x, GLOBAL storage *dg, GLOBAL storage *dx, u64 dy_offset, u64 g_offset,
       u64 x_offset, u64 dg_offset, u64 dx_offset, u64 n)
{
    dy += dy_offset;
    g += g_offset;
    x += x_offset;
    dg += dg_offset;
    dx += dx_offset;
    EACH_PACK(i, n)
    {
        const pack up = pack_load(dy + i), gate = pack_load(g + i), in = pack_load(x + i);
        pack to_gate, to_in;

        PACK_EACH(j)
        {
            const f32 z = LOAD(gate.part, j), s = 1.0f / (1.0f + exp_f32(-z));
            const f32 d = LOAD(up.part, j) * s;

            STORE(to_gate.part, j, d * LOAD(in.part, j) * (1.0f + z * (1.0f - s)));
            STORE(to_in.part, j, d * z);
        }
        pack_store(dg + i, to_gate);
        pack_store(dx + i, to_in);
    }
}

/*
 * Causal attention backward, which makes its probabilities again (Dao et al. 2022, algorithm 4):
 * rows of q, k and v (heads + 2 kv_heads heads of `size`, a multiple of 16 up to HEAD_MOST) and of
 * dy, the gradient of the values. Of each row and head, `statistics` has log(sum(exp(scores))) and
 * sum(p dp), p the probabilities and dp = dy v^T theirs:
 * dq = sum p (dp - that) k, dk = sum p (dp - that) q, both scaled, dv = sum p dy.
 */
#define HEAD_MOST 256
#define NO_SCORE (-1e30f) /* below every score, and far from overflow in differences */
#if LANES == 1
#define STEP 64 /* rows of the other side at a time */
#else
#define STEP LANES
#endif

#define ATTENTION_PARAMETERS                                                                       \
    const GLOBAL storage *qkv, const GLOBAL storage *dy, GLOBAL storage *dqkv,                     \
        GLOBAL f32 *statistics, u64 qkv_offset, u64 dy_offset, u64 dqkv_offset, u64 rows,          \
        u64 length, u64 heads, u64 kv_heads, u64 size, f32 scale

/* Row r of head `h`, counted over those of q, k and v. */
#define HEAD_OF(array, r, h)                                                                       \
    ((array) + array##_offset + ((r) * (heads + 2 * kv_heads) + (h)) * size)
#define UP_OF(r, h) (dy + dy_offset + ((r)*heads + (h)) * size)

INLINE f32 row_product(const LOCAL f32 *x, const GLOBAL storage *row, u64 size)
{
    f32 part[WAYS], ret = 0.0f;

    for (u32 w = 0; w < WAYS; w++)
        part[w] = 0.0f;
    for (u64 i = 0; i < size; i += WAYS) {
        FOLD_ROLLED
        for (u32 w = 0; w < WAYS; w++)
            part[w] = F_FMA(x[i + w], LOAD(row, i + w), part[w]);
    }
    for (u32 w = 0; w < WAYS; w++)
        ret += part[w];
    return ret;
}

/* The lane's elements of ret[i] += factors[s] rows[s * stride + i], s < count. */
INLINE void rows_add(LOCAL f32 *ret, const LOCAL f32 *factors, const GLOBAL storage *rows,
                     u64 stride, u64 count, u64 size)
{
    for (u64 s = 0; s < count; s++)
        for (u64 i = LANE; i < size; i += LANES)
            ret[i] = F_FMA(factors[s], LOAD(rows + s * stride, i), ret[i]);
}

/* A query of one head a group: its statistics, and dq. */
KERNEL(stack_attention_queries, ATTENTION_PARAMETERS)
{
    LOCAL_ARRAY(f32, query, HEAD_MOST);
    LOCAL_ARRAY(f32, up, HEAD_MOST);
    LOCAL_ARRAY(f32, out, HEAD_MOST);
    LOCAL_ARRAY(f32, score, STEP);
    LOCAL_ARRAY(f32, slope, STEP);
    GROUP_SCRATCH;
    const u64 stride = (heads + 2 * kv_heads) * size;

    for (u64 task = GROUP; task < rows * heads; task += GROUPS) {
        const u64 r = task / heads, h = task % heads, begin = r / length * length;
        const u64 kv = heads + h / (heads / kv_heads);
        const GLOBAL storage *k = HEAD_OF(qkv, begin, kv);
        const GLOBAL storage *v = HEAD_OF(qkv, begin, kv + kv_heads);
        f32 top = NO_SCORE, total = 0.0f, mean = 0.0f;

        for (u64 i = LANE; i < size; i += LANES) {
            query[i] = LOAD(HEAD_OF(qkv, r, h), i) * scale;
            up[i] = LOAD(UP_OF(r, h), i);
            out[i] = 0.0f;
        }
        BARRIER();
        for (u64 first = begin; first <= r; first += STEP) {
            const u64 at = first - begin, some = r + 1 - first < STEP ? r + 1 - first : STEP;
            f32 most = NO_SCORE, part = 0.0f, sum = 0.0f, higher, factor;

            for (u64 s = LANE; s < some; s += LANES) {
                score[s] = row_product(query, k + (at + s) * stride, size);
                slope[s] = row_product(up, v + (at + s) * stride, size);
                most = F_MAX(most, score[s]);
            }
            most = GROUP_MAX(most);
            higher = F_MAX(top, most);
            factor = exp_f32_to_88(top - higher);
            for (u64 s = LANE; s < some; s += LANES) {
                const f32 weight = exp_f32_to_88(score[s] - higher);

                part += weight;
                sum = F_FMA(weight, slope[s], sum);
            }
            part = GROUP_SUM(part);
            sum = GROUP_SUM(sum);
            total = total * factor + part;
            mean = mean * factor + sum;
            top = higher;
        }
        mean /= total;
        top += F_LOG(total);
        for (u64 first = begin; first <= r; first += STEP) {
            const u64 at = first - begin, some = r + 1 - first < STEP ? r + 1 - first : STEP;

            for (u64 s = LANE; s < some; s += LANES) {
                const f32 p = exp_f32_to_88(row_product(query, k + (at + s) * stride, size) - top);

                score[s] = p * (row_product(up, v + (at + s) * stride, size) - mean);
            }
            BARRIER();
            rows_add(out, score, k + at * stride, stride, some, size);
            BARRIER();
        }
        for (u64 i = LANE; i < size; i += LANES)
            STORE(HEAD_OF(dqkv, r, h), i, out[i] * scale);
        if (LANE == 0) {
            statistics[2 * task] = top;
            statistics[2 * task + 1] = mean;
        }
        BARRIER();
    }
}

/* A key and its value of one head a group: dk and dv, from all queries that take part in it. */
KERNEL(stack_attention_keys, ATTENTION_PARAMETERS)
{
    LOCAL_ARRAY(f32, key, HEAD_MOST);
    LOCAL_ARRAY(f32, value, HEAD_MOST);
    LOCAL_ARRAY(f32, to_key, HEAD_MOST);
    LOCAL_ARRAY(f32, to_value, HEAD_MOST);
    LOCAL_ARRAY(f32, weight, STEP);
    LOCAL_ARRAY(f32, slope, STEP);
    const u64 stride = (heads + 2 * kv_heads) * size, shared = heads / kv_heads;

    for (u64 task = GROUP; task < rows * kv_heads; task += GROUPS) {
        const u64 r = task / kv_heads, g = task % kv_heads, end = r / length * length + length;

        for (u64 i = LANE; i < size; i += LANES) {
            key[i] = LOAD(HEAD_OF(qkv, r, heads + g), i) * scale;
            value[i] = LOAD(HEAD_OF(qkv, r, heads + kv_heads + g), i);
            to_key[i] = to_value[i] = 0.0f;
        }
        BARRIER();
        for (u64 h = g * shared; h < (g + 1) * shared; h++) {
            for (u64 first = r; first < end; first += STEP) {
                const u64 some = end - first < STEP ? end - first : STEP;

                for (u64 s = LANE; s < some; s += LANES) {
                    const GLOBAL f32 *at = statistics + 2 * ((first + s) * heads + h);
                    const f32 score = row_product(key, HEAD_OF(qkv, first + s, h), size);

                    weight[s] = exp_f32_to_88(score - at[0]);
                    slope[s] = weight[s] * (row_product(value, UP_OF(first + s, h), size) - at[1]);
                }
                BARRIER();
                rows_add(to_value, weight, UP_OF(first, h), heads * size, some, size);
                rows_add(to_key, slope, HEAD_OF(qkv, first, h), stride, some, size);
                BARRIER();
            }
        }
        for (u64 i = LANE; i < size; i += LANES) {
            STORE(HEAD_OF(dqkv, r, heads + g), i, to_key[i] * scale);
            STORE(HEAD_OF(dqkv, r, heads + kv_heads + g), i, to_value[i]);
        }
        BARRIER();
    }
}
