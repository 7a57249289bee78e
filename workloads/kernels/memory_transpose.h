/*
 * y = x transposed; x [rows, columns], y [columns, rows]. A tile goes through local memory, so that
 * both sides are read and written along their rows. One lane wants a larger tile, whole cache lines
 * on both sides; many lanes want a padded one, without bank conflicts.
 */
#if LANES == 1
#define TILE 64
#define TILE_PITCH TILE
#else
#define TILE 32
#define TILE_PITCH (TILE + 1)
#endif
/* Lanes side by side along a row of the tile; the others take the next rows. */
#define TILE_LANES (LANES < TILE ? LANES : TILE)

KERNEL(memory_transpose, const GLOBAL storage *RESTRICT x, GLOBAL storage *RESTRICT y, u64 rows,
       u64 columns)
{
    LOCAL_ARRAY(storage, tile, TILE *TILE_PITCH);
    const u64 across = (columns + TILE - 1) / TILE;
    const u64 tiles = across * ((rows + TILE - 1) / TILE);

    for (u64 t = ROWS_BEGIN(tiles); t < ROWS_END(tiles); ++t) {
        const u64 row = t / across * TILE, column = t % across * TILE;
        const u32 height = rows - row < TILE ? (u32)(rows - row) : TILE;
        const u32 width = columns - column < TILE ? (u32)(columns - column) : TILE;

        for (u32 i = (u32)LANE / TILE_LANES; i < height; i += LANES / TILE_LANES)
            for (u32 j = (u32)LANE % TILE_LANES; j < width; j += TILE_LANES)
                tile[i * TILE_PITCH + j] = x[(row + i) * columns + column + j];
        BARRIER();
        for (u32 j = (u32)LANE / TILE_LANES; j < width; j += LANES / TILE_LANES)
            for (u32 i = (u32)LANE % TILE_LANES; i < height; i += TILE_LANES)
                y[(column + j) * rows + row + i] = tile[i * TILE_PITCH + j];
        BARRIER();
    }
}
