#include "results/formats/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/file_form.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "results/evidence/bundle.h"
#include "results/formats/claims.h"
#include "results/formats/foreign_text.h"
#include "results/formats/format_name.h"

static bool holds(const char *head, size_t length, const char *word)
{
    return memmem(head, length, word, strlen(word)) != NULL;
}

/* Length of a byte-order mark, which programs on Windows write. */
static size_t mark_of(const char *bytes, size_t length)
{
    return length >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3) ? 3 : 0;
}

/* Whether an object, or with `array` a list of objects, begins on one of its lines. */
static bool begins(const char *head, size_t length, bool array)
{
    const size_t mark = mark_of(head, length);

    return foreign_text_begins(head + mark, length - mark, array);
}

static bool is_llama_bench(const char *head, size_t length)
{
    return holds(head, length, "n_prompt") && holds(head, length, "model_filename");
}

static bool is_sqlite(const char *head, size_t length)
{
    return length >= 16 && !memcmp(head, "SQLite format 3", 16);
}

static bool is_json(const char *head, size_t length)
{
    return is_llama_bench(head, length) && begins(head, length, true);
}

static bool is_jsonl(const char *head, size_t length)
{
    return is_llama_bench(head, length) && begins(head, length, false) && !is_json(head, length);
}

/* A line with the names of the columns, which that of the SQL is not. */
static bool is_csv(const char *head, size_t length)
{
    const char *name = memmem(head, length, "n_prompt", 8);
    const char *line = name, *end;

    if (!name || is_json(head, length) || is_jsonl(head, length))
        return false;
    while (line > head && line[-1] != '\n')
        line--;
    end = memchr(name, '\n', length - (size_t)(name - head));
    return is_llama_bench(line, (size_t)((end ? end : head + length) - line)) &&
           !holds(line, (size_t)(name - line), "INSERT");
}

/* The summary of an accuracy run has nothing but its last two lines. */
static bool is_mlperf(const char *head, size_t length)
{
    return holds(head, length, "MLPerf Results Summary") ||
           holds(head, length, "s encountered during test.") ||
           holds(head, length, " encountered. See detailed log.");
}

static bool is_hyperfine(const char *head, size_t length)
{
    return begins(head, length, false) && holds(head, length, "\"results\"") &&
           holds(head, length, "\"command\"") && holds(head, length, "\"mean\"");
}

static bool is_google_benchmark(const char *head, size_t length)
{
    return begins(head, length, false) && holds(head, length, "\"context\"") &&
           holds(head, length, "\"library_build_type\"");
}

static bool is_pytest_benchmark(const char *head, size_t length)
{
    return begins(head, length, false) && holds(head, length, "\"machine_info\"") &&
           holds(head, length, "\"python_implementation\"");
}

static bool is_fio(const char *head, size_t length)
{
    return begins(head, length, false) && holds(head, length, "\"fio version\"");
}

/* The older forms have the second pair of names, the newest the first. */
static bool is_phoronix(const char *head, size_t length)
{
    return begins(head, length, false) &&
           ((holds(head, length, "\"systems\"") &&
             (holds(head, length, "\"client_version\"") || holds(head, length, "\"raw_values\"") ||
              holds(head, length, "\"hardware\""))) ||
            (holds(head, length, "\"units\"") && holds(head, length, "\"all_results\"")));
}

static bool is_superbench(const char *head, size_t length)
{
    return begins(head, length, false) && holds(head, length, "/return_code");
}

/* What to do with a form of a known program that is not read; NULL when it is of none. */
static const char *remedy_of(const char *head, size_t length)
{
    if (length == 0)
        return "is empty";
    if (file_form_remedy(head, length))
        return file_form_remedy(head, length);
    if (holds(head, length, "| t/s |") || holds(head, length, " t/s |"))
        return "llama-bench's table for people lacks when and on what it ran: run it with -o json";
    if (holds(head, length, "CREATE TABLE IF NOT EXISTS llama_bench"))
        return "llama-bench's SQL is for sqlite3: import the database that "
               "`sqlite3 bench.sqlite <FILE` makes";
    if (holds(head, length, ":::MLL"))
        return "is a detailed log of MLPerf's: of a run of MLPerf Inference, import "
               "mlperf_log_summary.txt";
    if (holds(head, length, "command,mean,stddev,median,user,system,min,max"))
        return "hyperfine's CSV does not say how its runs ended: write --export-json";
    if (holds(head, length, "| Command | Mean ["))
        return "hyperfine's table for people does not say how its runs ended: write --export-json";
    if (holds(head, length, "name,iterations,real_time,cpu_time,time_unit") ||
        holds(head, length, "CPU   Iterations"))
        return "this form of Google Benchmark's lacks when and on what it ran: run it with "
               "--benchmark_format=json";
    if (holds(head, length, ": (g=") && holds(head, length, " ioengine="))
        return "fio's text for people rounds its figures: run it with --output-format=json";
    return NULL;
}

