/*
 * What declared stacks have besides the transformer's texts, all in `storage`, sums in f32: RMS
 * norm of rows or of heads (Zhang and Sennrich 2019), rope (Su et al. 2021), the gate of SwiGLU
 * (Shazeer 2020), and rows of a table. Joined behind pack.h, fold.h and memory_exp.h. Each may work
 * in place.
 */

/*
 * Rows are `all` parts of `size` elements: of the first `first` each is divided by its root mean
 * square and multiplied with `gain`, of the next `second` likewise with another; the others stay.
 */
KERNEL(stack_rms, const GLOBAL storage *x, const GLOBAL storage *gain,
       const GLOBAL storage *other_gain, GLOBAL storage *y, u64 x_offset, u64 gain_offset,
       u64 other_offset, u64 y_offset, u64 rows, u64 first, u64 second, u64 all, u64 size,
       f32 epsilon)
{
    GROUP_SCRATCH;

    for (u64 r = GROUP; r < rows * all; r += GROUPS) {
        const u64 part = r % all;
        const GLOBAL storage *in = x + x_offset + r * size;
        const GLOBAL storage *g = part < first ? gain + gain_offset : other_gain + other_offset;
        GLOBAL storage *out = y + y_offset + r * size;
        f32 squares, s;

        SUM_OVER(squares, size, LOAD(in, i) * LOAD(in, i));
        s = 1.0f / F_SQRT(squares / (f32)size + epsilon);
        for (u64 i = LANE; i < size; i += LANES) {
            const f32 value = LOAD(in, i);

            STORE(out, i, part < first + second ? value * s * LOAD(g, i) : value);
        }
    }
}

/*
 * Rows are `all` heads of `size` elements, of which the first `turned` are turned: elements i and
 * size/2 + i by the angle of row % length, whose cosine and sine are in `turns`.
 */
KERNEL(stack_rope, const GLOBAL storage *x, const GLOBAL f32 *turns, GLOBAL storage *y,
       u64 x_offset, u64 y_offset, u64 rows, u64 length, u64 turned, u64 all, u64 size)
{
    for (u64 r = GROUP; r < rows * all; r += GROUPS) {
        const u64 pairs = size / 2;
        const GLOBAL f32 *turn = turns + r / all % length * size;
        const GLOBAL storage *in = x + x_offset + r * size;
        GLOBAL storage *out = y + y_offset + r * size;

        for (u64 i = LANE; i < pairs; i += LANES) {
            const f32 a = LOAD(in, i), b = LOAD(in, pairs + i);
            const f32 c = r % all < turned ? turn[2 * i] : 1.0f;
            const f32 s = r % all < turned ? turn[2 * i + 1] : 0.0f;

            STORE(out, i, a * c - b * s);
            STORE(out, pairs + i, b * c + a * s);
        }
    }
}

/* y = g / (1 + e^-g) x. */
KERNEL(stack_gate, const GLOBAL storage *g, const GLOBAL storage *x, GLOBAL storage *y,
       u64 g_offset, u64 x_offset, u64 y_offset, u64 n)
{
    g += g_offset;
    x += x_offset;
    y += y_offset;
    EACH_PACK(i, n)
    {
        const pack gate = pack_load(g + i), in = pack_load(x + i);
        pack out;

        PACK_EACH(j)
        STORE(out.part, j,
              LOAD(gate.part, j) / (1.0f + exp_f32(-LOAD(gate.part, j))) * LOAD(in.part, j));
        pack_store(y + i, out);
    }
}

/* Row r of x = row tokens[r] of the table, plus row r % length of the positions unless it is 0. */
KERNEL(stack_rows, const GLOBAL i32 *tokens, const GLOBAL storage *table,
       const GLOBAL storage *positions, GLOBAL storage *x, u64 table_offset, u64 positions_offset,
       u64 x_offset, u64 rows, u64 length, u64 width)
{
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *from = table + table_offset + (u64)tokens[r] * width;
        const GLOBAL storage *added =
            positions + positions_offset + (length ? r % length : 0) * width;
        GLOBAL storage *out = x + x_offset + r * width;

        for (u64 i = LANE; i < width; i += LANES)
            STORE(out, i, LOAD(from, i) + (length ? LOAD(added, i) : 0.0f));
    }
}
