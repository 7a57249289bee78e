#include "backends/opencl/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backends/compile.h"

/* "<kernel>", "input.cl": how compilers call a text that came without a name. */
static bool is_placeholder(const char *name, size_t length, const struct opencl_log_map *map)
{
    if ((length == strlen(map->file) && strncmp(name, map->file, length) == 0) ||
        (length == strlen(OPENCL_PRELUDE_FILE) && strncmp(name, OPENCL_PRELUDE_FILE, length) == 0))
        return false;
    return (length > 2 && name[0] == '<' && name[length - 1] == '>') ||
           (length > 3 && strncmp(name + length - 3, ".cl", 3) == 0);
}

/* The first "name:line:" of a log line; false when there is none. */
static bool find_place(const char *line, size_t length, size_t *ret_begin, size_t *ret_colon,
                       size_t *ret_end)
{
    size_t begin = 0, i, end;

    for (i = 0; i < length; i++) {
        if (strchr(" \t\"'(", line[i]) != NULL)
            begin = i + 1;
        if (line[i] != ':' || i == begin)
            continue;
        end = i + 1 + strspn(line + i + 1, "0123456789");
        if (end > i + 1 && end < length && line[end] == ':') {
            *ret_begin = begin;
            *ret_colon = i;
            *ret_end = end;
            return true;
        }
    }
    return false;
}

static void append_line(struct text *text, const char *line, size_t length, const void *context)
{
    const struct opencl_log_map *map = context;
    size_t begin, colon, end;
    uint64_t number;

    if (!find_place(line, length, &begin, &colon, &end) ||
        !is_placeholder(line + begin, colon - begin, map)) {
        text_append_printable(text, line, length);
        return;
    }
    number = strtoull(line + colon + 1, NULL, 10);
    if (number < map->prelude_line) {
        text_append_printable(text, line, length);
        return;
    }
    text_append_printable(text, line, begin);
    if (number >= map->text_line)
        text_append_format(text, "%s:%" PRIu64, map->file, number - map->text_line + 1);
    else
        text_append_format(text, OPENCL_PRELUDE_FILE ":%" PRIu64, number - map->prelude_line + 1);
    text_append_printable(text, line + end, length - end);
}

char *opencl_log_rewrite(const char *log, const struct opencl_log_map *map)
{
    return compile_log_rewrite(log, append_line, map);
}
