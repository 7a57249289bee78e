/*
 * Scaled dot-product attention, forward, without its probabilities in memory: keys are taken in
 * blocks, with a running maximum and sum of each row (Milakov and Gimelshein 2018, Dao et al.
 * 2022). Joined behind fold.h, memory_exp.h and vector.h; TYPE_A is the storage of all arrays, HEAD
 * the size of a head, a multiple of 16.
 *
 * Sequence b has lengths[b] keys (with HAS_LENGTHS), else `keys`; its `length` queries are the last
 * of them, so with CAUSAL query t takes part in the keys before and at keys - length + t. Element
 * (b, h, t, i) of an array is at offset + b * batch + h * head + t * row + i. With PAGED, keys and
 * values lie in blocks of `page` positions: position s of sequence b is row s % page of block
 * blocks[b * pages + s / page], and `batch` of k and v is from one block to the next. What lies
 * behind a sequence's keys is not read.
 *
 * Sums are f32, each in one order: the same bytes on every run.
 */
#define CAUSAL 1u
#define HAS_LENGTHS 2u
#define PAGED 4u
#define NO_SCORE (-1e30f) /* below every score, and far from overflow in differences */

#define ATTENTION_PARAMETERS                                                                       \
    const GLOBAL ELEMENT(TYPE_A) * q, const GLOBAL ELEMENT(TYPE_A) * k,                            \
        const GLOBAL ELEMENT(TYPE_A) * v, GLOBAL ELEMENT(TYPE_A) * o, const GLOBAL i32 *lengths,   \
        const GLOBAL i32 *blocks, u64 q_offset, u64 k_offset, u64 v_offset, u64 o_offset,          \
        u64 lengths_offset, u64 blocks_offset, u64 q_batch, u64 q_head, u64 q_row, u64 k_batch,    \
        u64 k_head, u64 k_row, u64 v_batch, u64 v_head, u64 v_row, u64 o_batch, u64 o_head,        \
        u64 o_row, u64 length, u64 keys, u64 page, u64 pages, u32 form, f32 scale

/* Of the group's sequence and head; `known` keys, of which query t sees `known - length + t + 1`.
 */
#define ATTENTION_START                                                                            \
    const u64 known = form & HAS_LENGTHS ? (u64)lengths[lengths_offset + GROUP_Z] : keys;          \
                                                                                                   \
    q += q_offset + GROUP_Z * q_batch + GROUP_Y * q_head;                                          \
    k += k_offset + GROUP_Y * k_head + (form & PAGED ? 0 : GROUP_Z * k_batch);                     \
    v += v_offset + GROUP_Y * v_head + (form & PAGED ? 0 : GROUP_Z * v_batch);                     \
    o += o_offset + GROUP_Z * o_batch + GROUP_Y * o_head;                                          \
    blocks += blocks_offset + GROUP_Z * pages;

