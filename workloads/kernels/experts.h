/*
 * A mixture of experts: which experts a row has, rows in the order of experts, the products of an
 * expert with its rows, and their sum. Joined behind pack.h, fold.h and memory_exp.h. Gates are
 * (rows, experts), 0 of those that a row is not routed to; a row has `top` others, and what they
 * make lies side by side in the order of their numbers.
 */
#define TILE 8 /* rows of an expert that a group does together, so that it reads a weight once */
#define DEEP 8 /* elements of a sum that are added up by themselves */
#define TOP_MOST 64
#if LANES == 1
#define COLUMNS 256
#else
#define COLUMNS LANES
#endif

/*
 * The gates are the softmax of the row's `top` largest scores, of equal ones the first; `choice`
 * has their numbers, from the largest score on. None that is chosen is 0, however small.
 */
KERNEL(experts_choose, const GLOBAL storage *scores, GLOBAL storage *gates, GLOBAL f32 *choice,
       u64 scores_offset, u64 gates_offset, u64 choice_offset, u64 rows, u64 experts, u64 top)
{
    GROUP_SCRATCH;

    scores += scores_offset;
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *row = scores + r * experts;
        GLOBAL storage *out = gates + gates_offset + r * experts;
        GLOBAL f32 *chosen = choice + choice_offset + r * top;
        f32 largest = 0.0f, score = 0.0f, sum = 0.0f;
        u64 last = 0;

        for (u64 e = LANE; e < experts; e += LANES)
            STORE(out, e, 0.0f);
        for (u64 s = 0; s < top; s++) {
            f32 best = -3.402823466e38f, at = -(f32)experts;

            for (u64 e = LANE; e < experts; e += LANES) {
                const f32 value = LOAD(row, e);

                if (s == 0 || value < score || (value == score && e > last))
                    best = fold_max(best, value);
            }
            best = GROUP_MAX(best);
            for (u64 e = LANE; e < experts; e += LANES)
                if (LOAD(row, e) == best && (s == 0 || best < score || e > last))
                    at = fold_max(at, -(f32)e);
            at = -GROUP_MAX(at);
            last = at < (f32)experts ? (u64)at : s; /* of scores that are no numbers */
            score = LOAD(row, last);
            largest = s == 0 ? score : largest;
            sum += exp_f32(score - largest);
            if (LANE == 0)
                chosen[s] = (f32)last;
        }
        BARRIER();
        for (u64 s = LANE; s < top; s += LANES) {
            const u64 e = (u64)chosen[s];

            STORE(out, e, exp_f32(LOAD(row, e) - largest) / sum);
            if (LOAD(out, e) == 0.0f)
                STORE(out, e, 1.17549435e-38f); /* 2^-126 */
            if (LOAD(out, e) == 0.0f)
                STORE(out, e, 6.103515625e-5f); /* f16: 2^-14 */
        }
        BARRIER();
    }
}

/* The gates as `routing` has them: of each row `top` experts, then their weights in 1/4096. */
KERNEL(experts_assign, const GLOBAL i32 *routing, GLOBAL storage *gates, u64 gates_offset, u64 rows,
       u64 experts, u64 top)
{
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL i32 *given = routing + 2 * r * top;
        GLOBAL storage *out = gates + gates_offset + r * experts;

        for (u64 e = LANE; e < experts; e += LANES)
            STORE(out, e, 0.0f);
        BARRIER();
        for (u64 s = LANE; s < top; s += LANES)
            STORE(out, given[s], (f32)given[top + s] * 0.000244140625f);
        BARRIER();
    }
}

/*
 * The rows of each expert: lists[e] is how many there are, and from experts + e * rows on follow
 * their places among the results, row * top + the number of the expert among the row's.
 */
KERNEL(experts_sort, const GLOBAL storage *gates, GLOBAL i32 *lists, u64 gates_offset, u64 rows,
       u64 experts, u64 top)
{
    LOCAL_ARRAY(u32, counts, LANES);
    const u64 part = (rows + LANES - 1) / LANES;
    const u64 begin = LANE * part < rows ? LANE * part : rows;
    const u64 end = begin + part < rows ? begin + part : rows;

    gates += gates_offset;
    for (u64 e = GROUP; e < experts; e += GROUPS) {
        GLOBAL i32 *list = lists + experts + e * rows;
        u32 count = 0;

        for (u64 r = begin; r < end; r++)
            count += LOAD(gates, r * experts + e) != 0.0f;
        BARRIER();
        counts[LANE] = count;
        BARRIER();
        count = 0;
        for (u64 l = 0; l < LANE; l++)
            count += counts[l];
        for (u64 r = begin; r < end; r++) {
            u64 place = 0;

            if (LOAD(gates, r * experts + e) == 0.0f)
                continue;
            for (u64 i = 0; i < e; i++)
                place += LOAD(gates, r * experts + i) != 0.0f;
            list[count++] = (i32)(r * top + (place < top ? place : top - 1));
        }
        if (LANE == LANES - 1)
            lists[e] = (i32)count;
    }
}

/*
 * Of each place in the lists the n products of the row with its expert's matrix (k, n); the row is
 * x's of number place / per. `tiles`: at least the tiles of all experts. A sum is that of sums over
 * DEEP, each in one order: the same bytes on every run, whatever the groups.
 */
