/*
 * usage: make_schema FILE
 *
 * Runs when assay is built: writes an empty database of the newest schema as C, the pieces of
 * schema_model.h.
 */
#include <stdio.h>

#include "results/store/schema_model.h"
#include "results/store/store_internal.h"

#define ZEROS 16 /* between two pieces */

/* The next bytes that are not zeros, from `at` on; length 0: there are none. */
static struct schema_piece find_piece(const unsigned char *bytes, size_t size, size_t at)
{
    struct schema_piece piece = {0};

    while (at < size && bytes[at] == 0)
        at++;
    piece.at = at;
    for (; at < size && at - piece.at - piece.length < ZEROS; at++)
        if (bytes[at] != 0)
            piece.length = at + 1 - piece.at;
    return piece;
}

static void write_image(FILE *out, const unsigned char *bytes, size_t size)
{
    struct schema_piece piece = {0};

    fprintf(out,
            "#include \"results/store/schema_model.h\"\n\nconst size_t schema_image_size = %zu;"
            "\nconst unsigned char schema_image_bytes[] = {\n",
            size);
    while ((piece = find_piece(bytes, size, piece.at + piece.length)).length > 0)
        for (size_t i = 0; i < piece.length; i++)
            fprintf(out, "%u,%s", bytes[piece.at + i], i % 32 == 31 ? "\n" : "");
    fprintf(out, "};\nconst struct schema_piece schema_image[] = {\n");
    piece = (struct schema_piece){0};
    do {
        piece = find_piece(bytes, size, piece.at + piece.length);
        fprintf(out, "{%zu, %zu},\n", piece.at, piece.length);
    } while (piece.length > 0);
    fprintf(out, "};\n");
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    int version;
    const struct embed_file *scripts = store_migrations(&version);
    sqlite3 *db = NULL;
    sqlite3_int64 size = 0;
    unsigned char *bytes = NULL;
    FILE *out = argc == 2 ? fopen(argv[1], "w") : NULL;
    bool written = false;

    if (out && sqlite3_open(":memory:", &db) == SQLITE_OK &&
        sqlite3_exec(db, "PRAGMA page_size=8192", NULL, NULL, NULL) == SQLITE_OK &&
        schema_script_run(db, scripts, version, &err) == STATUS_OK &&
        sqlite3_exec(db, "VACUUM", NULL, NULL, NULL) == SQLITE_OK) /* of replaced views */
        bytes = sqlite3_serialize(db, "main", &size, 0);
    if (bytes) {
        write_image(out, bytes, (size_t)size);
        written = !ferror(out);
    }
    sqlite3_free(bytes);
    sqlite3_close(db);
    written = out && fclose(out) == 0 && written;
    if (!written)
        fprintf(stderr, "make_schema: cannot write %s %s\n", argc == 2 ? argv[1] : "", err.message);
    return written ? 0 : 1;
}
