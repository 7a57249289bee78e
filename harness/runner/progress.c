#include "harness/runner/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/core/clock.h"
#include "harness/core/text.h"

#define REDRAW_NS ((int64_t)100000000)
#define BAR_CELLS 20

static size_t terminal_columns(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        return size.ws_col;
    return 80;
}

/* The label's bytes that fit `columns`, cut between characters. */
static int label_bytes(const char *label, size_t columns)
{
    size_t length = strlen(label);
    char cut[sizeof(((struct progress *)0)->label)];

    while (length > 0) {
        memcpy(cut, label, length);
        cut[length] = '\0';
        if (text_columns(cut) <= columns)
            break;
        do
            length--;
        while (length > 0 && ((unsigned char)label[length] & 0xc0) == 0x80);
    }
    return (int)length;
}

#define LEFT_SIZE (TEXT_HUMAN_SIZE + 16)

/* ", 3.2 min left", as expected, else at the pace so far; empty where nothing is to be said. */
static void append_left(const struct progress *progress, int64_t now, char ret[LEFT_SIZE])
{
    const double elapsed = (double)(now - progress->started_ns);
    char time[TEXT_HUMAN_SIZE];
    double left = 0;

    if (progress->since_ns > 0)
        left = (double)(progress->left_ns - (now - progress->since_ns));
    else if (progress->done > 0)
        left = elapsed / (double)progress->done * (double)(progress->total - progress->done);
    ret[0] = '\0';
    if (left > 0 && progress->done < progress->total)
        snprintf(ret, LEFT_SIZE, ", about %s left", text_human_duration(left, time));
}

static void draw(struct progress *progress)
{
    int64_t now = clock_monotonic_ns();
    size_t filled = progress->total ? BAR_CELLS * progress->done / progress->total : 0;
    size_t columns = terminal_columns();
    char bar[BAR_CELLS * 3 + 1] = "", left[LEFT_SIZE];
    char head[160];
    int used;

    for (size_t i = 0; i < BAR_CELLS; i++)
        strcat(bar, i < filled ? "━" : "─");
    append_left(progress, now, left);
    snprintf(head, sizeof(head), "%s %zu/%zu%s ", bar, progress->done, progress->total, left);
    used = (int)text_columns(head);
    fprintf(stderr, "\r\033[K%s%.*s", head,
            columns > (size_t)used + 1 ? label_bytes(progress->label, columns - (size_t)used - 1)
                                       : 0,
            progress->label);
    fflush(stderr);
    progress->drawn = true;
    progress->drawn_ns = now;
}

void progress_init(struct progress *progress, size_t total, bool quiet)
{
    memset(progress, 0, sizeof(*progress));
    progress->total = total;
    progress->quiet = quiet;
    progress->terminal = isatty(STDERR_FILENO) == 1;
    progress->started_ns = clock_monotonic_ns();
}

void progress_expect(struct progress *progress, int64_t left_ns)
{
    progress->since_ns = clock_monotonic_ns();
    progress->left_ns = left_ns;
}

void progress_set(struct progress *progress, const char *label)
{
    struct text shown;
    bool changed;

    text_init(&shown);
    text_append_printable(&shown, label, strlen(label));
    changed = strncmp(progress->label, shown.data, sizeof(progress->label) - 1) != 0;
    snprintf(progress->label, sizeof(progress->label), "%s", shown.data);
    text_finish(&shown);
    if (!progress->quiet && progress->terminal &&
        (changed || clock_monotonic_ns() - progress->drawn_ns >= REDRAW_NS))
        draw(progress);
}

void progress_tick(struct progress *progress)
{
    if (!progress->quiet && progress->terminal &&
        clock_monotonic_ns() - progress->drawn_ns >= 10 * REDRAW_NS)
        draw(progress);
}

static void clear(struct progress *progress)
{
    if (progress->drawn)
        fprintf(stderr, "\r\033[K");
    progress->drawn = false;
}

void progress_advance(struct progress *progress, const char *note)
{
    char left[LEFT_SIZE];

    progress->done++;
    if (progress->quiet)
        return;
    if (note) {
        struct text shown;

        clear(progress);
        text_init(&shown);
        text_append_shown(&shown, note, strlen(note), false);
        fprintf(stderr, "%s\n", shown.data);
        text_finish(&shown);
    } else if (!progress->terminal) {
        append_left(progress, clock_monotonic_ns(), left);
        fprintf(stderr, "[%zu/%zu] %s%s\n", progress->done, progress->total, progress->label, left);
    }
    if (progress->terminal)
        draw(progress);
}

void progress_finish(struct progress *progress)
{
    if (!progress->quiet && progress->terminal)
        clear(progress);
    fflush(stderr);
}