KERNEL(experts_product, const GLOBAL storage *x, const GLOBAL storage *w, const GLOBAL i32 *lists,
       GLOBAL storage *y, u64 x_offset, u64 w_offset, u64 y_offset, u64 rows, u64 experts, u64 top,
       u64 per, u64 k, u64 n, u64 tiles)
{
#if LANES == 1
    LOCAL_ARRAY(f32, sums, TILE * COLUMNS);
#endif
    const u64 whole = k / DEEP * DEEP, blocks = (n + COLUMNS - 1) / COLUMNS;

    x += x_offset;
    y += y_offset;
    for (u64 item = GROUP; item < blocks * tiles; item += GROUPS) {
        const u64 j0 = item / tiles * COLUMNS, width = n - j0 < COLUMNS ? n - j0 : COLUMNS;
        const GLOBAL storage *matrix;
        u64 tile = item % tiles, e = 0, count = 0, places[TILE], ins[TILE];

        for (; e < experts; e++) {
            count = (u64)lists[e] < rows ? (u64)lists[e] : rows;
            if (tile < (count + TILE - 1) / TILE)
                break;
            tile -= (count + TILE - 1) / TILE;
        }
        if (e == experts)
            continue;
        count = count - tile * TILE < TILE ? count - tile * TILE : TILE;
        for (u64 i = 0; i < TILE; i++) {
            places[i] = (u64)lists[experts + e * rows + tile * TILE + (i < count ? i : 0)];
            places[i] = places[i] < rows * top ? places[i] : 0; /* whatever the lists say */
            ins[i] = places[i] / per * k;
        }
        matrix = w + w_offset + e * k * n + j0;
#if LANES == 1
        for (u64 i = 0; i < count; i++)
            for (u64 j = 0; j < width; j++)
                sums[i * COLUMNS + j] = 0.0f;
        for (u64 p = 0; p < k; p += p < whole ? DEEP : 1) {
            const GLOBAL storage *from = matrix + p * n;

            for (u64 i = 0; i < count; i++) {
                const GLOBAL storage *in = x + ins[i] + p;
                LOCAL f32 *to = sums + i * COLUMNS;
                f32 a[DEEP];

                if (p >= whole) {
                    a[0] = LOAD(in, 0);
                    for (u64 j = 0; j < width; j++)
                        to[j] = F_FMA(a[0], LOAD(from, j), to[j]);
                    continue;
                }
                UNROLL
                for (u32 d = 0; d < DEEP; d++)
                    a[d] = LOAD(in, d);
                for (u64 j = 0; j < width; j++) {
                    f32 part = 0.0f;

                    UNROLL
                    for (u32 d = 0; d < DEEP; d++)
                        part = F_FMA(a[d], LOAD(from, d * n + j), part);
                    to[j] += part;
                }
            }
        }
        for (u64 i = 0; i < count; i++)
            for (u64 j = 0; j < width; j++)
                STORE(y, places[i] * n + j0 + j, sums[i * COLUMNS + j]);
#else
        if (LANE < width) {
            const GLOBAL storage *from = matrix + LANE;
            f32 sums[TILE];

            UNROLL
            for (u32 i = 0; i < TILE; i++)
                sums[i] = 0.0f;
            for (u64 p = 0; p < whole; p += DEEP) {
                f32 b[DEEP];

                UNROLL
                for (u32 d = 0; d < DEEP; d++)
                    b[d] = LOAD(from, (p + d) * n);
                UNROLL
                for (u32 i = 0; i < TILE; i++) {
                    const GLOBAL storage *in = x + ins[i] + p;
                    f32 part = 0.0f;

                    if (i < count) {
                        UNROLL
                        for (u32 d = 0; d < DEEP; d++)
                            part = F_FMA(LOAD(in, d), b[d], part);
                    }
                    sums[i] += part;
                }
            }
            for (u64 p = whole; p < k; p++) {
                const f32 b = LOAD(from, p * n);

                UNROLL
                for (u32 i = 0; i < TILE; i++)
                    sums[i] = F_FMA(LOAD(x, ins[i] + p), b, sums[i]);
            }
            UNROLL
            for (u32 i = 0; i < TILE; i++)
                if (i < count)
                    STORE(y, places[i] * n + j0 + LANE, sums[i]);
        }
#endif
    }
}

/* y = the sum of what the row's experts have made, by the gates' weights, and of `base` if `adds`.
 */
KERNEL(experts_combine, const GLOBAL storage *x, const GLOBAL storage *gates,
       const GLOBAL storage *base, GLOBAL storage *y, u64 x_offset, u64 gates_offset,
       u64 base_offset, u64 y_offset, u64 rows, u64 experts, u64 top, u64 n, u32 adds)
{
    LOCAL_ARRAY(f32, weights, TOP_MOST);

    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *in = x + x_offset + r * top * n;
        const GLOBAL storage *row = gates + gates_offset + r * experts;
        const GLOBAL storage *onto = base + base_offset + r * n;
        GLOBAL storage *out = y + y_offset + r * n;

        if (LANE == 0) {
            u64 s = 0;

            for (u64 e = 0; e < experts; e++)
                if (LOAD(row, e) != 0.0f && s < top)
                    weights[s++] = LOAD(row, e);
            for (; s < top; s++)
                weights[s] = 0.0f;
        }
        BARRIER();
        for (u64 j = LANE; j < n; j += LANES) {
            f32 sum = 0.0f;

            for (u64 s = 0; s < top; s++)
                sum = F_FMA(weights[s], LOAD(in, s * n + j), sum);
            STORE(out, j, adds ? LOAD(onto, j) + sum : sum);
        }
        BARRIER();
    }
}
