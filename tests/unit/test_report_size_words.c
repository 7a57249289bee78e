#include "reports/size_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

/* Of Hockney's law, t = t0 + n/r, whose half is at n = r t0, and whose rate at 2^30 is all but r.
 */
TEST(half_rate)
{
    const double r = 10, t0 = 5000; /* bytes a ns, ns */
    struct size_rate rates[31];
    double half;

    for (int i = 0; i <= 30; i++) {
        const double size = ldexp(1, i);

        rates[i] = (struct size_rate){size, size / (t0 + size / r)};
    }
    half = size_of_half_rate(rates, 31);
    assert_true(fabs(half / (r * t0) - 1) < 1e-3);
    rates[1] = rates[30]; /* however far apart they are */
    assert_true(fabs(size_of_half_rate(rates, 2) / (r * t0) - 1) < 1e-3);
    rates[0] = (struct size_rate){4, 1};
    rates[1] = (struct size_rate){16, 4};
    rates[2] = (struct size_rate){1e6, 4};
    assert_true(fabs(size_of_half_rate(rates, 3) - 8) < 1e-9);
    assert_true(isnan(size_of_half_rate(rates + 1, 2)));
    assert_true(isnan(size_of_half_rate(rates, 1)));
    assert_true(isnan(size_of_half_rate(rates, 0)));
    /* Passed for the first time, though a later size is slower. */
    rates[2].rate = 1;
    assert_true(fabs(size_of_half_rate(rates, 3) - 8) < 1e-9);
}

static struct view_cell cell(const char *kind, const char *scenario, int64_t batch, double ns,
                             struct estimate *estimate)
{
    estimate->metrics[METRIC_ITERATION_TIME] =
        (struct metric_value){.present = true, .has_value = true, .value = ns, .unit = "ns"};
    estimate->metrics[METRIC_BYTE_RATE] = (struct metric_value){
        .present = true, .has_value = true, .value = (double)batch * 1e9 / ns, .unit = "B/s"};
    estimate->headline = METRIC_BYTE_RATE;
    return (struct view_cell){.workload = "mine",
                              .kind = kind,
                              .device_spec = "opencl:0",
                              .scenario = scenario,
                              .batch = {true, batch},
                              .estimate = estimate};
}

static char *words_of(struct view_cell *cells, size_t count)
{
    const struct view view = {.cells = cells, .cell_count = count};
    struct text out = TEXT_INIT;
    struct doc doc = doc_new(&out, &doc_lines);

    size_words(&doc, &view);
    doc_finish(&doc);
    return text_steal(&out);
}

TEST(sentences)
{
    struct estimate *estimates = calloc(4, sizeof(*estimates));
    struct view_cell cells[4];
    char *words;

    assert_non_null(estimates);
    cells[0] = cell("launch", "single_stream", 100, 120000, &estimates[0]);
    cells[1] = cell("launch", "single_stream", 1, 4100, &estimates[1]);
    words = words_of(cells, 2);
    assert_string_equal(words,
                        "mine on opencl:0: a launch takes 4.10 us; 100 in a row 1.20 us each.\n");
    free(words);
    cells[0] = cell("launch", "offline", 1, 1500, &estimates[0]);
    words = words_of(cells, 1);
    assert_string_equal(words, "mine on opencl:0: a launch takes 1.50 us where none is waited "
                               "for.\n");
    free(words);
    cells[0] = cell("transfer", "single_stream", 4, 4000, &estimates[0]);
    cells[1] = cell("transfer", "single_stream", 4096, 4096, &estimates[1]);
    cells[2] = cell("transfer", "single_stream", 1 << 20, 1 << 18, &estimates[2]);
    words = words_of(cells, 3);
    assert_string_equal(words, "mine on opencl:0: a copy of 4 B takes 4.00 us; of 1.00 MiB it "
                               "reaches 4.000 GB/s, half of that from about 11.9 KiB on.\n");
    free(words);
    cells[3] = cell("gemm", "offline", 1, 100, &estimates[3]);
    words = words_of(cells + 3, 1);
    assert_true(words == NULL || *words == '\0');
    free(words);
    free(estimates);
}
