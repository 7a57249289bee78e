#define _XOPEN_SOURCE 700 /* nftw */
#include "harness/runner/package_install.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/file.h"
#include "harness/core/process.h"
#include "harness/core/text.h"
#include "harness/core/child_output.h"
#include "harness/runner/progress.h"

#define TICK_NS ((int64_t)200000000)
#define STOP_GRACE_NS ((int64_t)2000000000)
#define OPEN_FOLDERS 16

/* Of plain files. */
#define PYTHON_VERSION "3.11"
#define PYTHON_ABI "cp311"

/* ---- folders ---- */

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

enum status package_remove(const char *folder, struct error *err)
{
    if (nftw(folder, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS) == 0)
        return STATUS_OK;
    return error_set_errno(err, errno, "removing %s", folder);
}

static uint64_t counted; /* nftw has no context */

static int count_entry(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)path;
    (void)at;
    if (type == FTW_F)
        counted += (uint64_t)info->st_size;
    return 0;
}

uint64_t package_installed_bytes(const char *folder)
{
    counted = 0;
    nftw(folder, count_entry, OPEN_FOLDERS, FTW_PHYS);
    return counted;
}

/* ---- the lock ---- */

static bool is_digit_of_hash(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_hash(const char *word, size_t length)
{
    static const char lead[] = "--hash=sha256:";

    if (length != strlen(lead) + 64 || strncmp(word, lead, strlen(lead)) != 0)
        return false;
    for (size_t i = strlen(lead); i < length; i++)
        if (!is_digit_of_hash(word[i]))
            return false;
    return true;
}

static bool is_package(const char *word, size_t length)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+!";
    const char *equals = memchr(word, '=', length);
    const size_t name = equals ? (size_t)(equals - word) : 0;

    return name > 0 && length > name + 2 && equals[1] == '=' && word[0] != '-' &&
           strspn(word, letters) == name && strspn(equals + 2, letters) >= length - name - 2;
}

/* How many packages it names, each with a hash. */
static enum status check_lock(const struct package_install *install, size_t *ret, struct error *err)
{
    const char *text = install->lock, *end = text + install->lock_length;
    size_t packages = 0, hashes = 1; /* of the latest package */
    int line = 1;

    while (text < end) {
        size_t length = strcspn(text, " \t\n");

        if (*text == '\n') {
            line++;
            text++;
        } else if (*text == ' ' || *text == '\t') {
            text++;
        } else if (*text == '#') {
            text += strcspn(text, "\n");
        } else if (is_hash(text, length) && packages > 0) {
            hashes++;
            text += length;
        } else if (is_package(text, length) && hashes > 0) {
            packages++;
            hashes = 0;
            text += length;
        } else if (length == 1 && *text == '\\') {
            text++;
        } else {
            return error_set(err, STATUS_INVALID,
                             "%s: line %d of its lock file: \"%.*s\": write NAME==VERSION, then "
                             "--hash=sha256:HASH for it, and nothing else",
                             install->name, line, (int)length, text);
        }
    }
    if ((packages == 0 && !install->may_be_empty) || hashes == 0)
        return error_set(err, STATUS_INVALID, "%s: its lock file %s", install->name,
                         packages ? "has no hash for its last package" : "names no package");
    *ret = packages;
    return STATUS_OK;
}

/* ---- programs ---- */

struct job {
    const struct package_install *install;
    struct progress progress;
    char *stage; /* becomes the folder */
};

static void show(struct job *job, const char *what)
{
    char bytes[TEXT_HUMAN_SIZE], label[sizeof(job->progress.label)];

    snprintf(label, sizeof(label), "%s: %s, %s", job->install->name, what,
             text_human_bytes((double)package_installed_bytes(job->stage), bytes));
    progress_set(&job->progress, label);
}

/* Says what pip said; a wrong hash is told apart, since it is no matter of network or versions. */
static enum status explain(const struct job *job, const char *what, int words, struct error *err)
{
    CLEANUP(text_finish) struct text text;
    bool changed;

