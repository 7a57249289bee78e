/*
 * Layer norm over rows of `width`, forward and backward, and sums over columns.
 * x, y, dy, dx: (rows, width); gain, bias, dgain, dbias: (width); all in `storage`. mean, rstd:
 * (rows), f32, as are all sums. Offsets are in elements. Joined behind pack.h and fold.h.
 * Statistics are taken in two passes (mean first, then deviations); many lanes keep the rows in
 * registers meanwhile.
 */
#if LANES == 1
KERNEL(norm_forward, const GLOBAL storage *x, const GLOBAL storage *gain,
       const GLOBAL storage *bias, GLOBAL storage *RESTRICT y, GLOBAL f32 *RESTRICT mean,
       GLOBAL f32 *RESTRICT rstd, u64 x_offset, u64 gain_offset, u64 bias_offset, u64 y_offset,
       u64 mean_offset, u64 rstd_offset, u64 rows, u64 width, f32 epsilon)
{
    GROUP_SCRATCH;

    gain += gain_offset;
    bias += bias_offset;
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *in = x + x_offset + r * width;
        GLOBAL storage *RESTRICT out = y + y_offset + r * width;
        f32 sum, square, m, s;

        SUM_OVER(sum, width, LOAD(in, i));
        m = sum / (f32)width;
        SUM_OVER(square, width, (LOAD(in, i) - m) * (LOAD(in, i) - m));
        s = 1.0f / F_SQRT(square / (f32)width + epsilon);
        IN_FLIGHT(4)
        for (u64 i = LANE; i < width; i += LANES)
            STORE(out, i, F_FMA((LOAD(in, i) - m) * s, LOAD(gain, i), LOAD(bias, i)));
        if (LANE == 0) {
            mean[mean_offset + r] = m;
            rstd[rstd_offset + r] = s;
        }
    }
}

/*
 * dx (+)= rstd (dy gain - mean(dy gain) - unit mean(dy gain unit)), unit = (x - mean) rstd; added
 * to dx when `add` is 1.
 */
KERNEL(norm_backward, const GLOBAL storage *x, const GLOBAL storage *gain, const GLOBAL f32 *mean,
       const GLOBAL f32 *rstd, const GLOBAL storage *dy, GLOBAL storage *RESTRICT dx, u64 x_offset,
       u64 gain_offset, u64 mean_offset, u64 rstd_offset, u64 rows, u64 width, u32 add)
{
    GROUP_SCRATCH;

    gain += gain_offset;
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *in = x + x_offset + r * width, *up = dy + r * width;
        GLOBAL storage *RESTRICT out = dx + r * width;
        const f32 m = mean[mean_offset + r], s = rstd[rstd_offset + r];
        f32 sum, product;

        SUM_OVER(sum, width, LOAD(up, i) * LOAD(gain, i));
        SUM_OVER(product, width, LOAD(up, i) * LOAD(gain, i) * ((LOAD(in, i) - m) * s));
        sum /= (f32)width;
        product /= (f32)width;
        IN_FLIGHT(4)
        for (u64 i = LANE; i < width; i += LANES)
            STORE(out, i,
                  (add ? LOAD(out, i) : 0.0f) +
                      s * (LOAD(up, i) * LOAD(gain, i) - sum - (LOAD(in, i) - m) * s * product));
    }
}
#else
KERNEL(norm_forward, const GLOBAL storage *x, const GLOBAL storage *gain,
       const GLOBAL storage *bias, GLOBAL storage *RESTRICT y, GLOBAL f32 *RESTRICT mean,
       GLOBAL f32 *RESTRICT rstd, u64 x_offset, u64 gain_offset, u64 bias_offset, u64 y_offset,
       u64 mean_offset, u64 rstd_offset, u64 rows, u64 width, f32 epsilon)
{
    GROUP_SCRATCH;

    gain += gain_offset;
    bias += bias_offset;
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *row = x + x_offset + r * width;
        GLOBAL storage *RESTRICT out = y + y_offset + r * width;
        pack kept[KEPT];
        f32 own, m, s;

        row_keep(kept, row, width);
        own = row_sum(kept, row, width);
        m = GROUP_SUM(own) / (f32)width;
        own = row_squares(kept, row, width, m);
        s = 1.0f / F_SQRT(GROUP_SUM(own) / (f32)width + epsilon);
        ROW_EACH(row, kept, width, {
            const pack g = pack_load(gain + at);
            const pack b = pack_load(bias + at);
            pack result;

            PACK_EACH(j)
            STORE(result.part, j,
                  F_FMA((LOAD(in.part, j) - m) * s, LOAD(g.part, j), LOAD(b.part, j)));
            pack_store(out + at, result);
        });
        if (LANE == 0) {
            mean[mean_offset + r] = m;
            rstd[rstd_offset + r] = s;
        }
    }
}

