/*
 * Usage: test_conformance [--backend NAME] [--small]
 * Runs every area on every device of every backend (or of one). A backend that is not available is
 * skipped with its reason; exit status 77 when none was left.
 */
#include "tests/conformance/conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"

static const struct conformance_area *const areas[] = {
    &conformance_buffers, &conformance_modules,      &conformance_launch,    &conformance_groups,
    &conformance_storage, &conformance_arithmetic,   &conformance_functions, &conformance_events,
    &conformance_gemm,    &conformance_convolutions, &conformance_attention, &conformance_lifecycle,
};

#define AREA_COUNT (sizeof(areas) / sizeof(areas[0]))

static int run_area(const struct conformance_area *area, struct conformance *c)
{
    struct CMUnitTest tests[64];
    char group[128], *names[64];
    size_t count = 0, i;
    int failed;

    for (i = 0; i < area->count; i++) {
        if (area->tests[i].needs_compute && !c->computes)
            continue;
        names[count] =
            text_format("%s:%u %s", c->backend->ops->name, c->index, area->tests[i].name);
        tests[count] = (struct CMUnitTest){
            .name = names[count], .test_func = area->tests[i].run, .initial_state = c};
        count++;
    }
    if (count == 0)
        return 0;
    snprintf(group, sizeof(group), "%s:%u %s", c->backend->ops->name, c->index, area->name);
    failed = _cmocka_run_group_tests(group, tests, count, NULL, NULL);
    for (i = 0; i < count; i++)
        free(names[i]);
    return failed;
}

static int run_device(struct backend *backend, uint32_t index, bool small)
{
    const struct device_options options = {.profile = true};
    struct conformance c = {.backend = backend, .index = index, .small = small};
    int failed = 0;
    size_t i;

    if (backend_device_open(backend, index, &options, &c.device, &c.err) != STATUS_OK) {
        printf("FAIL %s:%u cannot be opened: %s\n", backend->ops->name, index, c.err.message);
        return 1;
    }
    c.computes = strcmp(backend->ops->name, "null") != 0;
    c.small = c.small || c.device->info.simulated;
    printf("== %s:%u %s\n", backend->ops->name, index, c.device->info.name);
    for (i = 0; i < AREA_COUNT; i++)
        failed += run_area(areas[i], &c);
    device_close(c.device);
    return failed;
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    bool small = false;
    int failed = 0, ran = 0, i;
    size_t b;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--small") == 0) {
            small = true;
        } else if (strcmp(argv[i], "--backend") == 0 && i + 1 < argc) {
            only = argv[++i];
        } else {
            fprintf(stderr, "usage: %s [--backend NAME] [--small]\n", argv[0]);
            return 2;
        }
    }
    if (only != NULL && backend_find(only) == NULL) {
        fprintf(stderr, "no backend \"%s\" is compiled in\n", only);
        return 2;
    }
    for (b = 0; b < backend_count(); b++) {
        struct backend *backend = backend_at(b);
        struct error err = ERROR_INIT;

        if (only != NULL && strcmp(backend->ops->name, only) != 0)
            continue;
        if (backend_probe(backend, &err) != STATUS_OK) {
            printf("SKIP %s: %s\n", backend->ops->name, err.message);
            continue;
        }
        for (uint32_t d = 0; d < backend->device_count; d++, ran++)
            failed += run_device(backend, d, small);
    }
    if (ran == 0)
        return 77;
    printf("%s\n", failed == 0 ? "conformance: all passed" : "conformance: FAILED");
    return failed == 0 ? 0 : 1;
}
