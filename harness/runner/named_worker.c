#include "harness/runner/named_worker.h"

#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "harness/runner/folder_state.h"
#include "harness/runner/package_install.h"
#include "results/store/foreign_worker.h"

void named_worker_destroy(struct named_worker *worker)
{
    if (!worker)
        return;
    worker_declared_finish(&worker->declared);
    free(worker->from);
    free(worker->version);
    free(worker->mode);
    free(worker->folder);
    free(worker->program);
    free(worker->python);
    free(worker->module);
    free(worker->library);
    json_decref(worker->packages);
    folder_state_destroy(worker->state);
    free(worker);
}

/* The folder of all that is installed so, heap: ASSAY_WORKERS, else by XDG_DATA_HOME or HOME. NULL:
   none is known. */
static char *named_worker_store(void)
{
    const char *asked = getenv("ASSAY_WORKERS"), *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");

    if (asked && *asked)
        return strdup(asked);
    if (data && *data == '/')
        return text_format("%s/assay/workers", data);
    return home && *home ? text_format("%s/.local/share/assay/workers", home) : NULL;
}

/* ---- what a person writes ---- */

static void append_names(struct text *text, char *const *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        text_append_format(text, "%s%s", i ? ", " : "", names[i]);
}

static enum status has_not(const struct named_worker *worker, const char *what, const char *asked,
                           char *const *names, uint32_t count, struct error *err)
{
    CLEANUP(text_finish) struct text text;

    text_init(&text);
    append_names(&text, names, count);
    return error_set(err, STATUS_INVALID, "the %s %s has no %s \"%s\"; it has %s",
                     declared_form_name(worker->declared.form), worker->declared.values->name, what,
                     asked, count && text_ok(&text) ? text.data : "none");
}

/* "mode=compile" or "threads=1" */
static enum status take_setting(struct named_worker *worker, const char *setting, struct error *err)
{
    const struct worker_values *values = worker->declared.values;

    if (worker->declared.form == DECLARED_STACK)
        return error_set(err, STATUS_INVALID, "\"%s\": a stack takes no settings", setting);
    if (!strncmp(setting, "mode=", 5)) {
        if (!worker_declared_has(values->modes, values->modes_count, setting + 5))
            return has_not(worker, "mode", setting + 5, values->modes, values->modes_count, err);
        free(worker->mode);
        worker->mode = strdup(setting + 5);
        return worker->mode ? STATUS_OK : error_no_memory(err);
    }
    if (!strncmp(setting, "threads=", 8) && text_parse_i64(setting + 8, &worker->threads) &&
        worker->threads >= 1 && worker->threads <= 65536)
        return STATUS_OK;
    return error_set(
        err, STATUS_INVALID,
        "\"%s\": a worker takes mode=NAME and threads=N (1 to 65536); another setting of "
        "an arm is written by itself, as in --a worker=%s --a implementation=vendor",
        setting, worker->from);
}

/* The version, of which the first parts suffice where one alone begins so: 1.24 for 1.24.4. */
static enum status take_version(struct named_worker *worker, const char *asked, struct error *err)
{
    const struct worker_values *values = worker->declared.values;
    const size_t length = asked ? strlen(asked) : 0;
    const char *found = asked ? NULL : values->versions[0];

    for (uint32_t i = 0; i < values->versions_count && asked; i++) {
        const char *version = values->versions[i];

        if (!strcmp(version, asked) ||
            (!strncmp(version, asked, length) && version[length] == '.' && !found))
            found = version;
        if (!strcmp(version, asked))
            break;
    }
    if (!found)
        return has_not(worker, "version", asked, values->versions, values->versions_count, err);
    worker->version = strdup(found);
    return worker->version ? STATUS_OK : error_no_memory(err);
}

/* Packages and hashes of the lock, as a list. */
static json_t *packages_of(const char *lock)
{
    json_t *packages = json_array();

    while (*lock) {
        const size_t length = strcspn(lock, " \t\n");

        if (*lock == '#')
            lock += strcspn(lock, "\n");
        else if (length == 0)
            lock++;
        else {
            const size_t lead = strncmp(lock, "--hash=", 7) ? 0 : 7;

            if (*lock != '\\')
                json_array_append_new(packages, json_stringn(lock + lead, length - lead));
            lock += length;
        }
    }
    return packages;
}

/* The lock file of its version, heap. NOT_FOUND. */
static enum status read_lock(const struct named_worker *worker, char **ret, size_t *ret_length,
                             struct error *err)
{
    AUTO_FREE char *name = text_format("%s.lock", worker->version);

