#include "results/withheld.h"

#include <string.h>

static const char *text_for(const char *column)
{
    return !strcmp(column, "body") || !strcmp(column, "facts")
               ? "{\"reason\":\"withheld\",\"status\":\"denied\",\"value\":null}"
               : "(withheld)";
}

static int64_t number_for(const struct digest *commitment)
{
    uint64_t number = 0;

    for (int i = 7; i >= 0; i--)
        number = number << 8 | commitment->bytes[i];
    return (int64_t)number;
}

void withheld_bind(sqlite3_stmt *statement, int number, const char *column, bool is_blob,
                   const struct digest *commitment)
{
    if (is_blob) {
        const struct digest digest = digest_bytes(commitment->bytes, DIGEST_SIZE);

        sqlite3_bind_blob(statement, number, digest.bytes, DIGEST_SIZE, SQLITE_TRANSIENT);
    } else if (!strcmp(column, "hash")) {
        sqlite3_bind_int64(statement, number, number_for(commitment));
    } else {
        sqlite3_bind_text(statement, number, text_for(column), -1, SQLITE_STATIC);
    }
}

bool withheld_is_placeholder(sqlite3_stmt *row, int number, const char *column,
                             const struct digest *commitment)
{
    const void *bytes;
    struct digest digest;

    switch (sqlite3_column_type(row, number)) {
    case SQLITE_INTEGER:
        return !strcmp(column, "hash") &&
               sqlite3_column_int64(row, number) == number_for(commitment);
    case SQLITE_BLOB:
        digest = digest_bytes(commitment->bytes, DIGEST_SIZE);
        bytes = sqlite3_column_blob(row, number);
        return bytes && sqlite3_column_bytes(row, number) == DIGEST_SIZE &&
               memcmp(bytes, digest.bytes, DIGEST_SIZE) == 0;
    case SQLITE_TEXT:
        bytes = sqlite3_column_text(row, number);
        return bytes && strcmp(bytes, text_for(column)) == 0;
    default:
        return false;
    }
}
