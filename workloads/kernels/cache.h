/*
 * A token of each of many sequences over a cache of keys and values, in blocks of PAGE positions.
 * Position s of sequence b is at s % PAGE of block blocks[b * pages + s / PAGE]. Of each head of
 * keys a block has the keys, (HEAD, PAGE), then the values, (PAGE, HEAD). Joined behind fold.h,
 * memory_exp.h and vector.h; TYPE_A is the storage of all but parts, HEAD the size of a head, both
 * it and PAGE multiples of 16, SHARED the heads of queries that a group does together, which have
 * one head of keys.
 *
 * The positions of a sequence are divided among groups, each with a running maximum and sum
 * (Milakov and Gimelshein 2018); a second launch puts the parts together (Dao et al. 2023,
 * "Flash-Decoding"). Sums are f32, each in one order: the same bytes on every run with as many
 * parts.
 */
#define NO_SCORE (-1e30f)       /* below every score, and far from overflow in differences */
#define PART_LENGTH (HEAD + 2u) /* f32: maximum, sum of weights, sums of weighted values */

/* Where the keys of a head begin in the block of a page; its values are PAGE * HEAD behind. */
INLINE u64 cache_place(const GLOBAL i32 *blocks, u64 page, u64 head, u64 kv_heads)
{
    return ((u64)blocks[page] * kv_heads + head) * (2u * PAGE * HEAD);
}

/*
 * Element first + i of a cache = one of 128 numbers from -2 on, which every storage holds exactly,
 * by SplitMix64's finaliser over a keyed counter (harness/core/random.h, random_at).
 */
KERNEL(cache_fill, GLOBAL ELEMENT(TYPE_A) * cache, u64 cache_offset, u64 count, u64 first, u64 key)
{
    const u64 end = CHUNK_END(count);

    for (u64 i = CHUNK_BEGIN(count) + LANE; i < end; i += LANES) {
        u64 z = key + 0x9e3779b97f4a7c15ul * (first + i + 1);

        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ul;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebul;
        z ^= z >> 31;
        PUT(TYPE_A, cache, cache_offset + i, ((f32)(i32)(z >> 57) - 64.0f) * 0.03125f);
    }
}

/* The key and value of each row of x (q, k, v side by side) to `position` of its sequence. */
KERNEL(cache_keep, const GLOBAL ELEMENT(TYPE_A) * x, const GLOBAL i32 *blocks,
       GLOBAL ELEMENT(TYPE_A) * cache, u64 x_offset, u64 cache_offset, u64 rows, u64 heads,
       u64 kv_heads, u64 pages, u64 position)
{
    for (u64 r = GROUP; r < rows * kv_heads; r += GROUPS) {
        const u64 row = r / kv_heads, head = r % kv_heads, at = position % PAGE;
        const GLOBAL ELEMENT(TYPE_A) *key =
            x + x_offset + (row * (heads + 2 * kv_heads) + heads + head) * HEAD;
        GLOBAL ELEMENT(TYPE_A) *to =
            cache + cache_offset +
            cache_place(blocks, row * pages + position / PAGE, head, kv_heads);

        for (u64 i = LANE; i < HEAD; i += LANES) {
            to[i * PAGE + at] = key[i];
            to[PAGE * HEAD + at * HEAD + i] = key[kv_heads * HEAD + i];
        }
    }
}

#if LANES == 1
#define PAGES (PAGE < 64 ? 64 / PAGE : 1)    /* of a step */
#define STEP (PAGES * PAGE)                  /* positions of a step */
#define LINE (64u / sizeof(ELEMENT(TYPE_A))) /* elements of a line of cache memory */

/*
 * What is narrow is widened first, in a loop of its own: compilers find no vectors in one that
 * converts and adds.
 */
#if KIND(TYPE_A) == KIND_F32
#define WIDE GLOBAL
#define WIDEN(from, to) (from)
#else
#define WIDE LOCAL
#define WIDEN(from, to) cache_widen(from, to)
INLINE const LOCAL f32 *cache_widen(const GLOBAL ELEMENT(TYPE_A) * from, LOCAL f32 *to)
{
    for (u32 i = 0; i < PAGE * HEAD; i++)
        to[i] = GET(TYPE_A, from, i);
    return to;
}
#endif