    text_init(&text);
    child_output_append(words, &text);
    changed = text_ok(&text) && strstr(text.data, "DO NOT MATCH THE HASHES");
    return error_set(err, changed ? STATUS_CORRUPT : STATUS_UNAVAILABLE, "%s: %s failed%s%s",
                     job->install->name, what,
                     changed ? ": a wheel is not the one that the lock file names" : "",
                     text_ok(&text) ? text.data : "");
}

/* Runs one program to its end; `what` is shown. */
static enum status run(struct job *job, const char *what, char *const *argv, struct error *err)
{
    AUTO_FREE char *temporary = text_format("TMPDIR=%s", job->stage);
    const char *const settings[] = {"PIP_DISABLE_PIP_VERSION_CHECK=1",
                                    "PIP_NO_INPUT=1",
                                    "PIP_ROOT_USER_ACTION=ignore",
                                    "PYTHONNOUSERSITE=1",
                                    "LC_ALL=C.UTF-8",
                                    temporary,
                                    NULL};
    const int words = child_output_open("assay-pip");
    const struct process_fd fds[] = {{words, STDOUT_FILENO}, {words, STDERR_FILENO}};
    const struct process_options options = {
        .argv = argv, .settings = settings, .fds = fds, .fd_count = 2};
    struct process_exit end = {0};
    struct process process;
    enum status status;

    if (words < 0)
        return error_set_errno(err, errno, "memory for the output of %s", argv[0]);
    status = temporary ? process_spawn(&options, &process, err) : error_no_memory(err);
    if (status == STATUS_OK) {
        do {
            show(job, what);
            child_output_forget(words);
            status = process_wait(&process, clock_monotonic_ns() + TICK_NS, &end, err);
        } while (status == STATUS_TIMEOUT && !file_wait_readable(job->install->wake_fd, 0));
        if (status == STATUS_TIMEOUT) {
            process_stop(&process, STOP_GRACE_NS, &end);
            status = error_set(err, STATUS_INTERRUPTED, "%s: interrupted; nothing was installed",
                               job->install->name);
        } else if (status == STATUS_OK && !(end.exited && end.code == 0)) {
            status = explain(job, what, words, err);
        }
    }
    close(words);
    return status;
}

static bool has_pip(void)
{
    char *argv[] = {(char *)"python3", (char *)"-c", (char *)"import pip", NULL};
    struct process_exit end;
    char *output = NULL;
    const bool ok =
        process_capture(argv, (int64_t)30 * 1000000000, 4096, &output, &end, NULL) == STATUS_OK &&
        end.exited && end.code == 0;

    free(output);
    return ok;
}

/* An environment of `python` at `path`. */
static enum status make_environment(struct job *job, const char *python, const char *path,
                                    struct error *err)
{
    const char *const words[] = {python, "-m", "venv", path, NULL};
    char *const *argv = (char *const *)words;
    char found[PATH_MAX];
    enum status status;

    if (!file_find_program(python, found))
        return error_set(err, STATUS_UNAVAILABLE,
                         "%s: there is no %s here, whose pip installs wheels: apt install "
                         "python3-venv",
                         job->install->name, python);
    status = run(job, "making an environment of Python", argv, err);
    if (status == STATUS_UNAVAILABLE)
        error_prefix(err, "where venv is missing, install python3-venv");
    return status;
}

/* pip with what is the same for all; `more` are options of this call, NULL-terminated. */
static enum status run_pip(struct job *job, const char *python, const char *lock,
                           const char *const *more, struct error *err)
{
    enum { OWN = 16, MORE = 32 };
    const struct package_install *install = job->install;
    const char *argv[OWN + MORE] = {python,
                                    "-m",
                                    "pip",
                                    "install",
                                    "--require-hashes",
                                    "--only-binary",
                                    ":all:",
                                    "--no-deps",
                                    "--no-compile",
                                    "--progress-bar",
                                    "off"};
    size_t count = 11;

    if (install->find_links) {
        argv[count++] = "--no-index";
        argv[count++] = "--find-links";
        argv[count++] = install->find_links;
    }
    for (size_t i = 0; more[i] && i < MORE - 3; i++)
        argv[count++] = more[i];
    argv[count++] = "-r";
    argv[count++] = lock;
    return run(job, install->find_links ? "installing" : "downloading and installing",
               (char *const *)argv, err);
}