KERNEL(norm_backward, const GLOBAL storage *x, const GLOBAL storage *gain, const GLOBAL f32 *mean,
       const GLOBAL f32 *rstd, const GLOBAL storage *dy, GLOBAL storage *RESTRICT dx, u64 x_offset,
       u64 gain_offset, u64 mean_offset, u64 rstd_offset, u64 rows, u64 width, u32 add)
{
    GROUP_SCRATCH;

    gain += gain_offset;
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *row = x + x_offset + r * width, *up = dy + r * width;
        GLOBAL storage *RESTRICT out = dx + r * width;
        const f32 m = mean[mean_offset + r], s = rstd[rstd_offset + r];
        pack kept[KEPT];
        f32 sum[SUMS], product[SUMS];
        f32 total, dot;

        row_keep(kept, row, width);
        sums_clear(sum);
        sums_clear(product);
        ROW_EACH(row, kept, width, {
            const pack d = pack_load(up + at);
            const pack g = pack_load(gain + at);

            PACK_EACH(j)
            {
                const f32 scaled = LOAD(d.part, j) * LOAD(g.part, j);

                sum[SUM_OF(p, j)] += scaled;
                product[SUM_OF(p, j)] += scaled * ((LOAD(in.part, j) - m) * s);
            }
        });
        total = sums_total(sum);
        total = GROUP_SUM(total) / (f32)width;
        dot = sums_total(product);
        dot = GROUP_SUM(dot) / (f32)width;
        ROW_EACH(row, kept, width, {
            const pack d = pack_load(up + at);
            const pack g = pack_load(gain + at);
            pack result;

            if (add)
                result = pack_load(out + at);
            PACK_EACH(j)
            STORE(result.part, j,
                  (add ? LOAD(result.part, j) : 0.0f) +
                      s * (LOAD(d.part, j) * LOAD(g.part, j) - total -
                           (LOAD(in.part, j) - m) * s * dot));
            pack_store(out + at, result);
        });
    }
}
#endif

/*
 * Sums over rows. A group takes a block of neighbouring columns (LANES * COLUMNS of them) and goes
 * down the rows, so each column is one chain in order. A single lane has all rows; many lanes, of
 * which the blocks alone would keep few busy, have one of `slices` of the rows: their sums go to
 * `partial`, and slices_sum adds them up in order.
 */
#if LANES == 1
#define COLUMNS 64
#define COLUMNS_EACH(j, count) for (u32 j = 0; j < (count); j++)
#define COLUMNS_OF(name, from) const GLOBAL storage *name = (from)
#define COLUMN(name, j) LOAD(name, j)
#else
#define COLUMNS PACK
#define COLUMNS_EACH(j, count) PACK_EACH(j)
#define COLUMNS_OF(name, from) const pack name = pack_load(from)
#define COLUMN(name, j) LOAD((name).part, j)
#endif
#define BLOCK (LANES * COLUMNS)
#define BLOCKS(width) (((width) + BLOCK - 1) / BLOCK)

INLINE void columns_clear(f32 *sums)
{
    for (u32 j = 0; j < COLUMNS; j++)
        sums[j] = 0.0f;
}

/* sums[j] += the element of column j of a row. */
INLINE void columns_add(f32 *sums, const GLOBAL storage *from, u64 count)
{
    COLUMNS_OF(in, from);

    COLUMNS_EACH(j, count)
    sums[j] += COLUMN(in, j);
}

/*
 * The same of `rows` rows, `apart` elements from one to the next. Many lanes load several rows
 * before they add the first: loads and additions in turns left an H200 at a quarter of its
 * bandwidth.
 */
#define ROWS_AT_ONCE 8
INLINE void columns_add_rows(f32 *sums, const GLOBAL storage *from, u64 rows, u64 apart, u64 count)
{
    u64 r = 0;

#if LANES > 1
    for (; r + ROWS_AT_ONCE <= rows; r += ROWS_AT_ONCE) {
        pack in[ROWS_AT_ONCE];

        UNROLL
        for (u32 k = 0; k < ROWS_AT_ONCE; ++k)
            in[k] = pack_load(from + (r + k) * apart);
        UNROLL
        for (u32 k = 0; k < ROWS_AT_ONCE; ++k)
            PACK_EACH(j)
        sums[j] += LOAD(in[k].part, j);
    }
#endif
    for (; r < rows; r++)
        columns_add(sums, from + r * apart, count);
}

INLINE void columns_store(GLOBAL storage *to, const f32 *sums, u64 count)
{
#if LANES == 1
    COLUMNS_EACH(j, count)
    STORE(to, j, sums[j]);
#else
    pack out;

    PACK_EACH(j)
    STORE(out.part, j, sums[j]);
    pack_store(to, out);
#endif
}

INLINE f32 norm_unit(f32 x, f32 mean, f32 rstd)
{
    return (x - mean) * rstd;
}