static int64_t count_cells(struct store *store, int64_t campaign)
{
    struct store_filter filter = {.campaign = campaign};
    json_auto_t *rows = NULL;
    int64_t count = 0;

    if (store_list_results(store, &filter, &rows, NULL) == STATUS_OK)
        count = (int64_t)json_array_size(rows);
    return count;
}

static enum status uids_of_one(struct store *store, int64_t campaign, json_t **ret,
                               struct error *err)
{
    json_auto_t *record = NULL;

    TRY(store_campaign_json(store, campaign, &record, err));

    *ret = json_pack("[O]", json_object_get(record, "uid"));
    return *ret ? STATUS_OK : error_no_memory(err);
}

static enum status take_claims(struct store *store, const struct import_format *format,
                               const struct import_request *request, struct import_outcome *ret,
                               struct error *err)
{
    struct store_import import = {.file = file_base_name(request->path),
                                  .format = format->name,
                                  .program = format->program,
                                  .command = request->command,
                                  .tool_version = request->tool_version,
                                  .tool_digest = request->tool_digest};
    struct import_outcome outcome = {.program = format->program};
    struct import_claims claims = {0};
    int64_t campaign;
    char *bytes = NULL;
    size_t length = 0, mark;
    enum status status;

    TRY(file_read(request->path, IMPORT_BYTES_MAX, &bytes, &length, err));
    import.digest = digest_bytes(bytes, length);
    import.size = (int64_t)length;
    status = store_find_import(store, &import.digest, &campaign, err);
    if (status == STATUS_OK) {
        outcome.known = true;
        outcome.results = count_cells(store, campaign);
        goto done;
    }
    mark = mark_of(bytes, length);
    if (status == STATUS_NOT_FOUND)
        status = format->read(request->path, bytes + mark, length - mark, &claims, err);
    if (status == STATUS_OK) {
        import.program_version = claims.program_version;
        outcome.results = (int64_t)claims.count;
        outcome.left_out = json_incref(claims.left_out);
        outcome.left_out_count = (int64_t)claims.left_out_count;
        status = store_add_import(store, &import, claims.items, claims.count, &campaign, err);
    }
    import_claims_finish(&claims);
done:
    free(bytes);
    if (status == STATUS_OK)
        status = uids_of_one(store, campaign, &outcome.campaigns, err);
    if (status == STATUS_OK)
        *ret = outcome;
    else
        json_decref(outcome.left_out);
    return status;
}

static bool is_bundle(const char *head, size_t length)
{
    static const char mark[] = "{\"assay_bundle\":";

    return length >= strlen(mark) && !memcmp(head, mark, strlen(mark));
}

/* State kept while a bundle is read. */
struct taking {
    struct text first; /* the first failed check, for the message */
    int64_t count;     /* number of failed checks */
};

static void object(void *context, const struct verify_finding *finding)
{
    struct taking *taking = context;

    if (finding->level != VERIFY_WRONG)
        return;
    if (taking->count++ == 0) {
        text_append_format(&taking->first, "%s%s%s", finding->key ? finding->key : "",
                           finding->key ? ": " : "", finding->message);
    }
}

/* Takes the reference to `uids`. */
static enum status count_results(struct store *store, json_t *uids, struct import_outcome *ret,
                                 struct error *err)
{
    enum status status = STATUS_OK;
    int64_t results = 0;

    EACH(uid, uids) {
        int64_t campaign;

        status = store_find_campaign(store, json_string_value(uid), &campaign, err);
        if (status != STATUS_OK)
            break;
        results += count_cells(store, campaign);
    }
    if (status != STATUS_OK) {
        json_decref(uids);
        return status;
    }
    ret->campaigns = uids;
    ret->results = results;
    return STATUS_OK;
}