/* Plain files of wheels for one Python, whichever is here. */
static enum status install_plain(struct job *job, const char *lock, struct error *err)
{
    struct utsname system = {0};
    const char *const machine = uname(&system) == 0 ? system.machine : "x86_64";
    AUTO_FREE char *site = text_format("%s/" PACKAGE_INSTALL_SITE, job->stage);
    AUTO_FREE char *tools = text_format("%s/tools", job->stage);
    AUTO_FREE char *python = text_format("%s/tools/bin/python3", job->stage);
    AUTO_FREE char *newest = text_format("manylinux_2_28_%s", machine);
    AUTO_FREE char *newer = text_format("manylinux_2_27_%s", machine);
    AUTO_FREE char *older = text_format("manylinux_2_17_%s", machine);
    AUTO_FREE char *oldest = text_format("manylinux2014_%s", machine);
    const char *const more[] = {
        "--target",         site,  "--python-version", PYTHON_VERSION, "--abi",      PYTHON_ABI,
        "--implementation", "cp",  "--platform",       newest,         "--platform", newer,
        "--platform",       older, "--platform",       oldest,         NULL};
    const bool own = !has_pip();

    if (!site || !tools || !python || !newest || !newer || !older || !oldest)
        return error_no_memory(err);
    if (own)
        TRY(make_environment(job, "python3", tools, err));
    TRY(run_pip(job, own ? python : "python3", lock, more, err));
    return own ? package_remove(tools, err) : STATUS_OK;
}

static enum status install_environment(struct job *job, const char *lock, struct error *err)
{
    static const char *const more[] = {NULL};
    AUTO_FREE char *path = text_format("%s/venv", job->stage);
    AUTO_FREE char *python = text_format("%s/" PACKAGE_INSTALL_PYTHON, job->stage);

    TRY(path && python ? make_environment(job, job->install->interpreter, path, err)
                       : error_no_memory(err));
    return run_pip(job, python, lock, more, err);
}

/* The stage takes the folder's place. */
static enum status put_in_place(const struct job *job, const char *folder, struct error *err)
{
    AUTO_FREE char *old = text_format("%s.old", job->stage);

    if (!old)
        return error_no_memory(err);
    if (rename(folder, old) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "replacing %s", folder);
    if (rename(job->stage, folder) < 0) {
        const enum status status = error_set_errno(err, errno, "naming %s", folder);

        if (rename(old, folder) < 0 && errno != ENOENT)
            error_prefix(err, "%s", old);
        return status;
    }
    return access(old, F_OK) == 0 ? package_remove(old, err) : STATUS_OK;
}

enum status package_install(const struct package_install *install, const char *folder,
                            struct error *err)
{
    struct job job = {.install = install};
    size_t packages = 0;
    AUTO_FREE char *stage = text_format("%s.part-%d", folder, (int)getpid());
    AUTO_FREE char *lock = stage ? text_format("%s/lock.txt", stage) : NULL;
    enum status status;

    TRY(check_lock(install, &packages, err));
    if (!lock)
        return error_no_memory(err);
    job.stage = stage;
    progress_init(&job.progress, 1, install->quiet);
    status = file_make_directories(job.stage, 0777, err);
    if (status == STATUS_OK)
        status = file_write_atomic(lock, install->lock, install->lock_length, 0666, err);
    if (status == STATUS_OK && packages > 0)
        status = install->interpreter ? install_environment(&job, lock, err)
                                      : install_plain(&job, lock, err);
    if (status == STATUS_OK)
        status = put_in_place(&job, folder, err);
    progress_finish(&job.progress);
    if (status != STATUS_OK)
        package_remove(job.stage, NULL);
    return status;
}
