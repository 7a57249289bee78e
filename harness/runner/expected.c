#include "harness/runner/expected.h"

#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/type.h"
#include "harness/runner/expected_guess.h"
#include "protocols/protocol.h"
#include "protocols/stats/order.h"

/* Newest trials that the median is taken of. */
#define TRIALS_MAX 25

enum status expected_init(struct expected *expected, size_t count, struct error *err)
{
    *expected =
        (struct expected){.cells = calloc(count + 1, sizeof(*expected->cells)), .count = count};
    return expected->cells ? STATUS_OK : error_no_memory(err);
}

void expected_finish(struct expected *expected)
{
    free(expected->cells);
    *expected = (struct expected){0};
}

/* Most of the stored trials are later ones, so their median represents a later trial. */
static void use_stored(struct expected_cell *cell, int64_t *durations, size_t count,
                       int64_t pause_ns)
{
    double scale;

    if (count == 0)
        return;
    order_sort(durations, count);
    scale = (double)(durations[count / 2] + pause_ns) / cell->guess_ns[EXPECTED_LATER];
    for (size_t i = 0; i < EXPECTED_STEPS; i++)
        cell->guess_ns[i] *= scale;
    cell->known = true;
}

enum status expected_set(struct expected *expected, size_t index, struct store *store,
                         const json_t *message, size_t trials, bool begun, struct error *err)
{
    struct expected_cell *cell = &expected->cells[index];
    int64_t durations[TRIALS_MAX];
    CLEANUP(protocol_finish) struct protocol protocol = {0};
    size_t count = 0;

    TRY(protocol_from_json(json_object_get(message, "protocol"), &protocol, err));

    *cell = (struct expected_cell){.least_ns = protocol.warmup_ns + protocol.window_ns +
                                               protocol.throttle_cooldown_ns};
    TRY(expected_guess(&protocol, message, cell->guess_ns, err));
    if (store)
        TRY(store_trial_durations(store, message, durations, TRIALS_MAX, &count, err));
    use_stored(cell, durations, count, protocol.throttle_cooldown_ns);
    cell->left[EXPECTED_FIRST] = trials > 0 && !begun;
    cell->left[EXPECTED_LATER] = trials - cell->left[EXPECTED_FIRST];
    cell->left[EXPECTED_CHOICE] = cell->left[EXPECTED_FIRST];
    return STATUS_OK;
}

void expected_took(struct expected *expected, size_t index, enum expected_step step, int64_t ns)
{
    struct expected_cell *cell = &expected->cells[index];

    if (cell->left[step] == 0)
        return;
    cell->left[step]--;
    if (ns > 0) {
        cell->took[step]++;
        cell->took_ns[step] += (double)ns;
    }
}

enum expected_step expected_next(const struct expected *expected, size_t cell)
{
    return expected->cells[cell].left[EXPECTED_FIRST] > 0 ? EXPECTED_FIRST : EXPECTED_LATER;
}

/* What was done took so many times as long as was guessed; 0: nothing was done. */
static double scale_of(const struct expected_cell *cells, size_t count)
{
    double took = 0, guessed = 0;

    for (size_t i = 0; i < count; i++) {
        for (size_t step = 0; step < EXPECTED_STEPS; step++) {
            took += cells[i].took_ns[step];
            guessed += (double)cells[i].took[step] * cells[i].guess_ns[step];
        }
    }
    return guessed > 0 ? took / guessed : 0;
}

static double step_ns(const struct expected_cell *cell, enum expected_step step, double all)
{
    const double own = scale_of(cell, 1);

    if (cell->took[step] > 0)
        return cell->took_ns[step] / (double)cell->took[step];
    return cell->guess_ns[step] * (own > 0 ? own : all > 0 ? all : 1);
}

int64_t expected_left_ns(const struct expected *expected)
{
    const double all = scale_of(expected->cells, expected->count);
    double sum = 0;

    for (size_t i = 0; i < expected->count; i++)
        for (size_t step = 0; step < EXPECTED_STEPS; step++)
            if (expected->cells[i].left[step] > 0)
                sum +=
                    (double)expected->cells[i].left[step] * step_ns(&expected->cells[i], step, all);
    if (expected->last_round_utc_ns > 0)
        sum = fmax(sum, (double)(expected->last_round_utc_ns - clock_utc_ns()));
    return llround(sum);
}

struct counted {
    size_t cells, trials, cells_known;
    int64_t least_ns, expected_ns;
};
#define M(...) MEMBER(struct counted, __VA_ARGS__)
static const struct member counted_members[] = {
    M(INTEGER, cells),
    M(INTEGER, trials),
    M(INTEGER, cells_known, .help = "whose trials the database has times of"),
    M(COUNT, least_ns),
    M(COUNT, expected_ns, .flags = MEMBER_NULLABLE),
};
#undef M
const struct type expected_type =
    TYPE(struct counted, "what is expected", counted_members, .def = "expected");

static struct counted count(const struct expected *expected)
{
    struct counted sum = {.least_ns = expected->before_ns,
                          .expected_ns = expected->before_ns + expected_left_ns(expected)};

    for (size_t i = 0; i < expected->count; i++) {
        const struct expected_cell *cell = &expected->cells[i];
        const size_t trials = cell->left[EXPECTED_FIRST] + cell->left[EXPECTED_LATER];

        sum.cells += trials > 0;
        sum.trials += trials;
        sum.cells_known += trials > 0 && cell->known;
        sum.least_ns += (int64_t)trials * cell->least_ns;
    }
    return sum;
}

void expected_append(struct text *out, const struct expected *expected)
{
    const struct counted sum = count(expected);
    char time[TEXT_HUMAN_SIZE];

    text_append_format(out, "%zu cell%s, %zu trial%s: about %s", sum.cells,
                       sum.cells == 1 ? "" : "s", sum.trials, sum.trials == 1 ? "" : "s",
                       text_human_duration((double)sum.expected_ns, time));
    if (sum.cells_known == sum.cells)
        text_append_format(out, ", as stored trials of %s took",
                           sum.cells == 1 ? "this cell" : "these cells");
    else
        text_append(out, ", roughly: no trial of these cells is stored, and the first ones will "
                         "tell more");
}

json_t *expected_json(const struct expected *expected)
{
    const struct counted sum = count(expected);

    return type_to_json(&expected_type, &sum);
}
