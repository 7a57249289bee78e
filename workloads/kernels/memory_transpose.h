/*
 * y = x transposed; x [rows, columns], y [columns, rows]. A tile goes through local memory, so that
 * both sides are read and written along their rows: whole cache lines on both sides. Its pitch is
 * odd, so that a column of it is in different banks and cache sets.
 *
 * Neighbouring rows of a tile lie far apart in memory, where no prefetcher looks, so a single lane
 * asks for them: for the tile's place in y while it is read, for the next tile while it is written.
 */
#define TILE 32
#define TILE_PITCH (TILE + 1)
/* Lanes side by side along a row of the tile; the others take the next rows. */
#define TILE_LANES (LANES < TILE ? LANES : TILE)

/* Asks for one row of a tile. */
INLINE void transpose_ask(const GLOBAL storage *row)
{
#if LANES == 1
    UNROLL
    for (u32 j = 0; j < TILE; j += 64 / sizeof(storage))
        PREFETCH(row + j);
#endif
}

/* One tile from x at `from` to y at `to`; `next` is where the following one begins. */
INLINE void transpose_tile(const GLOBAL storage *from, const GLOBAL storage *next,
                           GLOBAL storage *to, LOCAL storage *tile, u32 height, u32 width, u64 rows,
                           u64 columns)
{
    for (u32 i = (u32)LANE / TILE_LANES; i < height; i += LANES / TILE_LANES) {
        transpose_ask(to + i * rows);
        for (u32 j = (u32)LANE % TILE_LANES; j < width; j += TILE_LANES)
            tile[i * TILE_PITCH + j] = from[i * columns + j];
    }
    BARRIER();
    for (u32 j = (u32)LANE / TILE_LANES; j < width; j += LANES / TILE_LANES) {
        transpose_ask(next + j * columns);
        for (u32 i = (u32)LANE % TILE_LANES; i < height; i += TILE_LANES)
            to[j * rows + i] = tile[i * TILE_PITCH + j];
    }
    BARRIER();
}

KERNEL(memory_transpose, const GLOBAL storage *RESTRICT x, GLOBAL storage *RESTRICT y, u64 rows,
       u64 columns)
{
    LOCAL_ARRAY(storage, tile, TILE * TILE_PITCH);
    const u64 across = (columns + TILE - 1) / TILE;
    const u64 tiles = across * ((rows + TILE - 1) / TILE);

    for (u64 t = ROWS_BEGIN(tiles); t < ROWS_END(tiles); ++t) {
        const u64 after = t + 1 < tiles ? t + 1 : t;
        const u64 row = t / across * TILE, column = t % across * TILE;
        const u32 height = rows - row < TILE ? (u32)(rows - row) : TILE;
        const u32 width = columns - column < TILE ? (u32)(columns - column) : TILE;
        const GLOBAL storage *from = x + row * columns + column;
        const GLOBAL storage *next = x + after / across * TILE * columns + after % across * TILE;
        GLOBAL storage *to = y + column * rows + row;

        if (height == TILE && width == TILE) /* counts that the compiler knows */
            transpose_tile(from, next, to, tile, TILE, TILE, rows, columns);
        else
            transpose_tile(from, next, to, tile, height, width, rows, columns);
    }
}