/* Where row s of keys or values begins; positions are below 2^31, and so divided in 32 bits. */
#define KEY_ROW(array, s)                                                                          \
    ((array) + (form & PAGED ? (u64)blocks[(u32)(s) / (u32)page] * array##_batch +                 \
                                   (u32)(s) % (u32)page * array##_row                              \
                             : (s)*array##_row))

/* Keys that query t takes part in. */
INLINE u64 attention_count(u64 known, u64 length, u64 t, u32 form)
{
    return !(form & CAUSAL) ? known : known + t >= length ? known + t + 1 - length : 0;
}

/* A query a group: few of them, or several lanes. */
#if LANES == 1
#define STEP 64

/*
 * Rows of keys and values are widened first, in a loop of their own: compilers find no vectors in
 * one that converts and adds.
 */
INLINE void attention_widen(const GLOBAL ELEMENT(TYPE_A) * row, LOCAL f32 *ret)
{
    for (u32 i = 0; i < HEAD; i++)
        ret[i] = GET(TYPE_A, row, i);
}

/* The product of two rows of HEAD in WAYS sums, whatever a vector is. */
INLINE void attention_dot(const LOCAL f32 *x, const LOCAL f32 *y, LOCAL f32 *ret)
{
    vector sum[WAYS / VECTOR];

    UNROLL_VECTORS
    for (u32 w = 0; w < WAYS / VECTOR; w++)
        VECTOR_ZERO(sum[w]);
    for (u32 i = 0; i < HEAD; i += WAYS) {
        UNROLL_VECTORS
        for (u32 w = 0; w < WAYS / VECTOR; w++) {
            vector a, b;

            VECTOR_LOAD(a, LOCAL, x + i + w * VECTOR);
            VECTOR_LOAD(b, LOCAL, y + i + w * VECTOR);
            VECTOR_FMA_EACH(sum[w], a, b);
        }
    }
    UNROLL_VECTORS
    for (u32 w = 0; w < WAYS / VECTOR; w++)
        VECTOR_STORE(sum[w], LOCAL, ret + w * VECTOR);
}
#else
#define STEP LANES
#endif

KERNEL(attention_row, ATTENTION_PARAMETERS)
{
    LOCAL_ARRAY(f32, query, HEAD);
    LOCAL_ARRAY(f32, weight, STEP);
    LOCAL_ARRAY(f32, out, HEAD);
#if LANES == 1
    LOCAL_ARRAY(f32, wide, HEAD);
    LOCAL_ARRAY(f32, ways, WAYS);
#endif
    GROUP_SCRATCH;

    ATTENTION_START
    for (u64 t = GROUP; t < length; t += GROUPS) {
        const u64 count = attention_count(known, length, t, form);
        f32 top = NO_SCORE, total = 0.0f;

        for (u64 i = LANE; i < HEAD; i += LANES) {
            query[i] = GET(TYPE_A, q, t * q_row + i) * scale;
            out[i] = 0.0f;
        }
        BARRIER();
        for (u64 first = 0; first < count; first += STEP) {
            const u64 some = count - first < STEP ? count - first : STEP;
            f32 most = NO_SCORE, part = 0.0f, higher, factor;

            for (u64 s = LANE; s < some; s += LANES) {
                const GLOBAL ELEMENT(TYPE_A) *row = KEY_ROW(k, first + s);
                f32 score = 0.0f;

#if LANES == 1
                attention_widen(row, wide);
                attention_dot(query, wide, ways);
                for (u32 e = 0; e < WAYS; e++)
                    score += ways[e];
#else
                for (u32 i = 0; i < HEAD; i++)
                    score = F_FMA(query[i], GET(TYPE_A, row, i), score);
#endif
                weight[s] = score;
                most = F_MAX(most, score);
            }
            most = GROUP_MAX(most);
            higher = F_MAX(top, most);
            factor = exp_f32_to_88(top - higher);
            for (u64 s = LANE; s < some; s += LANES) {
                weight[s] = exp_f32_to_88(weight[s] - higher);
                part += weight[s];
            }
            part = GROUP_SUM(part);
            total = total * factor + part;
            top = higher;
            BARRIER();
            for (u64 i = LANE; i < HEAD; i += LANES)
                out[i] *= factor;
            for (u64 s = 0; s < some; s++) {
                const GLOBAL ELEMENT(TYPE_A) *row = KEY_ROW(v, first + s);
                const f32 w = weight[s];

#if LANES == 1
                attention_widen(row, wide);
                for (u32 i = 0; i < HEAD; i++)
                    out[i] = F_FMA(w, wide[i], out[i]);
#else
                for (u64 i = LANE; i < HEAD; i += LANES)
                    out[i] = F_FMA(w, GET(TYPE_A, row, i), out[i]);
#endif
            }
            BARRIER();
        }
        total = total == 0.0f ? 0.0f : 1.0f / total; /* 0: no key */
        for (u64 i = LANE; i < HEAD; i += LANES)
            PUT(TYPE_A, o, t * o_row + i, out[i] * total);
        BARRIER();
    }
}

#if LANES == 1
/*
 * PANEL queries a group, side by side in vectors: scores are K Q^T, so that neither keys nor values
 * need another order, and maxima and sums of rows go across vectors.
 */
#define KEYS 32
#if VECTOR_BYTES == 64
#define ROWS_AT_ONCE 8
#else
#define ROWS_AT_ONCE 2
#endif

/* ret[r] = sum over i < depth of left[r * row + i * column] * right[i], added to what it has. */
INLINE void attention_product(const LOCAL f32 *left, u32 row, u32 column, const LOCAL f32 *right,
                              u32 depth, LOCAL f32 *ret)
{
    vector sum[ROWS_AT_ONCE][VECTORS];

    UNROLL_VECTORS
    for (u32 r = 0; r < ROWS_AT_ONCE; r++) {
        UNROLL_VECTORS
        for (u32 w = 0; w < VECTORS; w++)
            VECTOR_LOAD(sum[r][w], LOCAL, ret + r * PANEL + w * VECTOR);
    }
    for (u32 i = 0; i < depth; i++) {
        vector y[VECTORS];

        UNROLL_VECTORS
        for (u32 w = 0; w < VECTORS; w++)
            VECTOR_LOAD(y[w], LOCAL, right + i * PANEL + w * VECTOR);
        UNROLL_VECTORS
        for (u32 r = 0; r < ROWS_AT_ONCE; r++) {
            const f32 x = left[r * row + i * column];

            UNROLL_VECTORS
            for (u32 w = 0; w < VECTORS; w++)
                VECTOR_FMA(sum[r][w], x, y[w]);
        }
    }
    UNROLL_VECTORS
    for (u32 r = 0; r < ROWS_AT_ONCE; r++) {
        UNROLL_VECTORS
        for (u32 w = 0; w < VECTORS; w++)
            VECTOR_STORE(sum[r][w], LOCAL, ret + r * PANEL + w * VECTOR);
    }
}

KERNEL(attention_tile, ATTENTION_PARAMETERS)
{
    LOCAL_ARRAY(f32, queries, HEAD * PANEL); /* transposed, as are: */
    LOCAL_ARRAY(f32, out, HEAD * PANEL);
    LOCAL_ARRAY(f32, weights, KEYS * PANEL);
    LOCAL_ARRAY(f32, block, KEYS * HEAD);
    LOCAL_ARRAY(ELEMENT(TYPE_A), stored, HEAD * PANEL);
    LOCAL_ARRAY(f32, top, PANEL);
    LOCAL_ARRAY(f32, total, PANEL);
    LOCAL_ARRAY(f32, factor, PANEL);
    LOCAL_ARRAY(i32, seen, PANEL);

    ATTENTION_START
    const u64 t0 = GROUP * PANEL;
    const u64 rows = length - t0 < PANEL ? length - t0 : PANEL;
    const u64 least = attention_count(known, length, t0, form);
    const u64 most = attention_count(known, length, t0 + rows - 1, form);

    for (u32 r = 0; r < PANEL; r++) {
        const u64 t = t0 + (r < rows ? r : rows - 1); /* beyond the last: again, and not stored */

        for (u32 i = 0; i < HEAD; i++)
            queries[i * PANEL + r] = GET(TYPE_A, q, t * q_row + i) * scale;
        top[r] = NO_SCORE;
        total[r] = 0.0f;
    }
    for (u32 i = 0; i < HEAD * PANEL; i++)
        out[i] = 0.0f;
    for (u64 first = 0; first < most; first += KEYS) {
        const u32 some = most - first < KEYS ? (u32)(most - first) : KEYS;
        const u32 masked = first + KEYS > least;

        for (u32 s = 0; s < KEYS; s++) {
            const GLOBAL ELEMENT(TYPE_A) *row = KEY_ROW(k, first + (s < some ? s : 0));

            for (u32 i = 0; i < HEAD; i++)
                block[s * HEAD + i] = GET(TYPE_A, row, i);
        }
        for (u32 i = 0; i < KEYS * PANEL; i++)
            weights[i] = 0.0f;
        for (u32 s = 0; s < KEYS; s += ROWS_AT_ONCE)
            attention_product(block + s * HEAD, HEAD, 1, queries, HEAD, weights + s * PANEL);
        for (u32 r = 0; r < PANEL; r++) {
            const u64 count = attention_count(known, length, t0 + (r < rows ? r : rows - 1), form);

            seen[r] = count <= first ? 0 : count - first < KEYS ? (i32)(count - first) : KEYS;
            factor[r] = top[r];
        }
        for (i32 s = 0; s < KEYS; s++)
            for (u32 r = 0; r < PANEL; r++) {
                const f32 any = weights[s * PANEL + r]; /* read in any case, as a vector is */
                const f32 score = s < seen[r] ? any : NO_SCORE;

                top[r] = top[r] > score ? top[r] : score;
            }
        for (u32 r = 0; r < PANEL; r++) {
            factor[r] = exp_f32_to_88(factor[r] - top[r]);
            total[r] *= factor[r];
        }
        for (i32 s = 0; s < KEYS; s++)
            for (u32 r = 0; r < PANEL; r++) {
                const f32 weight = exp_f32_to_88(weights[s * PANEL + r] - top[r]);

                weights[s * PANEL + r] = !masked || s < seen[r] ? weight : 0.0f;
                total[r] += weights[s * PANEL + r];
            }
        for (u32 s = 0; s < KEYS; s++) {
            const GLOBAL ELEMENT(TYPE_A) *row = KEY_ROW(v, first + (s < some ? s : 0));

            for (u32 i = 0; i < HEAD; i++)
                block[s * HEAD + i] = GET(TYPE_A, row, i);
        }
        for (u32 i = 0; i < HEAD; i++)
            for (u32 r = 0; r < PANEL; r++)
                out[i * PANEL + r] *= factor[r];
        for (u32 i = 0; i < HEAD; i += ROWS_AT_ONCE)
            attention_product(block + i, 1, HEAD, weights, KEYS, out + i * PANEL);
    }
    for (u32 r = 0; r < PANEL; r++)
        total[r] = total[r] == 0.0f ? 0.0f : 1.0f / total[r];
    for (u32 i = 0; i < HEAD; i++) /* rounded along vectors, then put into rows */
        for (u32 r = 0; r < PANEL; r++)
            PUT(TYPE_A, stored, i * PANEL + r, out[i * PANEL + r] * total[r]);
    for (u32 r = 0; r < rows; r++)
        for (u32 i = 0; i < HEAD; i++)
            o[(t0 + r) * o_row + i] = stored[i * PANEL + r];
}
#endif
