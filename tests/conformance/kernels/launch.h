/* Geometry, arguments of every type, defines and types. */

KERNEL(geometry, GLOBAL u64 *out)
{
    const u64 group = (GROUP_Z * GROUPS_Y + GROUP_Y) * GROUPS + GROUP;
    GLOBAL u64 *mine = out + (group * LANES + LANE) * 8;

    mine[0] = LANE;
    mine[1] = LANES;
    mine[2] = GROUP;
    mine[3] = GROUP_Y;
    mine[4] = GROUP_Z;
    mine[5] = GROUPS;
    mine[6] = GROUPS_Y;
    mine[7] = GROUPS_Z;
}

KERNEL(arguments, GLOBAL i64 *out, i32 a, u32 b, i64 c, u64 d, f32 e, const GLOBAL u32 *nothing,
       const GLOBAL u32 *something)
{
    if (GROUP == 0 && LANE == 0) {
        out[0] = a;
        out[1] = b;
        out[2] = c;
        out[3] = (i64)d;
        out[4] = (i64)(e * 1000.0f);
        out[5] = nothing == 0;
        out[6] = something[1];
    }
}

KERNEL(sizes, GLOBAL u32 *out)
{
    if (GROUP == 0 && LANE == 0) {
        out[0] = sizeof(i8);
        out[1] = sizeof(u8);
        out[2] = sizeof(u16);
        out[3] = sizeof(i32);
        out[4] = sizeof(u32);
        out[5] = sizeof(i64);
        out[6] = sizeof(u64);
        out[7] = sizeof(f32);
        out[8] = sizeof(store_f32);
        out[9] = sizeof(store_bf16);
        out[10] = sizeof(store_f16);
        out[11] = (i8)-1 < 0;
    }
}

KERNEL(unrolled, GLOBAL u32 *out)
{
    u32 sum = 0, product = 1;

    UNROLL
    for (u32 i = 0; i < 8; i++)
        sum += i * i;
    UNROLL_N(3)
    for (u32 i = 1; i < 11; i++)
        product *= i;
    if (GROUP == 0 && LANE == 0) {
        out[0] = sum;
        out[1] = product;
    }
}

KERNEL(no_arguments)
{
}

/* One step of a chain whose result depends on the order of all steps. */
KERNEL(chain_step, GLOBAL u32 *RESTRICT x, u32 k, u64 n)
{
    for (u64 i = CHUNK_BEGIN(n) + LANE, end = CHUNK_END(n); i < end; i += LANES)
        x[i] = x[i] * 1664525u + k;
}

/* Asks for lines within and far beyond both arrays. */
KERNEL(asked_ahead, const GLOBAL u32 *RESTRICT in, GLOBAL u32 *RESTRICT out, u64 beyond, u64 n)
{
    for (u64 i = CHUNK_BEGIN(n) + LANE, end = CHUNK_END(n); i < end; i += LANES) {
        PREFETCH(in + i);
        PREFETCH(in + beyond + i);
        PREFETCH(out + beyond + i);
        out[i] = in[i] + 1u;
    }
}

/* A chain of dependent additions that no compiler can shorten, for a lower bound on its time. */
KERNEL(long_chain, GLOBAL f32 *out, f32 seed, u32 rounds)
{
    f32 x = seed;

    for (u32 r = 0; r < rounds; r++)
        x = x * 0.999f + seed;
    out[GROUP * LANES + LANE] = x;
}

#ifdef HAVE_F64
KERNEL(double_argument, GLOBAL f64 *out, f64 x)
{
    if (GROUP == 0 && LANE == 0)
        out[0] = x * 3.0;
}
#endif
