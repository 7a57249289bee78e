#include "backends/cpu/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/elf.h"
#include "harness/core/file.h"
#include "harness/core/process.h"
#include "harness/core/text.h"

#define SECOND INT64_C(1000000000)
#define ANSWER_TIMEOUT_NS (20 * SECOND)
#define COMPILE_TIMEOUT_NS (120 * SECOND)
#define GRACE_NS (SECOND / 5)
#define LOG_MAX ((size_t)1 << 20)
#define WORDS_MAX 8
#define ENVIRONMENT_MAX 7                   /* with the end */
#define SPECS_FILE "-print-file-name=specs" /* which gcc reads in place of its own, where it is */
#define TEXT_MAX ((size_t)64 << 20)

/*
 * Nothing here may change what an expression means: no -ffast-math or part of it that reorders,
 * contracts or forgets NaN. -fno-math-errno and -fno-trapping-math only give up errno and exception
 * flags, which no kernel can see, and without them sqrt and selects do not vectorize. A copy loop
 * is kept: as a memcpy of the C library it would be slow for short rows. -nostdlib: a kernel calls
 * nothing.
 */
static const char *const options[] = {
    "-std=gnu17",
    "-O3",
    "-march=native",
    "-fPIC",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    NULL, /* a copy loop stays one: option_at */
    "-fno-stack-protector",
    "-fno-semantic-interposition",
    "-fno-asynchronous-unwind-tables",
    "-Werror=implicit-function-declaration",
    "-Werror=implicit-int",
    "-Werror=int-conversion",
    "-Werror=incompatible-pointer-types",
};

#define OPTION_COUNT (sizeof(options) / sizeof(options[0]))

static bool is_clang(const struct cpu_compiler *compiler)
{
    return strstr(compiler->version, "clang") != NULL;
}

/* Clang refuses gcc's option for it, and does not call functions that are disabled as builtins. */
static const char *option_at(size_t index, bool clang)
{
    if (options[index] != NULL)
        return options[index];
    return clang ? "-fno-builtin" : "-fno-tree-loop-distribute-patterns";
}

const char *cpu_compiler_options(const struct cpu_compiler *compiler)
{
    static char lines[2][1024];
    const bool clang = is_clang(compiler);
    char *line = lines[clang];

    if (line[0] == '\0')
        for (size_t i = 0; i < OPTION_COUNT; i++) {
            strncat(line, i > 0 ? " " : "", sizeof(lines[0]) - strlen(line) - 1);
            strncat(line, option_at(i, clang), sizeof(lines[0]) - strlen(line) - 1);
        }
    return line;
}

static int64_t compile_timeout_ns(void)
{
    const char *text = getenv("ASSAY_CC_TIMEOUT");
    int64_t timeout_ns = COMPILE_TIMEOUT_NS;

    if (text != NULL)
        text_parse_duration_ns(text, &timeout_ns);
    return timeout_ns;
}

/* Variables that it is given; the rest of the array is NULL. */
static void take_environment(char *ret[ENVIRONMENT_MAX])
{
    static const char *const kept[] = {"PATH", "HOME", "LD_LIBRARY_PATH", "TMPDIR", "TMP", "TEMP"};
    size_t count = 0;

    _Static_assert(sizeof(kept) / sizeof(kept[0]) < ENVIRONMENT_MAX, "and the end");
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        for (char **at = environ; *at; at++)
            if (strncmp(*at, kept[i], strlen(kept[i])) == 0 && (*at)[strlen(kept[i])] == '=')
                ret[count++] = *at;
    ret[count] = NULL;
}

/* What a program writes in the compilers' environment, `most` bytes at most, heap. */
static enum status answer_of(char *const *argv, size_t most, char **ret, struct process_exit *exit,
                             struct error *err)
{
    char *environment[ENVIRONMENT_MAX];
    const struct process_call call = {.argv = argv,
                                      .envp = environment,
                                      .settings = process_plain,
                                      .error_fd = -1,
                                      .wake_fd = -1,
                                      .timeout_ns = ANSWER_TIMEOUT_NS,
                                      .max_output = most};

    take_environment(environment);
    return process_call(&call, ret, NULL, exit, err);
}

