#include "reports/load_timeline.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "tests/support/unit.h"

static struct request ok(int64_t at, int64_t done)
{
    return (struct request){.scheduled_ns = at, .done_ns = done, .status = REQUEST_OK};
}

/* Parts of 10 ns: their integrals are those of the requests. */
TEST(backlog_and_latency)
{
    struct request requests[] = {ok(0, 15), ok(5, 40), ok(22, 30), {0}, {0}};
    const double backlog[] = {1.5, 1.5, 2.6, 2};
    struct load_timeline load_timeline;
    double sum = 0;

    requests[3] =
        (struct request){.scheduled_ns = 12, .done_ns = REQUEST_NEVER, .status = REQUEST_REFUSED};
    requests[4] = (struct request){
        .scheduled_ns = 22, .done_ns = REQUEST_NEVER, .status = REQUEST_UNFINISHED};
    load_timeline_make(requests, 5, 4, &load_timeline);
    assert_int_equal(load_timeline.count, 4);
    assert_true(fabs(load_timeline.length_s - 40e-9) < 1e-18);
    for (size_t i = 0; i < 4; ++i) {
        assert_true(fabs(load_timeline.backlog[i] - backlog[i]) < 1e-9);
        sum += 10 * load_timeline.backlog[i];
    }
    assert_true(fabs(sum - (15 + 35 + 8 + 18)) < 1e-9);
    assert_true(load_timeline.latency_ns[0] == 35);
    assert_true(isnan(load_timeline.latency_ns[1]) && isnan(load_timeline.latency_ns[3]));
    assert_true(load_timeline.latency_ns[2] == 8);
    assert_true(load_timeline_most(load_timeline.latency_ns, 4) == 35);
}

TEST(nothing_over)
{
    const struct request never = {.done_ns = REQUEST_NEVER, .status = REQUEST_UNFINISHED};
    struct load_timeline load_timeline;

    load_timeline_make(&never, 1, 8, &load_timeline);
    assert_true(load_timeline.length_s == 0);
    load_timeline_make(NULL, 0, 8, &load_timeline);
    assert_true(load_timeline.length_s == 0);
}

TEST(sparkline)
{
    const double values[] = {0, 1, NAN, 4, 8, 4.1};
    struct load_timeline load_timeline = {.trial = 1, .length_s = 2, .count = 6};
    struct text out = TEXT_INIT;
    struct doc doc = doc_new(&out, &doc_lines);

    load_timeline_document(&doc, NULL);
    assert_int_equal(out.length, 0);
    for (size_t i = 0; i < 6; i++) {
        load_timeline.backlog[i] = values[i];
        load_timeline.latency_ns[i] = NAN;
    }
    load_timeline_document(&doc, &load_timeline);
    assert_non_null(strstr(out.data, "  backlog    ▁▁ ▄█▅  up to 8 requests\n"));
    assert_non_null(strstr(out.data, "  longest            up to "));
    doc_finish(&doc);
    text_finish(&out);
}