    return name ? worker_declared_read(&worker->declared, name, ret, ret_length, err)
                : error_no_memory(err);
}

static enum status complete(struct named_worker *worker, struct error *err)
{
    const struct worker_values *values = worker->declared.values;
    AUTO_FREE char *store = named_worker_store(), *lock = NULL;
    size_t length = 0;

    if (!store)
        return error_set(err, STATUS_UNAVAILABLE,
                         "no place for workers is known: set HOME, XDG_DATA_HOME or ASSAY_WORKERS");
    worker->folder = text_format("%s/%s@%s", store, values->name, worker->version);
    if (!worker->mode && values->modes_count > 0)
        worker->mode = strdup(values->modes[0]);
    if (!worker->folder || (values->modes_count > 0 && !worker->mode))
        return error_no_memory(err);
    TRY(read_lock(worker, &lock, &length, err));
    worker->lock = digest_bytes(lock, length);
    worker->packages = packages_of(lock);
    return worker->packages ? STATUS_OK : error_no_memory(err);
}

static enum status hand_over(struct named_worker **worker, struct named_worker **ret)
{
    *ret = *worker;
    *worker = NULL;
    return STATUS_OK;
}

enum status named_worker_read(enum declared_form form, const char *text, struct named_worker **ret,
                              struct error *err)
{
    CLEANUP(named_worker_cleanup) struct named_worker *worker = calloc(1, sizeof(*worker));
    AUTO_FREE char *words = strdup(text);
    char *settings = words ? strchr(words, ',') : NULL, *slash, *at, *next;

    if (!worker || !words)
        return error_no_memory(err);
    if (settings)
        *settings++ = '\0';
    slash = strrchr(words, '/');
    at = strchr(slash ? slash : words, '@');
    if (at)
        *at++ = '\0';
    worker->from = strdup(words);
    TRY(worker->from ? worker_declared_find(form, words, &worker->declared, err)
                     : error_no_memory(err));
    worker->threads = worker->declared.values->threads;
    TRY(take_version(worker, at, err));
    for (; settings; settings = next) {
        next = strchr(settings, ',');
        if (next)
            *next++ = '\0';
        TRY(take_setting(worker, settings, err));
    }
    TRY(complete(worker, err));
    return hand_over(&worker, ret);
}

/* ---- what is installed of it: found, checked, and put there ---- */

static enum status not_installed(const struct named_worker *worker, const char *why,
                                 struct error *err)
{
    const char *form = declared_form_name(worker->declared.form);

    return error_set(
        err, STATUS_UNAVAILABLE, "the %s %s@%s %s; `assay %s install %s@%s` installs it", form,
        worker->declared.values->name, worker->version, why, form, worker->from, worker->version);
}

static enum status check_lock(const struct named_worker *worker, struct error *err)
{
    AUTO_FREE char *path = text_format("%s/lock.txt", worker->folder);
    struct digest digest;

    if (!path)
        return error_no_memory(err);
    if (access(path, F_OK) != 0)
        TRY(not_installed(worker, "is not installed", err));
    TRY(digest_file(path, &digest, NULL, err));
    if (!digest_equal(&digest, &worker->lock))
        TRY(not_installed(worker, "is installed from another lock file", err));
    return STATUS_OK;
}

/* The file of that name below `site`, or the one whose name goes on after it (.so.1.32.0); heap,
 * NULL: there is none. */
static char *find_below(const char *site, const char *library)
{
    const char *name = file_base_name(library);
    const size_t folder_length = (size_t)(name - library);
    char *folder = text_format("%s/%.*s", site, (int)folder_length, library), *found = NULL;
    DIR *directory = folder ? opendir(folder) : NULL;
    struct dirent *entry;

    while (directory && !found && (entry = readdir(directory)))
        if (!strncmp(entry->d_name, name, strlen(name)) &&
            (!entry->d_name[strlen(name)] || entry->d_name[strlen(name)] == '.'))
            found = text_format("%s%s", folder, entry->d_name);
    if (directory)
        closedir(directory);
    free(folder);
    return found;
}

static enum status find_library(struct named_worker *worker, struct error *err)
{
    char *site = text_format("%s/" PACKAGE_INSTALL_SITE, worker->folder);

    worker->library = site ? find_below(site, worker->declared.values->library) : NULL;
    free(site);
    return worker->library ? STATUS_OK : not_installed(worker, "lacks its library", err);
}

/* site-packages of its environment, whose folder names Python's version; heap, NULL: there is none.
 */
