/* What is installed of a worker or a stack: found, checked, and put there. */
#include <dirent.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/file.h"
#include "harness/core/cleanup.h"
#include "harness/core/text.h"
#include "harness/runner/named_worker.h"
#include "harness/runner/package_install.h"

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
    const char *base = strrchr(library, '/');
    const size_t folder_length = base ? (size_t)(base - library + 1) : 0;
    const char *name = library + folder_length;
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
    enum status status;

    worker->module = site ? text_format("%s/" WORKER_MODULE, site) : NULL;
    free(site);
    if (!worker->module || access(worker->module, F_OK) != 0)
        return not_installed(worker, "lacks the module " WORKER_MODULE, err);
    worker->shared = digest_bytes(text, length);
    status = named_worker_check_module(worker, err);
    return status == STATUS_INVALID
               ? not_installed(worker, "has another " WORKER_MODULE " than this assay", err)
               : status;
}

enum status named_worker_check_module(const struct named_worker *worker, struct error *err)
{
    struct digest now;

    if (!worker->module)
        return STATUS_OK;
    TRY(digest_file(worker->module, &now, NULL, err));
    if (!digest_equal(&now, &worker->shared))
        return error_set(err, STATUS_INVALID, "worker.packages: %s has changed since the plan",
                         worker->module);
    return STATUS_OK;
}

/* One that is compiled in was written when it was installed; else the file beside worker.yaml. */
static enum status find_program(struct named_worker *worker, struct error *err)
{
    const struct worker_values *values = worker->declared.values;
    const char *origin = worker->declared.origin, *slash = strrchr(origin, '/');
    char *path =
        worker->declared.built_in
            ? text_format("%s/%s", worker->folder, values->entry)
            : text_format("%.*s%s", slash ? (int)(slash - origin + 1) : 0, origin, values->entry);
    char *text = NULL;
    size_t length;
    struct digest declared, installed;
    enum status status = path ? STATUS_OK : error_no_memory(err);

    worker->program = path ? realpath(path, NULL) : NULL;
    free(path);
    if (status == STATUS_OK && !worker->program)
        status = not_installed(worker, "lacks its program", err);
    if (status == STATUS_OK && values->interpreter) {
        worker->python = text_format("%s/" PACKAGE_INSTALL_PYTHON, worker->folder);
        if (!worker->python)
            status = error_no_memory(err);
        else if (access(worker->python, X_OK) != 0)
            status = not_installed(worker, "lacks its environment of Python", err);
    }
    if (status == STATUS_OK && values->interpreter)
        status = find_module(worker, err);
    if (status == STATUS_OK)
        status = worker_declared_read(&worker->declared, values->entry, &text, &length, err);
    if (status == STATUS_OK)
        status = digest_file(worker->program, &installed, NULL, err);
    if (status == STATUS_OK) {
        declared = digest_bytes(text, length);
        if (!digest_equal(&declared, &installed))
            status = not_installed(worker, "has another program than this assay declares", err);
    }
    free(text);
    return status;
}

static enum status find_installed(struct named_worker *worker, struct error *err)
{
    const bool own = worker->declared.values->library != NULL;

    TRY(check_lock(worker, err));
    TRY(own ? find_library(worker, err) : find_program(worker, err));
    TRY(digest_file(own ? worker->library : worker->program, &worker->source, NULL, err));
    digest_hex(&worker->source, worker->source_text);
    return STATUS_OK;
}

enum status named_worker_find(const char *text, struct named_worker **ret, struct error *err)
{
    struct named_worker *worker = NULL;
    enum status status = named_worker_read(DECLARED_WORKER, text, &worker, err);

    if (status == STATUS_OK)
        status = find_installed(worker, err);
    if (status != STATUS_OK) {
        named_worker_destroy(worker);
        return status;
    }
    *ret = worker;
    return STATUS_OK;
}

enum status named_stack_find(const char *text, struct named_worker **ret, struct error *err)
{
    struct named_worker *stack = NULL;
    enum status status = named_worker_read(DECLARED_STACK, text, &stack, err);

    if (status == STATUS_OK)
        status = check_lock(stack, err);
    if (status != STATUS_OK) {
        named_worker_destroy(stack);
        return status;
    }
    *ret = stack;
    return STATUS_OK;
}

enum status named_stack_library(const struct named_worker *stack, const char *name, char **ret,
                                struct error *err)
{
    const struct worker_values *values = stack->declared.values;
    struct text names;
    enum status status;

    for (uint32_t i = 0; i < values->libraries_count; i++) {
        char *site, *path;

        if (strcmp(values->libraries[i].name, name) != 0)
            continue;
        site = find_site(stack);
        path = site ? find_below(site, values->libraries[i].path) : NULL;
        free(site);
        if (!path)
            return not_installed(stack, "lacks its library", err);
        *ret = path;
        return STATUS_OK;
    }
    text_init(&names);
    for (uint32_t i = 0; i < values->libraries_count; i++)
        text_append_format(&names, "%s%s", i ? ", " : "", values->libraries[i].name);
    status = error_set(err, STATUS_INVALID, "the stack %s has no library \"%s\"; it has %s",
                       values->name, name, names.length && text_ok(&names) ? names.data : "none");
    text_finish(&names);
    return status;
}

/* That the packages have each library that is declared. */
static enum status check_libraries(const struct named_worker *stack, struct error *err)
{
    const struct worker_values *values = stack->declared.values;
    enum status status = STATUS_OK;

    for (uint32_t i = 0; i < values->libraries_count && status == STATUS_OK; i++) {
        char *path = NULL;

        if (named_stack_library(stack, values->libraries[i].name, &path, NULL) != STATUS_OK)
            status = error_set(err, STATUS_CORRUPT, "%s@%s: its packages have no %s", values->name,
                               stack->version, values->libraries[i].path);
        free(path);
    }
    if (status != STATUS_OK)
        package_remove(stack->folder, NULL);
    return status;
}

/* Names the driver of a stack that was installed. */
static enum status write_icd(const struct named_worker *stack, struct error *err)
{
    char *icd = text_format("%s/" NAMED_WORKER_ICD, stack->folder), *line = NULL;
    char *path = text_format("%s/" PACKAGE_INSTALL_VENV "/%s", stack->folder,
                             stack->declared.values->library);
    char *whole = path ? realpath(path, NULL) : NULL;
    enum status status = icd && path ? STATUS_OK : error_no_memory(err);

    if (status == STATUS_OK && !whole)
        status = error_set(err, STATUS_CORRUPT, "%s@%s: its packages have no %s, the driver",
                           stack->declared.values->name, stack->version,
                           stack->declared.values->library);
    line = whole ? text_format("%s\n", whole) : NULL;
    if (status == STATUS_OK)
        status =
            line ? file_write_atomic(icd, line, strlen(line), 0666, err) : error_no_memory(err);
    if (status != STATUS_OK)
        package_remove(stack->folder, NULL);
    free(whole);
    free(path);
    free(line);
    free(icd);
    return status;
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
    TRY(named_worker_read_lock(worker, &lock, &lock_length, err));
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
    if (is_stack)
        TRY(values->library ? write_icd(worker, err) : check_libraries(worker, err));
    if (!is_stack && values->interpreter)
        TRY(write_module(worker, err));
    if (!is_stack && !values->library && worker->declared.built_in)
        TRY(worker_declared_read(&worker->declared, values->entry, &program, &length, err));
    if (program)
        TRY(file_write_atomic(path, program, length, 0777, err));
    return STATUS_OK;
}
