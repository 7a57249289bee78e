#include "results/evidence/bundle.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "results/evidence/note.h"
#include "results/evidence/verify_rules.h"
#include "results/evidence/witnessing.h"

#define SMALL_BYTES (1 << 20) /* threads take longer to begin than such a bundle to be checked */

static enum status make_folder(char **ret, struct error *err)
{
    const char *base = getenv("TMPDIR");
    char *path = text_format("%s/assay-verify-XXXXXX", base && *base ? base : "/tmp");

    if (!path)
        return error_no_memory(err);
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
        AUTO_FREE char *path = text_format("%s/%s", folder, names[i]);

        if (path)
            unlink(path);
    }
    if (folder)
        rmdir(folder);
    free(folder);
}

static bool show_reading(void *context, uint64_t done, uint64_t total)
{
    const struct verify_options *options = context;

    return !options->progress ||
           options->progress(options->context, &(struct verify_progress){"bundle", done, total});
}

/* `message`: NULL: that of the rule. */
static void tell(const struct verify_options *options, struct verify_summary *summary,
                 enum verify_rule_code code, const char *message)
{
    const struct verify_rule *rule = &verify_rules[code];

    verify_count(summary, rule->level);
    if (options->found)
        options->found(options->context,
                       &(struct verify_finding){.code = rule->code,
                                                .level = rule->level,
                                                .check = rule->check,
                                                .message = message ? message : rule->message});
}

/* The seal says that the selection is its maker's: nothing was taken out of the file since. */
static void check_seal(const struct verify_options *options, const struct bundle_head *head,
                       struct verify_summary *summary)
{
    const size_t length = strlen(head->seal_body);
    const bool is_seal =
        head->seal && !strncmp(head->seal, head->seal_body, length) && head->seal[length] == '\n';
    const struct key_public *author;
    bool is_trusted = false;

    if (head->seal && !is_seal)
        tell(options, summary, VERIFY_RULE_SEAL_OTHER, NULL);
    for (size_t i = 0; is_seal && (author = verify_author(options, i, head->created_utc_ns)); i++)
        is_trusted |= note_text_is_signed(head->seal, length, author);
    if (verify_asks_for_authors(options) && !is_trusted)
        tell(options, summary, VERIFY_RULE_SEAL_UNSIGNED, NULL);
    if (!verify_asks_for_authors(options))
        tell(options, summary, head->seal ? VERIFY_RULE_SEAL_SIGNED : VERIFY_RULE_SEAL_NONE, NULL);
}

/* What of the log's records is withheld, by name: {name: how many}. */
static const json_t *withheld_names(const struct verify_options *options)
{
    return json_object_get(json_array_get(json_object_get(options->shown, "logs"), 0), "withheld");
}

/* A word of the list names something that is withheld. */
static bool is_word_true(const char *word, const json_t *names, bool has_blobs)
{
    const char *name;
    json_t *number;

    if (has_blobs && fnmatch(word, "dump.output", 0) == 0)
        return true;
    json_object_foreach((json_t *)(uintptr_t)names, name, number)
    {
        if (!strcmp(word, name) || fnmatch(word, name, 0) == 0)
            return true;
    }
    return false;
}

/* What its maker says is withheld, against what is. */
static void check_words(const struct verify_options *options, const struct bundle_head *head,
                        bool has_blobs, struct verify_summary *summary)
{
    const json_t *names = withheld_names(options);
    CLEANUP(text_finish) struct text words = TEXT_INIT;

    if (json_array_size(head->withheld) == 0 && (json_object_size(names) > 0 || has_blobs))
        tell(options, summary, VERIFY_RULE_WITHHELD_UNTOLD, NULL);
    if (json_array_size(head->withheld) == 0)
        return;
    EACH(word, head->withheld) {
        text_append(&words, word_at ? ", " : "its maker says that these are withheld: ");
        text_append_printable(&words, json_string_value(word), json_string_length(word));
        if (!is_word_true(json_string_value(word), names, has_blobs))
            tell(options, summary, VERIFY_RULE_WITHHELD_NOT, NULL);
    }
    tell(options, summary, VERIFY_RULE_WITHHELD,
         text_ok(&words) ? words.data : "something is withheld");
}

/* A bundle that cannot be taken in is not what it claims to be; other failures are not its. */
static enum status take(const char *path, const char *database,
                        const struct verify_options *options, struct bundle_head *ret_head,
                        bool *ret_taken, bool *ret_blobs, struct verify_summary *summary,
                        struct error *err)
{
    struct bundle_import import = {0};
    struct store *store = NULL;
    struct error reason = ERROR_INIT;
    enum status status;

    TRY(store_open(database, STORE_CREATE, 0, &store, err));
    /* Nobody reads it if this process ends early. */
    sqlite3_exec(store_connection(store), "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF",
                 NULL, NULL, NULL);
    status = bundle_import(store, path, show_reading, (void *)(uintptr_t)options, &import, ret_head,
                           &reason);
    *ret_blobs = status == STATUS_OK && import.blobs_withheld > 0;
    store_close(store);
    *ret_taken = status == STATUS_OK;
    if (status == STATUS_CORRUPT || status == STATUS_INVALID || status == STATUS_PROTOCOL) {
        tell(options, summary, VERIFY_RULE_BUNDLE_REFUSED, reason.message);
        return STATUS_OK;
    }
    if (status != STATUS_OK && err)
        *err = reason;
    return status;
}

enum status bundle_verify(const char *path, const struct verify_options *options,
                          struct verify_summary *ret, struct error *err)
{
    const int64_t begin_ns = clock_monotonic_ns();
    struct verify_summary file = {0}, rows = {0};
    CLEANUP(bundle_head_finish) struct bundle_head head = {0};
    char *folder = NULL, *database = NULL;
    struct verify_options with_shown = *options;
    bool taken = false, has_blobs = false;
    struct stat st;
    enum status status;

    if (!bundle_recognise(path))
        return error_set(err, STATUS_CORRUPT, "%s: is not a bundle of assay", path);
    status = make_folder(&folder, err);
    if (status == STATUS_OK) {
        database = text_format("%s/rows.db", folder);
        status = database ? take(path, database, options, &head, &taken, &has_blobs, &file, err)
                          : error_no_memory(err);
    }
    if (status == STATUS_OK && taken) {
        check_seal(options, &head, &file);
        with_shown.just_made = true;
        with_shown.shown = options->shown ? options->shown : json_object();
        if (options->threads == 0 && stat(path, &st) == 0 && st.st_size < SMALL_BYTES)
            with_shown.threads = 1;
        status = verify_file(database, &with_shown, &rows, err);
        if (status == STATUS_OK)
            check_words(&with_shown, &head, has_blobs, &file);
        if (!options->shown)
            json_decref(with_shown.shown);
    }
    remove_folder(folder);
    free(database);
    if (status == STATUS_OK) {
        rows.wrong += file.wrong;
        rows.unverified += file.unverified;
        rows.notes += file.notes;
        rows.bytes = stat(path, &st) == 0 ? st.st_size : 0;
        rows.rows = head.records;
        rows.leaves = head.size;
        rows.root = head.root;
        snprintf(rows.origin, sizeof(rows.origin), "%s", head.origin ? head.origin : "");
        rows.seconds = (double)(clock_monotonic_ns() - begin_ns) / 1e9;
        *ret = rows;
    }
    return status;
}