/* Keys and values of a head: blocks lie anywhere, which no processor foresees. */
INLINE void cache_prefetch(const GLOBAL ELEMENT(TYPE_A) * block)
{
    for (u32 i = 0; i < 2u * PAGE * HEAD; i += LINE)
        PREFETCH(block + i);
}

/* Scores of the positions of a page, PANEL of them side by side, of all queries of the group. */
INLINE void cache_scores(const LOCAL f32 *query, const WIDE f32 *keys, LOCAL f32 *ret)
{
    for (u32 s = 0; s < PAGE; s += PANEL) {
        vector sum[SHARED][VECTORS];

        UNROLL_VECTORS
        for (u32 g = 0; g < SHARED; g++) {
            UNROLL_VECTORS
            for (u32 w = 0; w < VECTORS; w++)
                VECTOR_ZERO(sum[g][w]);
        }
        for (u32 i = 0; i < HEAD; i++) {
            vector key[VECTORS];

            UNROLL_VECTORS
            for (u32 w = 0; w < VECTORS; w++)
                VECTOR_LOAD(key[w], WIDE, keys + i * PAGE + s + w * VECTOR);
            UNROLL_VECTORS
            for (u32 g = 0; g < SHARED; g++) {
                const f32 q = query[g * HEAD + i];

                UNROLL_VECTORS
                for (u32 w = 0; w < VECTORS; w++)
                    VECTOR_FMA(sum[g][w], q, key[w]);
            }
        }
        UNROLL_VECTORS
        for (u32 g = 0; g < SHARED; g++) {
            UNROLL_VECTORS
            for (u32 w = 0; w < VECTORS; w++)
                VECTOR_STORE(sum[g][w], LOCAL, ret + g * STEP + s + w * VECTOR);
        }
    }
}

/* Adds the weighted values of the first `count` positions of a page. */
INLINE void cache_values(const LOCAL f32 *weight, const WIDE f32 *values, u32 count, LOCAL f32 *out)
{
    for (u32 i = 0; i < HEAD; i += PANEL) {
        vector sum[SHARED][VECTORS];

        UNROLL_VECTORS
        for (u32 g = 0; g < SHARED; g++) {
            UNROLL_VECTORS
            for (u32 w = 0; w < VECTORS; w++)
                VECTOR_LOAD(sum[g][w], LOCAL, out + g * HEAD + i + w * VECTOR);
        }
        for (u32 s = 0; s < count; s++) {
            vector value[VECTORS];

            UNROLL_VECTORS
            for (u32 w = 0; w < VECTORS; w++)
                VECTOR_LOAD(value[w], WIDE, values + s * HEAD + i + w * VECTOR);
            UNROLL_VECTORS
            for (u32 g = 0; g < SHARED; g++) {
                const f32 x = weight[g * STEP + s];

                UNROLL_VECTORS
                for (u32 w = 0; w < VECTORS; w++)
                    VECTOR_FMA(sum[g][w], x, value[w]);
            }
        }
        UNROLL_VECTORS
        for (u32 g = 0; g < SHARED; g++) {
            UNROLL_VECTORS
            for (u32 w = 0; w < VECTORS; w++)
                VECTOR_STORE(sum[g][w], LOCAL, out + g * HEAD + i + w * VECTOR);
        }
    }
}
#else
#define STEP LANES
#define STRIPS (LANES < HEAD ? 1 : LANES / HEAD) /* of positions that lanes divide for values */
#define COLUMNS ((HEAD + LANES - 1) / LANES)     /* of values that a lane has */
#define COLUMN(c) (LANE % HEAD + (u64)(c)*LANES)
#endif