static char *find_site(const struct named_worker *worker)
{
    char *pattern =
        text_format("%s/" PACKAGE_INSTALL_VENV "/lib/python3*/site-packages", worker->folder);
    glob_t found = {0};
    char *site = NULL;

    if (pattern && glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1)
        site = strdup(found.gl_pathv[0]);
    globfree(&found);
    free(pattern);
    return site;
}

/* The module that it was installed with is the one of this assay. */
static enum status find_module(struct named_worker *worker, struct error *err)
{
    char *site = find_site(worker);
    size_t length;
    const char *text = worker_declared_module(&length);
    struct digest now;

    worker->module = site ? text_format("%s/" WORKER_MODULE, site) : NULL;
    free(site);
    if (!worker->module || access(worker->module, F_OK) != 0)
        return not_installed(worker, "lacks the module " WORKER_MODULE, err);
    worker->shared = digest_bytes(text, length);
    TRY(digest_file(worker->module, &now, NULL, err));
    return digest_equal(&now, &worker->shared)
               ? STATUS_OK
               : not_installed(worker, "has another " WORKER_MODULE " than this assay", err);
}

enum status named_worker_check_files(const struct named_worker *worker, struct error *err)
{
    const enum status status = worker->state ? folder_state_check(worker->state, err) : STATUS_OK;

    return status == STATUS_OK ? status : error_prefix(err, "worker.packages");
}

/* One that is compiled in was written when it was installed; else the file beside worker.yaml. */
static enum status find_program(struct named_worker *worker, struct error *err)
{
    const struct worker_values *values = worker->declared.values;
    AUTO_FREE char *path = worker->declared.built_in
                               ? text_format("%s/%s", worker->folder, values->entry)
                               : file_beside(worker->declared.origin, values->entry);
    AUTO_FREE char *text = NULL;
    size_t length;
    struct digest declared, installed;

    if (!path)
        return error_no_memory(err);
    worker->program = realpath(path, NULL);
    if (!worker->program)
        return not_installed(worker, "lacks its program", err);
    if (values->interpreter) {
        worker->python = text_format("%s/" PACKAGE_INSTALL_PYTHON, worker->folder);
        if (!worker->python)
            return error_no_memory(err);
        if (access(worker->python, X_OK) != 0)
            return not_installed(worker, "lacks its environment of Python", err);
        TRY(find_module(worker, err));
    }
    TRY(worker_declared_read(&worker->declared, values->entry, &text, &length, err));
    TRY(digest_file(worker->program, &installed, NULL, err));
    declared = digest_bytes(text, length);
    return digest_equal(&declared, &installed)
               ? STATUS_OK
               : not_installed(worker, "has another program than this assay declares", err);
}

static enum status find_installed(struct named_worker *worker, struct error *err)
{
    const bool own = worker->declared.values->library != NULL;

    TRY(check_lock(worker, err));
    TRY(own ? find_library(worker, err) : find_program(worker, err));
    TRY(digest_file(own ? worker->library : worker->program, &worker->source, NULL, err));
    digest_hex(&worker->source, worker->source_text);
    return folder_state_read(worker->folder, &worker->state, &worker->files, err);
}

enum status named_worker_find(const char *text, struct named_worker **ret, struct error *err)
{
    CLEANUP(named_worker_cleanup) struct named_worker *worker = NULL;

    TRY(named_worker_read(DECLARED_WORKER, text, &worker, err));
    TRY(find_installed(worker, err));
    return hand_over(&worker, ret);
}

enum status named_stack_find(const char *text, struct named_worker **ret, struct error *err)
{
    CLEANUP(named_worker_cleanup) struct named_worker *stack = NULL;

    TRY(named_worker_read(DECLARED_STACK, text, &stack, err));
    TRY(check_lock(stack, err));
    return hand_over(&stack, ret);
}

enum status named_stack_library(const struct named_worker *stack, const char *name, char **ret,
                                struct error *err)
{
    const struct worker_values *values = stack->declared.values;
    CLEANUP(text_finish) struct text names = TEXT_INIT;

    for (uint32_t i = 0; i < values->libraries_count; i++) {
        AUTO_FREE char *site = NULL;
        char *path;

        if (strcmp(values->libraries[i].name, name) != 0)
            continue;
        site = find_site(stack);
        path = site ? find_below(site, values->libraries[i].path) : NULL;
        if (!path)
            return not_installed(stack, "lacks its library", err);
        *ret = path;
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < values->libraries_count; i++)
        text_append_format(&names, "%s%s", i ? ", " : "", values->libraries[i].name);
    return error_set(err, STATUS_INVALID, "the stack %s has no library \"%s\"; it has %s",
                     values->name, name, names.length && text_ok(&names) ? names.data : "none");
}

