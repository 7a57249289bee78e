/*
 * claims - what the readers of foreign files fill, and the readers.
 *
 * A reader takes the whole file as bytes, without a byte-order mark, and gives claims, or says why
 * not: "PATH:LINE: ..." or "PATH: result N: field: ...". It touches neither store nor disk
 * (llama_bench_read_sqlite, which SQLite itself reads, opens PATH), so that it can be fuzzed.
 */
#ifndef ASSAY_RESULTS_FORMATS_CLAIMS_H
#define ASSAY_RESULTS_FORMATS_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "results/store/store_import.h"

struct import_claims {
    struct store_claim *items; /* heap */
    size_t count;
    char *program_version; /* NULL: not reported, or not one for all */
    json_t *left_out;      /* array of messages, LEFT_OUT_MAX at most; NULL: none */
    size_t left_out_count; /* entries that have no result: failed, malformed, cut off */
};
#define LEFT_OUT_MAX 100
void import_claims_finish(struct import_claims *claims); /* takes NULL and partly built ones */

/* Room for one more claim, initialised and counted; INVALID past IMPORT_RESULTS_MAX. */
enum status import_claims_add(struct import_claims *claims, const char *path,
                              struct store_claim **ret, struct error *err);

/*
 * The end of one entry, before which there were `before` claims: where its `status` is INVALID, its
 * claims are dropped, and it is left out by the message in `why`. OK, or what ends the reading,
 * with the message in `err`.
 */
enum status import_claims_entry(struct import_claims *claims, size_t before, enum status status,
                                const struct error *why, struct error *err);

/* Notes what is left out of the file, in printf's form, "PATH: ..."; NO_MEMORY. */
enum status import_claims_leave_out(struct import_claims *claims, struct error *err,
                                    const char *format, ...) __attribute__((format(printf, 3, 4)));

/*
 * The end of a file: gives the claims, each with what was left out besides it. INVALID where there
 * is none, with the reason of the first that was left out, else with `none`; any other than OK in
 * `status` ends so. Releases `claims` on failure.
 */
enum status import_claims_settle(struct import_claims *claims, enum status status, const char *path,
                                 const char *none, struct import_claims *ret, struct error *err);

/*
 * llama-bench (llama.cpp): `-o json`, `-o jsonl`, `-o csv`, and the table that `-o sql` makes.
 * Field names and forms: tools/llama-bench/README.md of ggml-org/llama.cpp.
 */
enum status llama_bench_read_json(const char *path, const char *bytes, size_t length,
                                  struct import_claims *ret, struct error *err);
enum status llama_bench_read_jsonl(const char *path, const char *bytes, size_t length,
                                   struct import_claims *ret, struct error *err);
enum status llama_bench_read_csv(const char *path, const char *bytes, size_t length,
                                 struct import_claims *ret, struct error *err);
enum status llama_bench_read_sqlite(const char *path, const char *bytes, size_t length,
                                    struct import_claims *ret, struct error *err);

/*
 * A test of llama-bench in its own words: "pp512 MODEL", "tg128@d4096 MODEL". Heap. INVALID
 * ("WHERE: ...") where its fields do not say what it is.
 */
enum status llama_bench_name(const json_t *fields, const char *where, char **ret,
                             struct error *err);

/* One result of llama-bench, its fields as JSON (borrowed); `where` begins messages. */
enum status llama_bench_add(struct import_claims *claims, const char *path, const char *where,
                            json_t *fields, struct error *err);

/* mlperf_log_summary.txt of MLPerf Inference's load generator (loadgen/results.cc). */
enum status mlperf_read_summary(const char *path, const char *bytes, size_t length,
                                struct import_claims *ret, struct error *err);

/*
 * hyperfine --export-json; Google Benchmark --benchmark_format=json; pytest-benchmark
 * --benchmark-json; fio --output-format=json. Entries that say of themselves that they failed, and
 * Google Benchmark's statistics of other entries, are left out.
 */
enum status hyperfine_read(const char *path, const char *bytes, size_t length,
                           struct import_claims *ret, struct error *err);
enum status google_benchmark_read(const char *path, const char *bytes, size_t length,
                                  struct import_claims *ret, struct error *err);
enum status pytest_benchmark_read(const char *path, const char *bytes, size_t length,
                                  struct import_claims *ret, struct error *err);
enum status fio_read(const char *path, const char *bytes, size_t length, struct import_claims *ret,
                     struct error *err);

/*
 * phoronix-test-suite result-file-to-json: results in units that are known as a time or a rate;
 * results-summary.jsonl of SuperBench: throughputs and step times of model benchmarks, the units of
 * which are documented. Others are left out.
 */
enum status phoronix_read(const char *path, const char *bytes, size_t length,
                          struct import_claims *ret, struct error *err);
enum status superbench_read(const char *path, const char *bytes, size_t length,
                            struct import_claims *ret, struct error *err);

#endif
