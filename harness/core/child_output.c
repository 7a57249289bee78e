#include "harness/core/child_output.h"

#include <fcntl.h>
#include <unistd.h>

#include "harness/core/file.h"
#include "harness/core/log.h"

#define WORDS_KEPT 262144 /* of a child's standard output and error, before it starts anew */
#define WORDS_MAX                                                                                  \
    1073741824 /* that it may write between two checks; only what is kept takes memory */
#define WORDS_SHOWN 600

/*
 * The file has a fixed end. Long before it, what was written is discarded (child_output_forget),
 * since a write past it fails, and not every child survives that.
 */
int child_output_open(const char *name)
{
    return file_open_memory(name, WORDS_MAX);
}

void child_output_append(int fd, struct text *text)
{
    off_t end = lseek(fd, 0, SEEK_CUR);
    char words[WORDS_SHOWN];
    off_t from = end > WORDS_SHOWN ? end - WORDS_SHOWN : 0;
    ssize_t got = end > 0 ? pread(fd, words, (size_t)(end - from), from) : 0;

    while (got > 0 && (words[got - 1] == '\n' || words[got - 1] == ' '))
        got--;
    if (got <= 0)
        return;
    text_append(text, "; its last output: ");
    for (ssize_t i = 0; i < got; i++)
        if (words[i] == '\n')
            words[i] = ' ';
    text_append_printable(text, words, (size_t)got);
}

/* The child writes at the offset that both sides share, so that it can be set back from here. */
void child_output_forget(int fd)
{
    char last[WORDS_SHOWN];
    off_t end = lseek(fd, 0, SEEK_CUR);
    ssize_t kept;

    if (end <= WORDS_KEPT)
        return;
    kept = pread(fd, last, sizeof(last), end - WORDS_SHOWN);
    lseek(fd, kept > 0 ? kept : 0, SEEK_SET);
    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, end);
    if (kept > 0 && pwrite(fd, last, (size_t)kept, 0) != kept)
        log_warning("the last output of a child process was lost");
}