/* One question to a compiler; its first line, printable, heap. */
static enum status ask(const char *command, const char *question, char **ret, struct error *err)
{
    char *argv[] = {(char *)command, (char *)question, NULL};
    struct process_exit exit = {0};
    AUTO_FREE char *output = NULL;
    struct text line;

    TRY(answer_of(argv, 4096, &output, &exit, err));
    if (!exit.exited || exit.code != 0)
        return error_set(err, STATUS_UNAVAILABLE, "%s %s ended with exit status %d", command,
                         question, exit.code);
    text_init(&line);
    text_append_printable(&line, output, strcspn(output, "\n"));
    if (line.length == 0) {
        text_finish(&line);
        return error_set(err, STATUS_UNAVAILABLE, "%s %s gives no answer", command, question);
    }
    *ret = text_steal(&line);
    return *ret != NULL ? STATUS_OK : error_no_memory(err);
}

/* "; /usr/bin/gcc-12 build-id 1a2b..."; a file without a build-id by its digest. */
static void append_file(struct text *text, const char *path)
{
    char build_id[ELF_BUILD_ID_SIZE], hex[DIGEST_HEX_SIZE];
    struct digest digest;

    if (elf_build_id(path, build_id, NULL) == STATUS_OK)
        text_append_format(text, "; %s build-id %s", path, build_id);
    else if (digest_file(path, &digest, NULL, NULL) == STATUS_OK)
        text_append_format(text, "; %s sha256 %s", path, digest_hex(&digest, hex));
    else
        text_append_format(text, "; %s unreadable", path);
}

/* The file that the compiler names; NULL: none, or it answers with a bare name. Heap. */
static char *file_of(const struct cpu_compiler *compiler, const char *question)
{
    char *answer = NULL;

    if (ask(compiler->command, question, &answer, NULL) == STATUS_OK && answer[0] == '/')
        return answer;
    free(answer);
    return NULL;
}

static void append_answer(struct text *text, const struct cpu_compiler *compiler,
                          const char *question)
{
    AUTO_FREE char *file = file_of(compiler, question);

    if (file != NULL)
        append_file(text, file);
}

/* A driver runs the compiler proper; clang is both and answers with a bare name. */
static char *make_identity(const struct cpu_compiler *compiler)
{
    struct text text;

    text_init(&text);
    text_append(&text, compiler->version);
    if (compiler->path != NULL)
        append_file(&text, compiler->path);
    append_answer(&text, compiler, "-print-prog-name=cc1");
    append_answer(&text, compiler, SPECS_FILE);
    return text_steal(&text);
}

static char *make_tools(const struct cpu_compiler *compiler)
{
    struct text text;

    text_init(&text);
    append_answer(&text, compiler, "-print-prog-name=as");
    append_answer(&text, compiler, "-print-prog-name=collect2");
    append_answer(&text, compiler, "-print-prog-name=ld");
    return text_steal(&text);
}

enum status cpu_compiler_find(struct cpu_compiler *ret, struct error *err)
{
    static const char *const names[] = {"cc", "gcc", "clang", NULL};
    const char *chosen = getenv("ASSAY_CC");
    const char *only[] = {chosen, NULL};
    const char *const *candidates = chosen != NULL && chosen[0] != '\0' ? only : names;
    enum status status = STATUS_UNAVAILABLE;
    char file[PATH_MAX];
    struct text tried;

    memset(ret, 0, sizeof(*ret));
    text_init(&tried);
    for (; *candidates != NULL && status == STATUS_UNAVAILABLE; candidates++) {
        struct error error = ERROR_INIT;

        status = ask(*candidates, "--version", &ret->version, &error);
        if (status == STATUS_OK)
            ret->command = strdup(*candidates);
        else if (status != STATUS_NO_MEMORY) {
            status = STATUS_UNAVAILABLE;
            text_append_format(&tried, "%s%s", tried.length > 0 ? "; " : "", error.message);
        }
    }
    if (status == STATUS_OK && ret->command != NULL) {
        if (file_find_program(ret->command, file))
            ret->path = strdup(file);
        ret->identity = make_identity(ret);
        ret->tools = make_tools(ret);
    }
    ret->tried = text_steal(&tried);
    if (ret->tried == NULL || (status == STATUS_OK && (ret->identity == NULL || !ret->tools)))
        return error_no_memory(err);
    if (status != STATUS_OK)
        return error_set(err, status,
                         "no C compiler to compile kernels with: %s. Install gcc or clang, or name "
                         "one in ASSAY_CC",
                         ret->tried);
    return STATUS_OK;
}