/* g[j] += sum over rows of dy (x - mean) rstd, b[j] += sum of dy; as columns_add_rows. */
#define UNITS_AT_ONCE 4
INLINE void unit_columns_add(f32 *g, f32 *b, const GLOBAL storage *x, const GLOBAL storage *dy,
                             const GLOBAL f32 *mean, const GLOBAL f32 *rstd, u64 rows, u64 width,
                             u64 count)
{
    u64 r = 0;

#if LANES > 1
    for (; r + UNITS_AT_ONCE <= rows; r += UNITS_AT_ONCE) {
        pack in[UNITS_AT_ONCE], up[UNITS_AT_ONCE];
        f32 m[UNITS_AT_ONCE], s[UNITS_AT_ONCE];

        UNROLL
        for (u32 k = 0; k < UNITS_AT_ONCE; ++k) {
            in[k] = pack_load(x + (r + k) * width);
            up[k] = pack_load(dy + (r + k) * width);
            m[k] = mean[r + k];
            s[k] = rstd[r + k];
        }
        UNROLL
        for (u32 k = 0; k < UNITS_AT_ONCE; ++k)
            PACK_EACH(j)
            {
                g[j] += LOAD(up[k].part, j) * norm_unit(LOAD(in[k].part, j), m[k], s[k]);
                b[j] += LOAD(up[k].part, j);
            }
    }
#endif
    for (; r < rows; r++) {
        COLUMNS_OF(in, x + r * width);
        COLUMNS_OF(up, dy + r * width);

        COLUMNS_EACH(j, count)
        {
            g[j] += COLUMN(up, j) * norm_unit(COLUMN(in, j), mean[r], rstd[r]);
            b[j] += COLUMN(up, j);
        }
    }
}

/* dgain = sum of dy unit, dbias = sum of dy; partial: (slices, 2, width). */
KERNEL(norm_backward_parameters, const GLOBAL storage *x, const GLOBAL f32 *mean,
       const GLOBAL f32 *rstd, const GLOBAL storage *dy, GLOBAL storage *dparameters,
       GLOBAL f32 *partial, u64 x_offset, u64 mean_offset, u64 rstd_offset, u64 gain_offset,
       u64 bias_offset, u64 rows, u64 width, u64 slices)
{
    for (u64 task = GROUP; task < BLOCKS(width) * slices; task += GROUPS) {
        f32 g[COLUMNS], b[COLUMNS];
        const u64 slice = task % slices;
        const u64 begin = rows * slice / slices, end = rows * (slice + 1) / slices;
        const u64 first = task / slices * BLOCK + LANE * COLUMNS;
        const u64 count = first >= width ? 0 : width - first < COLUMNS ? width - first : COLUMNS;

        if (count == 0)
            continue;
        columns_clear(g);
        columns_clear(b);
        unit_columns_add(g, b, x + x_offset + begin * width + first, dy + begin * width + first,
                         mean + mean_offset + begin, rstd + rstd_offset + begin, end - begin, width,
                         count);
        if (slices > 1) {
            COLUMNS_EACH(j, count)
            {
                partial[2 * slice * width + first + j] = g[j];
                partial[(2 * slice + 1) * width + first + j] = b[j];
            }
        } else {
            columns_store(dparameters + gain_offset + first, g, count);
            columns_store(dparameters + bias_offset + first, b, count);
        }
    }
}

/* out[c] = sum over rows of dy[r, c]: a bias's gradient; partial: (slices, width). */
KERNEL(column_sum, const GLOBAL storage *dy, GLOBAL storage *out, GLOBAL f32 *partial,
       u64 dy_offset, u64 out_offset, u64 rows, u64 width, u64 slices)
{
    for (u64 task = GROUP; task < BLOCKS(width) * slices; task += GROUPS) {
        f32 b[COLUMNS];
        const u64 slice = task % slices;
        const u64 begin = rows * slice / slices, end = rows * (slice + 1) / slices;
        const u64 first = task / slices * BLOCK + LANE * COLUMNS;
        const u64 count = first >= width ? 0 : width - first < COLUMNS ? width - first : COLUMNS;

        if (count == 0)
            continue;
        columns_clear(b);
        columns_add_rows(b, dy + dy_offset + begin * width + first, end - begin, width, count);
        if (slices > 1)
            COLUMNS_EACH(j, count)
        partial[slice * width + first + j] = b[j];
        else columns_store(out + out_offset + first, b, count);
    }
}

/* The sums of all slices, partial: (slices, sums, width): those of the first to `first`, the second
 * to `second`. */
KERNEL(slices_sum, const GLOBAL f32 *RESTRICT partial, GLOBAL storage *out, u64 first, u64 second,
       u64 slices, u64 sums, u64 width)
{
    for (u64 c = GROUP * LANES + LANE; c < sums * width; c += GROUPS * LANES) {
        f32 sum = 0.0f;

        IN_FLIGHT(32)
        for (u64 slice = 0; slice < slices; slice++)
            sum += partial[slice * sums * width + c];
        STORE(out, c < width ? first + c : second + (c - width), sum);
    }
}
