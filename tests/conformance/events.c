#include "tests/conformance/conformance.h"

#include "harness/core/clock.h"

#define ROUNDS 200000u

static void launch_chain(struct conformance *c, struct module *module, struct buffer *out,
                         uint32_t rounds)
{
    const struct kernel_arg args[] = {arg_buffer(out), arg_f32(0.5f), arg_u32(rounds)};
    const struct kernel_launch launch = {.module = module,
                                         .kernel = "long_chain",
                                         .groups = {1, 1, 1},
                                         .args = args,
                                         .arg_count = 3};

    expect_ok(c, device_kernel_launch(c->device, &launch, &c->err));
}

/*
 * Times add up, never run backwards, and lie between two bounds that hold on any machine under any
 * load: from below the dependent chain (a multiplication and an addition a round, at most 10 rounds
 * a nanosecond on any hardware there is), from above what the host saw pass around it.
 */
static void test_events(void **state)
{
    struct conformance *c = *state;
    const uint32_t rounds = c->small ? 500 : ROUNDS;
    struct event *events[4];
    struct module *module;
    struct buffer *out;
    int64_t begin_ns, host_ns, part_ns[3], whole_ns, self_ns;
    int i;

    if (!device_has_events(c->device)) {
        print_message("  skipped: the device reports no times\n");
        skip();
    }
    module = conformance_module(c, "launch.h", 1);
    out = conformance_buffer(c, NULL, 4);
    for (i = 0; i < 4; i++)
        expect_ok(c, device_event_create(c->device, &events[i], &c->err));
    launch_chain(c, module, out, 1); /* compiled at its first launch on some drivers */
    expect_ok(c, device_synchronize(c->device, &c->err));

    begin_ns = clock_monotonic_ns();
    expect_ok(c, device_event_record(c->device, events[0], &c->err));
    launch_chain(c, module, out, rounds);
    expect_ok(c, device_event_record(c->device, events[1], &c->err));
    expect_ok(c, device_event_record(c->device, events[2], &c->err));
    launch_chain(c, module, out, 3 * rounds);
    expect_ok(c, device_event_record(c->device, events[3], &c->err));
    expect_ok(c, device_synchronize(c->device, &c->err));
    host_ns = clock_monotonic_ns() - begin_ns;

    for (i = 0; i < 3; i++) {
        expect_ok(
            c, device_event_elapsed_ns(c->device, events[i], events[i + 1], &part_ns[i], &c->err));
        assert_true(part_ns[i] >= 0);
    }
    expect_ok(c, device_event_elapsed_ns(c->device, events[0], events[3], &whole_ns, &c->err));
    expect_ok(c, device_event_elapsed_ns(c->device, events[1], events[1], &self_ns, &c->err));
    print_message("  events: %lld + %lld + %lld ns of %lld ns on the host\n", (long long)part_ns[0],
                  (long long)part_ns[1], (long long)part_ns[2], (long long)host_ns);
    assert_int_equal(self_ns, 0);
    /* A float of milliseconds, as one stack gives it, rounds each part. */
    assert_true(llabs(part_ns[0] + part_ns[1] + part_ns[2] - whole_ns) <= 1000);
    assert_true(whole_ns <= host_ns);
    if (c->computes) {
        assert_true(part_ns[0] >= rounds / 10);
        assert_true(part_ns[2] >= 3 * rounds / 10);
    }
    /* An event can be recorded again. */
    expect_ok(c, device_event_record(c->device, events[0], &c->err));
    expect_ok(c, device_synchronize(c->device, &c->err));
    expect_ok(c, device_event_elapsed_ns(c->device, events[3], events[0], &part_ns[0], &c->err));
    /* With the events swapped, it is an error. */
    if (part_ns[0] > 0)
        expect_status(c, STATUS_DEVICE,
                      device_event_elapsed_ns(c->device, events[0], events[3], &whole_ns, &c->err));
    for (i = 0; i < 4; i++)
        device_event_destroy(c->device, events[i]);
    device_event_destroy(c->device, NULL);
    device_buffer_free(out);
    device_module_unload(c->device, module);
}

static void test_unrecorded(void **state)
{
    struct conformance *c = *state;
    struct event *event = NULL;
    int64_t elapsed_ns = 42;

    if (!device_has_events(c->device))
        skip();
    expect_ok(c, device_event_create(c->device, &event, &c->err));
    expect_status(c, STATUS_INTERNAL,
                  device_event_elapsed_ns(c->device, event, event, &elapsed_ns, &c->err));
    assert_int_equal(elapsed_ns, 42);
    device_event_destroy(c->device, event);
}

/* Without `profile` there are none, and the wrappers report that. */
static void test_not_asked_for(void **state)
{
    struct conformance *c = *state;
    struct device *device = NULL;
    struct event *event = NULL;

    expect_ok(c, backend_device_open(c->backend, c->index, NULL, &device, &c->err));
    assert_false(device_has_events(device));
    expect_status(c, STATUS_UNSUPPORTED, device_event_create(device, &event, &c->err));
    assert_null(event);
    device_close(device);
}

CONFORMANCE_AREA(conformance_events, {"events are plausible", test_events, false},
                 {"an event that was not recorded", test_unrecorded, false},
                 {"no events unless asked for", test_not_asked_for, false});