/* Group (p, h, b): part p of the positions, heads h * SHARED and following of sequence b. */
KERNEL(cache_attend, const GLOBAL ELEMENT(TYPE_A) * x, const GLOBAL ELEMENT(TYPE_A) * cache,
       const GLOBAL i32 *blocks, GLOBAL f32 *parts, u64 x_offset, u64 cache_offset, u64 heads,
       u64 kv_heads, u64 pages, u64 positions, f32 scale)
{
    LOCAL_ARRAY(f32, query, SHARED * HEAD);
    LOCAL_ARRAY(f32, weight, SHARED * STEP);
#if LANES == 1
    LOCAL_ARRAY(f32, out, SHARED * HEAD);
#if KIND(TYPE_A) != KIND_F32
    LOCAL_ARRAY(f32, wide, PAGE * HEAD);
#endif
#else
    f32 sum[SHARED * COLUMNS];
#endif
    GROUP_SCRATCH;
    const u64 head = GROUP_Y * SHARED, kv_head = head / (heads / kv_heads);
    const u64 known = (positions + PAGE - 1) / PAGE; /* pages */
    const u64 first = GROUP * known / GROUPS * PAGE, end = (GROUP + 1) * known / GROUPS * PAGE;
    const u64 last = end < positions ? end : positions;
    f32 top[SHARED], total[SHARED]; /* with several lanes: each lane's own sum */

    x += x_offset + (GROUP_Z * (heads + 2 * kv_heads) + head) * HEAD;
    blocks += GROUP_Z * pages;
    cache += cache_offset;
    parts += ((GROUP_Z * heads + head) * GROUPS + GROUP) * PART_LENGTH;
    for (u64 i = LANE; i < SHARED * HEAD; i += LANES)
        query[i] = GET(TYPE_A, x, i) * scale;
    UNROLL
    for (u32 g = 0; g < SHARED; g++) {
        top[g] = NO_SCORE;
        total[g] = 0.0f;
    }
#if LANES == 1
    for (u32 i = 0; i < SHARED * HEAD; i++)
        out[i] = 0.0f;
    for (u64 from = first; from < last; from += STEP) {
        const u64 count = last - from < STEP ? last - from : STEP;

        for (u64 s = 0; s < count; s += PAGE) {
            if (from + s + STEP < last)
                cache_prefetch(cache +
                               cache_place(blocks, (from + s + STEP) / PAGE, kv_head, kv_heads));
            cache_scores(
                query,
                WIDEN(cache + cache_place(blocks, (from + s) / PAGE, kv_head, kv_heads), wide),
                weight + s);
        }
        for (u32 g = 0; g < SHARED; g++) {
            LOCAL f32 *mine = weight + g * STEP;
            f32 most, factor, some;

            MAX_OVER(most, count, mine[i]);
            most = F_MAX(most, top[g]);
            factor = exp_f32_to_88(top[g] - most);
            for (u64 s = 0; s < count; s++)
                mine[s] = exp_f32_to_88(mine[s] - most);
            SUM_OVER(some, count, mine[i]);
            total[g] = total[g] * factor + some;
            top[g] = most;
            for (u32 i = 0; i < HEAD; i++)
                out[g * HEAD + i] *= factor;
        }
        for (u64 s = 0; s < count; s += PAGE)
            cache_values(weight + s,
                         WIDEN(cache + cache_place(blocks, (from + s) / PAGE, kv_head, kv_heads) +
                                   PAGE * HEAD,
                               wide),
                         count - s < PAGE ? (u32)(count - s) : PAGE, out);
    }
    for (u32 g = 0; g < SHARED; g++) {
        GLOBAL f32 *to = parts + g * GROUPS * PART_LENGTH;

        to[0] = top[g];
        to[1] = total[g];
        for (u32 i = 0; i < HEAD; i++)
            to[2 + i] = out[g * HEAD + i];
    }
#else
    UNROLL
    for (u32 i = 0; i < SHARED * COLUMNS; i++)
        sum[i] = 0.0f;
    BARRIER();
    for (u64 from = first; from < last; from += STEP) {
        const u64 s = from + LANE, count = last - from < STEP ? last - from : STEP;
        f32 score[SHARED];

        UNROLL
        for (u32 g = 0; g < SHARED; g++)
            score[g] = s < last ? 0.0f : NO_SCORE;
        if (s < last) {
            const GLOBAL ELEMENT(TYPE_A) *key =
                cache + cache_place(blocks, s / PAGE, kv_head, kv_heads) + s % PAGE;

            UNROLL_N(16)
            for (u32 i = 0; i < HEAD; i++) {
                const f32 k = GET(TYPE_A, key, i * PAGE);

                UNROLL
                for (u32 g = 0; g < SHARED; g++)
                    score[g] = F_FMA(query[g * HEAD + i], k, score[g]);
            }
        }
        UNROLL
        for (u32 g = 0; g < SHARED; g++) {
            const f32 among = GROUP_MAX(score[g]), most = F_MAX(top[g], among);
            const f32 factor = exp_f32_to_88(top[g] - most);
            const f32 mine = s < last ? exp_f32_to_88(score[g] - most) : 0.0f;

            weight[g * STEP + LANE] = mine;
            total[g] = total[g] * factor + mine;
            top[g] = most;
            UNROLL
            for (u32 c = 0; c < COLUMNS; c++)
                sum[g * COLUMNS + c] *= factor;
        }
        BARRIER();
        UNROLL
        for (u32 c = 0; c < COLUMNS; c++) {
            if (COLUMN(c) >= HEAD || LANE / HEAD >= STRIPS)
                continue;
            UNROLL_N(8)
            for (u64 t = LANE / HEAD; t < count; t += STRIPS) {
                const GLOBAL ELEMENT(TYPE_A) *value =
                    cache + cache_place(blocks, (from + t) / PAGE, kv_head, kv_heads) +
                    PAGE * HEAD + (from + t) % PAGE * HEAD;
                const f32 v = GET(TYPE_A, value, COLUMN(c));

                UNROLL
                for (u32 g = 0; g < SHARED; g++)
                    sum[g * COLUMNS + c] = F_FMA(weight[g * STEP + t], v, sum[g * COLUMNS + c]);
            }
        }
        BARRIER();
    }
    UNROLL
    for (u32 g = 0; g < SHARED; g++) {
        GLOBAL f32 *to = parts + g * GROUPS * PART_LENGTH;
        const f32 all = GROUP_SUM(total[g]);

        UNROLL
        for (u32 c = 0; c < COLUMNS; c++) {
            weight[LANE] = sum[g * COLUMNS + c];
            BARRIER();
            if (LANE < HEAD && COLUMN(c) < HEAD) {
                f32 column = 0.0f;

                for (u32 p = 0; p < STRIPS; p++)
                    column += weight[LANE + p * HEAD];
                to[2 + COLUMN(c)] = column;
            }
            BARRIER();
        }
        if (LANE == 0) {
            to[0] = top[g];
            to[1] = all;
        }
    }
#endif
}

/* Row r of y, a head of a sequence, from its `count` parts. */
KERNEL(cache_merge, const GLOBAL f32 *parts, GLOBAL ELEMENT(TYPE_A) * y, u64 y_offset, u64 rows,
       u64 count)
{
    LOCAL_ARRAY(f32, sum, HEAD);

    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL f32 *from = parts + r * count * PART_LENGTH;
        f32 top = NO_SCORE, total = 0.0f;

        for (u64 p = 0; p < count; p++)
            top = F_MAX(top, from[p * PART_LENGTH]);
        for (u64 i = LANE; i < HEAD; i += LANES)
            sum[i] = 0.0f;
        for (u64 p = 0; p < count; p++) {
            const GLOBAL f32 *part = from + p * PART_LENGTH;
            const f32 factor = exp_f32_to_88(part[0] - top);

            total = F_FMA(factor, part[1], total);
            for (u64 i = LANE; i < HEAD; i += LANES)
                sum[i] = F_FMA(factor, part[2 + i], sum[i]);
        }
        for (u64 i = LANE; i < HEAD; i += LANES)
            PUT(TYPE_A, y, y_offset + r * HEAD + i, sum[i] / total);
    }
}
