#include "results/bundle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/clock.h"
#include "harness/core/text.h"

/* What the checks of the file and those of its rows have in common. */
struct checker {
    const struct verify_options *options;
    int64_t wrong, notes;
};

static void count(void *context, const struct verify_finding *finding)
{
    struct checker *checker = context;

    if (finding->level == VERIFY_WRONG)
        checker->wrong++;
    else
        checker->notes++;
    if (checker->options->found)
        checker->options->found(checker->options->context, finding);
}

/* The rows' new database has a ledger of its own, which no one signs. */
static void count_row(void *context, const struct verify_finding *finding)
{
    if (finding->check != VERIFY_SIGNATURE)
        count(context, finding);
}

static bool show_reading(void *context, uint64_t done, uint64_t total)
{
    struct checker *checker = context;

    return !checker->options->progress ||
           checker->options->progress(checker->options->context,
                                      &(struct verify_progress){"bundle", done, total});
}

static bool show(void *context, const struct verify_progress *progress)
{
    struct checker *checker = context;

    return !checker->options->progress ||
           checker->options->progress(checker->options->context, progress);
}

static enum status compare(void *context, struct store *store, const char *kind, int64_t a,
                           int64_t b, const json_t *body, json_t **ret, struct error *err)
{
    struct checker *checker = context;

    return checker->options->compare(checker->options->context, store, kind, a, b, body, ret, err);
}

static enum status derive(void *context, const struct verify_subject *subject, json_t **ret,
                          struct error *err)
{
    struct checker *checker = context;

    return checker->options->derive(checker->options->context, subject, ret, err);
}

static enum status tolerance(void *context, const struct verify_subject *subject,
                             const char *output, const char *metric, double *ret, struct error *err)
{
    struct checker *checker = context;

    return checker->options->tolerance(checker->options->context, subject, output, metric, ret,
                                       err);
}

static enum status make_folder(char **ret, struct error *err)
{
    const char *base = getenv("TMPDIR");
    char *path = text_format("%s/assay-verify-XXXXXX", base && *base ? base : "/tmp");

    if (!path)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a path");
    if (!mkdtemp(path)) {
        enum status status = error_set_errno(err, errno, "%s", path);

        free(path);
        return status;
    }
    *ret = path;
    return STATUS_OK;
}

static void remove_folder(char *folder)
{
    static const char *const names[] = {"rows.db", "rows.db-wal", "rows.db-shm", "rows.db-journal"};

    for (size_t i = 0; folder && i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = text_format("%s/%s", folder, names[i]);

        if (path)
            unlink(path);
        free(path);
    }
    if (folder)
        rmdir(folder);
    free(folder);
}

/* Only the rows' content is left to check: signatures and heads were checked with the file. */
static enum status check_rows(const char *path, struct checker *checker, struct verify_summary *ret,
                              struct error *err)
{
    struct verify_options inner = {
        .nonce = checker->options->nonce,
        .threads = checker->options->threads,
        .skip_estimates = checker->options->skip_estimates,
        .context = checker,
        .found = count_row,
        .progress = show,
        .compare = checker->options->compare ? compare : NULL,
        .derive = checker->options->derive ? derive : NULL,
        .tolerance = checker->options->tolerance ? tolerance : NULL,
    };

    return verify_file(path, &inner, ret, err);
}

struct pass {
    struct checker *checker;
    struct verify_summary *summary;
};

static enum status take_head(void *context, const struct bundle_head *head, struct error *err)
{
    struct verify_summary *summary = ((struct pass *)context)->summary;

    (void)err;
    summary->leaves = head->size;
    summary->root = head->root;
    summary->schema_version = head->schema;
    snprintf(summary->origin, sizeof(summary->origin), "%s", head->origin);
    return STATUS_OK;
}

static enum status take_row(void *context, const struct bundle_row *row, struct error *err)
{
    (void)row;
    (void)err;
    ((struct pass *)context)->summary->rows++;
    return STATUS_OK;
}

static void take_finding(void *context, const struct verify_finding *finding)
{
    count(((struct pass *)context)->checker, finding);
}

static bool take_progress(void *context, uint64_t done, uint64_t total)
{
    return show_reading(((struct pass *)context)->checker, done, total);
}

/* Rows that are all in the ledger may still not be complete. */
static enum status check_together(const char *path, const char *folder, struct checker *checker,
                                  struct verify_summary *ret, struct error *err)
{
    struct bundle_import import = {0};
    struct store *store = NULL;
    char *database = text_format("%s/rows.db", folder);
    enum status status = database ? store_open(database, STORE_CREATE, 0, &store, err)
                                  : error_set(err, STATUS_NO_MEMORY, "no memory for a path");

    if (status == STATUS_OK) {
        struct error reason = ERROR_INIT;

        status = bundle_import(store, path, NULL, NULL, &import, &reason);
        if (status == STATUS_NO_MEMORY || status == STATUS_NO_SPACE ||
            status == STATUS_INTERRUPTED) {
            if (err)
                *err = reason;
        } else if (status != STATUS_OK) {
            count(checker, &(struct verify_finding){.level = VERIFY_WRONG,
                                                    .check = VERIFY_COMPLETE,
                                                    .message = reason.message});
            status = STATUS_OK;
            import.rows = -1;
        }
    }
    store_close(store);
    if (status == STATUS_OK && import.rows >= 0) {
        status = check_rows(database, checker, ret, err);
    }
    free(database);
    return status;
}

enum status bundle_verify(const char *path, const struct verify_options *options,
                          struct verify_summary *ret, struct error *err)
{
    struct checker checker = {.options = options};
    struct verify_summary head = {0}, rows = {0};
    struct pass pass = {&checker, &head};
    const struct bundle_visitor visitor = {.context = &pass,
                                           .head = take_head,
                                           .row = take_row,
                                           .found = take_finding,
                                           .progress = take_progress};
    const int64_t begin_ns = clock_monotonic_ns();
    struct digest sha256;
    char *folder = NULL;
    struct stat st;
    enum status status;

    digest_accelerate();
    status = bundle_read(path, &visitor, options, &sha256, err);
    if (status == STATUS_OK && checker.wrong == 0) {
        status = make_folder(&folder, err);
        if (status == STATUS_OK)
            status = check_together(path, folder, &checker, &rows, err);
        remove_folder(folder);
    }
    if (status != STATUS_OK)
        return status;
    head.bytes = stat(path, &st) == 0 ? st.st_size : 0;
    head.estimates = rows.estimates;
    head.comparisons = rows.comparisons;
    head.wrong = checker.wrong;
    head.notes = checker.notes;
    head.seconds = (double)(clock_monotonic_ns() - begin_ns) / 1e9;
    *ret = head;
    return STATUS_OK;
}