/* That the packages have each library that is declared. */
static enum status check_libraries(const struct named_worker *stack, struct error *err)
{
    const struct worker_values *values = stack->declared.values;

    for (uint32_t i = 0; i < values->libraries_count; i++) {
        AUTO_FREE char *path = NULL;

        if (named_stack_library(stack, values->libraries[i].name, &path, NULL) != STATUS_OK)
            return error_set(err, STATUS_CORRUPT, "%s@%s: its packages have no %s", values->name,
                             stack->version, values->libraries[i].path);
    }
    return STATUS_OK;
}

/* Names the driver of a stack that was installed. */
static enum status write_icd(const struct named_worker *stack, struct error *err)
{
    AUTO_FREE char *icd = text_format("%s/" NAMED_WORKER_ICD, stack->folder);
    AUTO_FREE char *path = text_format("%s/" PACKAGE_INSTALL_VENV "/%s", stack->folder,
                                       stack->declared.values->library);
    AUTO_FREE char *whole = path ? realpath(path, NULL) : NULL;
    AUTO_FREE char *line = whole ? text_format("%s\n", whole) : NULL;

    if (icd && path && !whole)
        return error_set(err, STATUS_CORRUPT, "%s@%s: its packages have no %s, the driver",
                         stack->declared.values->name, stack->version,
                         stack->declared.values->library);
    return icd && line ? file_write_atomic(icd, line, strlen(line), 0666, err)
                       : error_no_memory(err);
}

/* The module that programs in Python share. */
static enum status write_module(const struct named_worker *worker, struct error *err)
{
    AUTO_FREE char *site = find_site(worker);
    AUTO_FREE char *path = site ? text_format("%s/" WORKER_MODULE, site) : NULL;
    size_t length;
    const char *text = worker_declared_module(&length);

    return path ? file_write_atomic(path, text, length, 0666, err)
                : not_installed(worker, "lacks its environment of Python", err);
}

bool named_worker_is_installed(const struct named_worker *worker)
{
    return check_lock(worker, NULL) == STATUS_OK;
}

enum status named_worker_install(const struct named_worker *worker, const char *find_links,
                                 bool quiet, int wake_fd, struct error *err)
{
    const struct worker_values *values = worker->declared.values;
    AUTO_FREE char *name = text_format("%s@%s", values->name, worker->version), *lock = NULL;
    AUTO_FREE char *path = text_format("%s/%s", worker->folder, values->entry ? values->entry : "");
    AUTO_FREE char *program = NULL;
    const bool is_stack = worker->declared.form == DECLARED_STACK;
    size_t lock_length, length;

    if (!(name && path))
        return error_no_memory(err);
    TRY(read_lock(worker, &lock, &lock_length, err));
    {
        const struct package_install install = {
            .name = name,
            .lock = lock,
            .lock_length = lock_length,
            .interpreter = is_stack ? "python3" : values->interpreter,
            .find_links = find_links,
            .may_be_empty = !is_stack && !values->library && !values->interpreter,
            .quiet = quiet,
            .wake_fd = wake_fd};

        TRY(package_install(&install, worker->folder, err));
    }
    if (is_stack) {
        const enum status status =
            values->library ? write_icd(worker, err) : check_libraries(worker, err);

        if (status != STATUS_OK)
            package_remove(worker->folder, NULL);
        TRY(status);
    }
    if (!is_stack && values->interpreter)
        TRY(write_module(worker, err));
    if (!is_stack && !values->library && worker->declared.built_in)
        TRY(worker_declared_read(&worker->declared, values->entry, &program, &length, err));
    if (program)
        TRY(file_write_atomic(path, program, length, 0777, err));
    return STATUS_OK;
}

/* ---- what a plan and a record say of it ---- */

bool named_worker_runs(const struct named_worker *worker, const char *kind,
                       enum precision precision, const char *backend)
{
    const struct worker_runs *runs = worker_declared_runs(&worker->declared, kind);
    bool known = false;

    for (uint32_t i = 0; runs && i < runs->precisions_count; i++)
        known |= runs->precisions[i] == precision;
    return known && worker_declared_has(runs->devices, runs->devices_count, backend);
}

/* ---- in a plan, in a trial ---- */