/*
 * A program and the libraries that its loader would open, with the environment that it is given:
 * much of a compiler is in those (libLLVM, libisl, libbfd). Each line has a path before " (0x".
 */
static void add_program(struct backend_file_list *ret, const char *program, const char *version)
{
    char *argv[] = {NULL, (char *)"--list", NULL, NULL}, *rest = NULL;
    AUTO_FREE char *loader = NULL, *output = NULL;
    char file[PATH_MAX];
    struct process_exit exit;

    backend_file_list_add(ret, "compiler", program, version);
    if (!file_find_program(program, file) || elf_read_loader(file, &loader, NULL) != STATUS_OK)
        return;
    argv[0] = loader;
    argv[2] = file;
    if (answer_of(argv, LOG_MAX, &output, &exit, NULL) != STATUS_OK)
        return;
    for (char *line = strtok_r(output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *path = strchr(line, '/'), *end = path ? strstr(path, " (0x") : NULL;

        if (end != NULL) {
            *end = '\0';
            backend_file_list_add(ret, "compiler", path, NULL);
        }
    }
}

/*
 * gcc's driver runs cc1, as, collect2 and ld; clang is its own preprocessor, compiler and
 * assembler, and has no cc1 to name.
 */
void cpu_compiler_files(const struct cpu_compiler *compiler, struct backend_file_list *ret)
{
    static const char *const parts[] = {"cc1", "as", "collect2", "ld"};
    static const char *const questions[] = {SPECS_FILE, "-print-file-name=liblto_plugin.so"};
    bool several = false;

    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
        AUTO_FREE char *file = file_of(compiler, questions[i]);

        if (file != NULL)
            add_program(ret, file, NULL);
    }
    if (compiler->path != NULL)
        add_program(ret, compiler->path, compiler->version);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        char *question = text_format("-print-prog-name=%s", parts[i]), *part = NULL;

        if (question != NULL && ask(compiler->command, question, &part, NULL) == STATUS_OK) {
            several = several || (strcmp(parts[i], "cc1") == 0 && part[0] == '/');
            if (several || strcmp(parts[i], "ld") == 0)
                add_program(ret, part, NULL);
        }
        free(question);
        free(part);
    }
}

struct digest cpu_compiler_target(void)
{
    static const char *const keys[] = {"vendor_id",  "cpu family",      "model",
                                       "model name", "stepping",        "flags",
                                       "Features",   "CPU implementer", "CPU part"};
    char *text = NULL, *line, *rest = NULL;
    struct digest_state state;

    digest_init(&state);
    if (file_read("/proc/cpuinfo", TEXT_MAX, &text, NULL, NULL) == STATUS_OK) {
        char *end = strstr(text, "\n\n"); /* the first processor's paragraph */

        if (end != NULL)
            *end = '\0';
        for (line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
            const size_t length = strcspn(line, "\t:");

            for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
                if (strlen(keys[i]) == length && strncmp(line, keys[i], length) == 0)
                    digest_update(&state, line, strlen(line) + 1);
        }
    }
    free(text);
    return digest_final(&state);
}

static char *read_log(const char *path)
{
    char *raw = NULL;
    size_t length = 0;
    struct text text;

    text_init(&text);
    if (file_read(path, LOG_MAX, &raw, &length, NULL) == STATUS_OK)
        for (size_t at = 0; at < length;) {
            const size_t line = strcspn(raw + at, "\n\t");

            text_append_printable(&text, raw + at, line);
            at += line;
            if (at < length)
                text_append_char(&text, raw[at++]);
        }
    else if (access(path, F_OK) == 0)
        text_append(&text, "(more messages than can be kept)");
    free(raw);
    return text_steal(&text);
}