static enum status take_bundle(struct store *store, const struct import_format *format,
                               const struct import_request *request, struct import_outcome *ret,
                               struct error *err)
{
    struct taking taking = {.count = 0};
    const struct verify_options all = {.context = &taking, .found = object};
    struct verify_summary summary;
    struct bundle_import taken;
    CLEANUP(bundle_head_finish) struct bundle_head head = {0};
    enum status status;

    text_init(&taking.first);
    /* What is stored once, such as a text under its digest, would also be used by others. */
    status = bundle_verify(request->path, &all, &summary, err);
    if (status == STATUS_OK && summary.wrong > 0)
        status = STATUS_CORRUPT;
    if (status == STATUS_OK)
        status = bundle_import(store, request->path, NULL, NULL, &taken, &head, err);
    if (status != STATUS_OK && taking.count > 0)
        error_set(err, STATUS_INVALID, "%s: does not hold, so nothing was taken in: %s%s",
                  request->path, text_ok(&taking.first) ? taking.first.data : "",
                  taking.count > 1 ? " (and more; `assay verify` tells all)" : "");
    text_finish(&taking.first);
    if (status == STATUS_OK) {
        *ret = (struct import_outcome){.known = taken.known > 0, .program = format->program};
        status = count_results(store, json_incref(head.campaigns), ret, err);
    }
    return status == STATUS_CORRUPT ? STATUS_INVALID : status;
}

static const struct import_format formats[] = {
    {"bundle", "what assay bundle writes", is_bundle, take_bundle, "assay", NULL},
    {"llama-bench-sqlite", "the database that llama-bench -o sql fills", is_sqlite, take_claims,
     "llama-bench", llama_bench_read_sqlite},
    {"llama-bench-json", "llama-bench -o json", is_json, take_claims, "llama-bench",
     llama_bench_read_json},
    {"llama-bench-jsonl", "llama-bench -o jsonl", is_jsonl, take_claims, "llama-bench",
     llama_bench_read_jsonl},
    {"llama-bench-csv", "llama-bench -o csv", is_csv, take_claims, "llama-bench",
     llama_bench_read_csv},
    {"mlperf-summary", "mlperf_log_summary.txt of MLPerf Inference", is_mlperf, take_claims,
     "mlperf-loadgen", mlperf_read_summary},
    {"hyperfine", "hyperfine --export-json", is_hyperfine, take_claims, "hyperfine",
     hyperfine_read},
    {"google-benchmark", "Google Benchmark's --benchmark_format=json", is_google_benchmark,
     take_claims, "google-benchmark", google_benchmark_read},
    {"pytest-benchmark", "pytest --benchmark-json", is_pytest_benchmark, take_claims,
     "pytest-benchmark", pytest_benchmark_read},
    {"fio", "fio --output-format=json", is_fio, take_claims, "fio", fio_read},
    {"phoronix", "phoronix-test-suite result-file-to-json", is_phoronix, take_claims,
     "phoronix-test-suite", phoronix_read},
    {"superbench", "results-summary.jsonl of SuperBench", is_superbench, take_claims, "superbench",
     superbench_read},
};

const struct import_format *import_format_find(const char *name, struct error *err)
{
    return format_name_find(name, formats, sizeof(formats) / sizeof(formats[0]), sizeof(formats[0]),
                            err);
}

static enum status recognise(const char *path, const struct import_format **ret, struct error *err)
{
    char head[IMPORT_HEAD_SIZE];
    const char *remedy;
    CLEANUP(text_finish) struct text all = TEXT_INIT;
    size_t length = 0;
    ssize_t got = 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return error_set(err, STATUS_INVALID, "%s: is not a regular file", path);
    }
    while (got > 0 && length < sizeof(head)) {
        got = read(fd, head + length, sizeof(head) - length);
        length += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (formats[i].recognise(head, length)) {
            *ret = &formats[i];
            return STATUS_OK;
        }
    remedy = remedy_of(head, length);
    if (remedy)
        return error_set(err, STATUS_INVALID, "%s: %s", path, remedy);
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        text_append_format(&all, "%s%s", i ? ", " : "", formats[i].name);
    error_set(err, STATUS_INVALID, "%s: is of no known format (%s); --format names one", path,
              all.data);
    return STATUS_INVALID;
}

enum status import_file(struct store *store, const struct import_format *format,
                        const struct import_request *request, struct import_outcome *ret,
                        struct error *err)
{
    TRY(format ? STATUS_OK : recognise(request->path, &format, err));
    return format->take(store, format, request, ret, err);
}
