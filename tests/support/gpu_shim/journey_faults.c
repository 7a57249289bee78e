#include "tests/support/gpu_shim/journey_faults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* True where the failure was an error, not a tolerable one. */
static bool fail_once(const struct journey_faults *faults, const char *name, int n, int calls,
                      const struct journey_code *code)
{
    const struct journey_outcome outcome = faults->run(name, n, code->code);

    if (outcome.status == STATUS_OK) {
        if (!is_one_of(name, faults->tolerated) && !faults->tolerable(name, n, calls))
            fail_msg("%s@%d:%d goes unnoticed", name, n, code->code);
        return false;
    }
    if (strstr(outcome.err.message, name) == NULL ||
        strstr(outcome.err.message, code->words) == NULL)
        fail_msg("%s@%d:%d gives %s: %s", name, n, code->code, status_name(outcome.status),
                 outcome.err.message);
    return true;
}

/* How often a journey without a fault calls it. */
static int calls_of(const struct journey_faults *faults, const char *name)
{
    const struct journey_outcome outcome = faults->run(NULL, 0, 0);

    if (outcome.status != STATUS_OK)
        fail_msg("without a fault: %s", outcome.err.message);
    return journey_calls(name);
}

int journey_fail_each(const struct journey_faults *faults, const char *const *functions,
                      size_t count, const struct journey_code *codes, size_t code_count)
{
    int errors = 0, lived_with = 0;

    for (size_t f = 0; f < count; f++) {
        const char *name = functions[f];
        int calls;

        if (is_one_of(name, faults->uncounted))
            continue;
        calls = calls_of(faults, name);
        if (calls == 0)
            fail_msg("the journey never calls %s", name);
        for (int n = 1; n <= calls; n++)
            for (size_t k = 0; k < (calls > 12 ? 1 : code_count); k++)
                if (fail_once(faults, name, n, calls, &codes[k]))
                    errors++;
                else
                    lived_with++;
    }
    print_message("  %d failures named, %d lived with\n", errors, lived_with);
    return errors;
}

void journey_ignore_each(const struct journey_faults *faults, const char *const *functions,
                         size_t count, int code)
{
    for (size_t f = 0; f < count; f++) {
        int calls;

        if (is_one_of(functions[f], faults->uncounted))
            continue;
        calls = calls_of(faults, functions[f]);
        for (int n = 1; n <= calls; n++) {
            const struct journey_outcome outcome = faults->run(functions[f], n, code);

            if (outcome.status != STATUS_OK)
                fail_msg("%s@%d:%d stops it: %s", functions[f], n, code, outcome.err.message);
        }
    }
}

void journey_lie_each(const struct journey_faults *faults, const char *const *creators,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct journey_outcome outcome = faults->run(creators[i], 1, 0);

        if (outcome.status == STATUS_OK)
            fail_msg("%s gives nothing and it goes unnoticed", creators[i]);
        assert_true(outcome.err.message[0] != '\0');
    }
}