/* Runs to the end with the options followed by `words`, messages into folder/log. */
static enum status run(const struct cpu_compiler *compiler, const char *const *words,
                       const char *folder, char **ret_log, struct error *err)
{
    const char *argv[1 + OPTION_COUNT + WORDS_MAX + 1] = {compiler->command};
    char *environment[ENVIRONMENT_MAX];
    AUTO_FREE char *log_path = text_format("%s/log", folder);
    struct process_fd fds[2] = {{.child_fd = STDOUT_FILENO}, {.child_fd = STDERR_FILENO}};
    const struct process_options process_options = {.argv = (char *const *)argv,
                                                    .envp = environment,
                                                    .settings = process_plain,
                                                    .fds = fds,
                                                    .fd_count = 2};
    const int64_t timeout_ns = compile_timeout_ns();
    struct process process = {0};
    struct process_exit exit = {0};
    char human[TEXT_HUMAN_SIZE], by[PROCESS_SIGNAL_SIZE], *log;
    enum status status;
    int fd;

    if (log_path == NULL)
        return error_no_memory(err);
    fd = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(err, errno, "%s", log_path);
    take_environment(environment);
    fds[0].parent_fd = fds[1].parent_fd = fd;
    for (size_t i = 0; i < OPTION_COUNT; i++)
        argv[1 + i] = option_at(i, is_clang(compiler));
    for (size_t i = 0; i < WORDS_MAX && words[i] != NULL; i++)
        argv[1 + OPTION_COUNT + i] = words[i];
    status = process_spawn(&process_options, &process, err);
    close(fd);
    TRY(status);
    status = process_wait(&process, clock_monotonic_ns() + timeout_ns, &exit, NULL);
    process_stop(&process, GRACE_NS, NULL);
    log = read_log(log_path);
    if (log == NULL)
        return error_no_memory(err);
    free(*ret_log);
    *ret_log = log;
    if (status == STATUS_TIMEOUT)
        status = error_set(err, STATUS_COMPILE,
                           "the compiler %s was stopped: it took longer than %s (ASSAY_CC_TIMEOUT)",
                           compiler->command, text_human_duration((double)timeout_ns, human));
    else if (status != STATUS_OK)
        status = error_set(err, STATUS_COMPILE, "the compiler %s cannot be waited for",
                           compiler->command);
    else if (!exit.exited)
        status =
            error_set(err, STATUS_COMPILE, "the compiler %s was ended by %s%s%s", compiler->command,
                      process_signal_text(&exit, by), log[0] != '\0' ? ":\n" : "", log);
    else if (exit.code != 0)
        status = error_set(err, STATUS_COMPILE, "%s",
                           log[0] != '\0' ? log : "(the compiler gives no message)");
    return status;
}

static enum status write_text(const char *path, const char *text, size_t length, struct error *err)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    enum status status;

    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
    status = file_write_all(fd, text, length, err);
    close(fd);
    return status;
}

static enum status wrote(const struct cpu_compiler *compiler, const char *path, struct error *err)
{
    if (access(path, R_OK) == 0)
        return STATUS_OK;
    return error_set(err, STATUS_COMPILE,
                     "the compiler %s says that it succeeded and wrote nothing", compiler->command);
}

enum status cpu_compiler_preprocess(const struct cpu_compiler *compiler, const char *folder,
                                    const char *text, size_t length, char **ret, char **ret_log,
                                    struct error *err)
{
    AUTO_FREE char *input = text_format("%s/kernel.c", folder);
    AUTO_FREE char *output = text_format("%s/kernel.i", folder);
    const char *const words[] = {"-E", "-o", output, input, NULL};

    if (input == NULL || output == NULL)
        return error_no_memory(err);
    TRY(write_text(input, text, length, err));
    TRY(run(compiler, words, folder, ret_log, err));
    TRY(wrote(compiler, output, err));
    return file_read(output, TEXT_MAX, ret, NULL, err);
}

enum status cpu_compiler_compile(const struct cpu_compiler *compiler, const char *folder,
                                 const char *text, size_t length, const char *object,
                                 char **ret_log, struct error *err)
{
    AUTO_FREE char *input = text_format("%s/kernel.i", folder);
    const char *const words[] = {"-shared", "-nostdlib", "-s",  "-Wl,--build-id=sha1",
                                 "-o",      object,      input, NULL};

    if (input == NULL)
        return error_no_memory(err);
    TRY(write_text(input, text, length, err));
    TRY(run(compiler, words, folder, ret_log, err));
    return wrote(compiler, object, err);
}