json_t *named_worker_json(const struct named_worker *worker)
{
    char declaration[DIGEST_HEX_SIZE], lock[DIGEST_HEX_SIZE], module[DIGEST_HEX_SIZE],
        files[DIGEST_HEX_SIZE];

    return json_pack(
        "{s:s, s:s, s:s, s:s*, s:I, s:s, s:s, s:s*, s:s*, s:s*, s:s*, s:O}", "from", worker->from,
        "name", worker->declared.values->name, "version", worker->version, "mode", worker->mode,
        "threads", (json_int_t)worker->threads, "declaration",
        digest_hex(&worker->declared.digest, declaration), "lock", digest_hex(&worker->lock, lock),
        "library", worker->library ? worker->source_text : NULL, "program",
        worker->program ? worker->source_text : NULL, "module",
        worker->module ? digest_hex(&worker->shared, module) : NULL, "files",
        worker->state ? digest_hex(&worker->files, files) : NULL, "packages", worker->packages);
}

enum status named_worker_from_json(const json_t *json, struct named_worker **ret, struct error *err)
{
    const char *from = member_string(json, "from");
    const char *version = member_string(json, "version");
    const char *mode = member_string(json, "mode");
    const json_int_t threads = member_integer(json, "threads");
    CLEANUP(named_worker_cleanup) struct named_worker *worker = NULL;
    AUTO_FREE char *text = NULL;
    json_auto_t *now = NULL;
    char number[32] = "";

    if (!from || !version)
        return error_set(err, STATUS_CORRUPT, "the plan's worker has no name and version");
    if (threads > 0)
        snprintf(number, sizeof(number), ",threads=%lld", (long long)threads);
    text =
        text_format("%s@%s%s%s%s", from, version, mode ? ",mode=" : "", mode ? mode : "", number);
    TRY(text ? named_worker_find(text, &worker, err) : error_no_memory(err));
    now = named_worker_json(worker);
    if (!now)
        return error_no_memory(err);
    if (!json_object_get(json, "files")) /* of plans before it was there */
        json_object_del(now, "files");
    if (!json_equal(json, now))
        return error_set(err, STATUS_INVALID,
                         "the worker %s@%s is another than the plan names (its declaration, lock "
                         "file, library, program or another file has changed): measure again",
                         from, version);
    return hand_over(&worker, ret);
}

/*
 * ONNX Runtime's wheel of 1.32 (not yet that of 1.24) writes a device's id and a queue of events
 * below ~/.cache and sends it from a thread of its own, unless the first says 1. The second is what
 * several frameworks have agreed on; Hugging Face's hub asks its server for newer files unless it
 * is told not to.
 */
const char *const named_worker_quiet[] = {"ORT_DISABLE_TELEMETRY=1", "DO_NOT_TRACK=1",
                                          "HF_HUB_OFFLINE=1", NULL};

static void add_quiet(struct reading_list *list)
{
    struct text text;

    text_init(&text);
    for (size_t i = 0; named_worker_quiet[i]; i++)
        text_append_format(&text, "%s%s", i > 0 ? " " : "", named_worker_quiet[i]);
    if (text_ok(&text))
        reading_add_text(list, "worker.quiet", text.data, "environment where it has none of them");
    else
        list->failed = true;
    text_finish(&text);
}

void named_worker_add_readings(const struct named_worker *worker, struct reading_list *list)
{
    static const char how[] = "worker.yaml";
    char hex[DIGEST_HEX_SIZE];

    reading_add_text(list, "worker.name", worker->declared.values->name, how);
    reading_add_text(list, "worker.version", worker->version, how);
    if (worker->mode)
        reading_add_text(list, "worker.mode", worker->mode, how);
    reading_add_text(list, "worker.declaration", digest_hex(&worker->declared.digest, hex),
                     "SHA-256 of worker.yaml");
    reading_add_text(list, "worker.lock", digest_hex(&worker->lock, hex),
                     "SHA-256 of the lock file");
    reading_add_text(list, "worker.source", digest_hex(&worker->source, hex),
                     worker->program ? "SHA-256 of the program" : "SHA-256 of the library");
    if (worker->state)
        reading_add_text(list, "worker.files", digest_hex(&worker->files, hex),
                         "SHA-256 of its folder's files");
    add_quiet(list);
    if (worker->program) /* what it says of itself is not assay's own word */
        reading_add_text(list, FOREIGN_WORKER_READING, worker->program, how);
}

json_t *named_worker_message(const struct named_worker *worker)
{
    const struct worker_values *values = worker->declared.values;

    if (!worker->library)
        return NULL;
    return json_pack("{s:s, s:s, s:s*, s:I, s:o*}", "interface", values->interface, "library",
                     worker->library, "mode", worker->mode, "threads", (json_int_t)worker->threads,
                     "simulated", values->simulated ? json_true() : NULL);
}
