/*
 * Every kernel by the real NVRTC, as the backend compiles it: no device is needed. Usage:
 * conformance_nvrtc [--table FILE] [ARCH...]
 *
 * The table has what ptxas reports of each kernel: registers, spills, shared memory. Each arch is a
 * child of its own, so a compiler that crashes becomes a named error of that arch. Exit status 77
 * where NVRTC is not installed.
 *
 * To save time, of the archs that this NVRTC knows the first of each generation is compiled for
 * (7.5 of 7.x), since texts ask for 8.0 and no finer, and most have each text once, whatever the
 * choice of defines; with ASSAY_TEST_ALL_VARIANTS set every arch has all of them.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/cuda/internal.h"
#include "harness/core/embed.h"
#include "harness/core/text.h"
#include "tests/conformance/nvrtc_ptx.h"
#include "tests/support/kernels/kernel_variants.h"

/* Of processor time, which other processes do not use up; ctest ends what hangs. */
#define CHILD_SECONDS 300
#define CHILDREN_MAX 4
/* Not for check_refusals: with it, ptxas leaves out why it refuses. */
#define REPORT_OPTION "--ptxas-options=-v"

extern const struct embed_file conformance_kernels[];
extern const size_t conformance_kernels_count;

/* On these each text is compiled with every choice of defines, on the first in wide groups too. */
#define THOROUGH 90
#define VARIANTS_OF 80

/* Result of a child's compilation. */
struct report {
    size_t compiled, kernels, spilling, failed;
    long most_registers;
};

static struct nvrtc nvrtc;

static enum status compile_text(int arch, const struct module_source *source, const char *extra,
                                struct gpu_binary *ret, struct error *err)
{
    char *program = gpu_program(source);
    enum status status;

    if (program == NULL)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    status = nvrtc_compile(&nvrtc, source->file, program, arch, false, extra, ret, err);
    free(program);
    return status;
}

/* The number before `word` in the log between `at` and its next kernel; -1: not reported. */
static long number_before(const char *at, const char *word)
{
    const char *next = strstr(at + 1, "Compiling entry function");
    const char *found = strstr(at, word);

    if (found == NULL || (next != NULL && found > next))
        return -1;
    while (found > at && found[-1] == ' ')
        found--;
    while (found > at && found[-1] >= '0' && found[-1] <= '9')
        found--;
    return strtol(found, NULL, 10);
}

/* ptxas: "Compiling entry function 'NAME' for ...", then its stack, spills and registers. */
static enum status check_kernel(const char *log, const char *name, const char *arch,
                                const struct module_source *source, FILE *table,
                                struct report *report, struct error *err)
{
    char *head = text_format("Compiling entry function '%s'", name);
    const char *at = head != NULL && log != NULL ? strstr(log, head) : NULL;
    long registers, stores, loads, stack, shared;

    free(head);
    if (at == NULL)
        return error_set(err, STATUS_CHECK_FAILED, "ptxas reports nothing about %s", name);
    stack = number_before(at, " bytes stack frame");
    stores = number_before(at, " bytes spill stores");
    loads = number_before(at, " bytes spill loads");
    shared = number_before(at, " bytes smem");
    at = strstr(at, "Used ");
    registers = at != NULL ? strtol(at + strlen("Used "), NULL, 10) : -1;
    if (registers <= 0 || stores < 0 || loads < 0 || stack < 0)
        return error_set(err, STATUS_CHECK_FAILED, "%s: registers or spills are not reported",
                         name);
    /* A multiprocessor has 64 Ki registers: a group of LANES must fit. */
    if (registers * (long)source->lanes > 65536)
        return error_set(err, STATUS_CHECK_FAILED, "%s: %ld registers do not fit %u lanes", name,
                         registers, source->lanes);
    fprintf(table, "%-8s %-44s %5u %-30s %9ld %6ld %7ld %7ld\n", arch, source->file, source->lanes,
            name, registers, stack, stores + loads, shared > 0 ? shared : 0);
    report->kernels++;
    report->spilling += stores + loads > 0;
    if (registers > report->most_registers)
        report->most_registers = registers;
    return STATUS_OK;
}

static void compile_and_check(int arch, const struct module_source *source, FILE *table,
                              struct report *report)
{
    struct gpu_binary binary = {0};
    struct error err = ERROR_INIT;
    char names[64][64], arch_name[16];
    size_t count = 0;
    enum status status = compile_text(arch, source, REPORT_OPTION, &binary, &err);

    snprintf(arch_name, sizeof(arch_name), "sm_%d", arch);
    if (status == STATUS_OK) {
        count = cuda_cubin_kernels(&binary, names, 64);
        if (count == 0)
            status = error_set(&err, STATUS_CHECK_FAILED, "no kernel in the CUBIN");
    }
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        char *counter = text_format(GPU_ARGUMENTS_PREFIX "%s", names[i]);

        if (counter == NULL ||
            memmem(binary.bytes, binary.size, counter, strlen(counter) + 1) == NULL)
            status = error_set(&err, STATUS_CHECK_FAILED, "no variable %s", counter);
        else
            status = check_kernel(binary.log, names[i], arch_name, source, table, report, &err);
        free(counter);
    }
    if (status != STATUS_OK) {
        printf("FAIL sm_%d: %s, %u lanes: %s\n", arch, source->file, source->lanes, err.message);
        report->failed++;
    }
    report->compiled++;
    gpu_binary_finish(&binary);
}

static bool is_first_of_text(const struct kernel_variants *variants, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (variants->items[i].source.lanes == variants->items[index].source.lanes &&
            strcmp(variants->items[i].source.text, variants->items[index].source.text) == 0)
            return false;
    return true;
}

/* Every text of the workloads and of the conformance suite. */
static void compile_all(int arch, const struct kernel_variants *variants, FILE *table,
                        struct report *report)
{
    static const uint32_t lanes[] = {1, 33, 64};
    const bool all = arch == VARIANTS_OF || getenv("ASSAY_TEST_ALL_VARIANTS") != NULL;

    for (size_t i = 0; i < variants->count; i++)
        if (arch == THOROUGH ||
            (variants->items[i].source.lanes == 64 && (all || is_first_of_text(variants, i))))
            compile_and_check(arch, &variants->items[i].source, table, report);
    for (size_t i = 0; i < conformance_kernels_count; i++)
        for (size_t l = arch == THOROUGH ? 0 : 2; l < sizeof(lanes) / sizeof(lanes[0]); l++) {
            const struct module_source source = {.file = conformance_kernels[i].name,
                                                 .text = conformance_kernels[i].text,
                                                 .lanes = lanes[l]};

            compile_and_check(arch, &source, table, report);
        }
}

/* A refused text's error names file and line; too much shared memory is reported as such. */
static size_t check_refusals(int arch)
{
    const struct module_source wrong = {
        .file = "wrong.h", .text = "KERNEL(wrong, u32 a)\n{\n    nonsense;\n}\n", .lanes = 64};
    const struct module_source large = {.file = "large.h",
                                        .text = "KERNEL(large, GLOBAL f32 *a)\n{\n"
                                                "    LOCAL_ARRAY(f32, shelf, 1 << 20);\n\n"
                                                "    shelf[LANE] = a[LANE];\n    BARRIER();\n"
                                                "    a[LANE] = shelf[63 - LANE];\n}\n",
                                        .lanes = 64};
    struct gpu_binary binary = {0};
    struct error err = ERROR_INIT;
    size_t failed = 0;
    enum status status = compile_text(arch, &wrong, NULL, &binary, &err);

    if (status != STATUS_COMPILE || strstr(err.message, "wrong.h:3") == NULL ||
        strstr(err.message, "nonsense") == NULL) {
        printf("FAIL sm_%d: a wrong text gives %s: %s\n", arch, status_name(status), err.message);
        failed++;
    }
    gpu_binary_finish(&binary);
    status = compile_text(arch, &large, NULL, &binary, &err);
    if (status != STATUS_UNSUPPORTED || strstr(err.message, "large.h") == NULL) {
        printf("FAIL sm_%d: 4 MiB of shared memory give %s: %s\n", arch, status_name(status),
               err.message);
        failed++;
    }
    gpu_binary_finish(&binary);
    return failed;
}

/* The arithmetic of every text, in the assembly that NVRTC gives to ptxas. */
static size_t check_arithmetic(const struct kernel_variants *variants)
{
    size_t failed = nvrtc_ptx_check_itself(&nvrtc);

    for (size_t i = 0; i < variants->count; i++)
        if (variants->items[i].source.lanes == 64)
            failed += nvrtc_ptx_check(&nvrtc, &variants->items[i].source);
    for (size_t i = 0; i < conformance_kernels_count; i++) {
        const struct module_source source = {
            .file = conformance_kernels[i].name, .text = conformance_kernels[i].text, .lanes = 64};

        failed += nvrtc_ptx_check(&nvrtc, &source);
    }
    return failed;
}

struct child {
    int arch;
    pid_t pid;
    FILE *table;
};

static void start(struct child *child, int arch, const struct kernel_variants *variants)
{
    child->arch = arch;
    child->table = tmpfile();
    if (child->table == NULL) {
        perror("tmpfile");
        exit(1);
    }
    fflush(stdout);
    child->pid = fork();
    if (child->pid == 0) {
        struct report report = {0};

        setrlimit(RLIMIT_CPU, &(struct rlimit){CHILD_SECONDS, CHILD_SECONDS + 5});
        compile_all(arch, variants, child->table, &report);
        report.failed += check_refusals(arch);
        printf("sm_%-4d %zu texts, %zu kernels, at most %ld registers, %zu kernels spill%s\n", arch,
               report.compiled, report.kernels, report.most_registers, report.spilling,
               report.failed > 0 ? ", FAILED" : "");
        fflush(stdout);
        fflush(child->table);
        _exit(report.failed > 0 ? 1 : 0);
    }
    if (child->pid < 0) {
        perror("fork");
        exit(1);
    }
}

/* Waits for the oldest child; its table is appended to the others. */
static int finish(struct child *child, FILE *table)
{
    char line[512];
    int state = 0, failed;

    waitpid(child->pid, &state, 0);
    failed = !WIFEXITED(state) || WEXITSTATUS(state) != 0;
    if (!WIFEXITED(state))
        printf("FAIL sm_%d: NVRTC ended the process by signal %d\n", child->arch, WTERMSIG(state));
    rewind(child->table);
    while (table != NULL && fgets(line, sizeof(line), child->table) != NULL)
        fputs(line, table);
    fclose(child->table);
    return failed;
}

static int run(const int *archs, size_t count, const struct kernel_variants *variants, FILE *table)
{
    struct child children[NVRTC_ARCHS_MAX];
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t abreast = processors < 1              ? 1
                           : processors < CHILDREN_MAX ? (size_t)processors
                                                       : CHILDREN_MAX;
    size_t started = 0, finished = 0;
    int failed = 0;

    if (table != NULL)
        fprintf(table, "%-8s %-44s %5s %-30s %9s %6s %7s %7s\n", "arch", "text", "lanes", "kernel",
                "registers", "stack", "spilled", "shared");
    while (finished < count) {
        while (started < count && started - finished < abreast) {
            start(&children[started], archs[started], variants);
            started++;
        }
        failed += finish(&children[finished++], table);
    }
    return failed;
}

/* Those that are named by nobody. */
static size_t default_archs(int *ret)
{
    const bool all = getenv("ASSAY_TEST_ALL_VARIANTS") != NULL;
    size_t count = 0;

    for (size_t i = 0; i < nvrtc.arch_count; i++) {
        bool seen = false;

        for (size_t k = 0; k < count; k++)
            seen |= ret[k] / 10 == nvrtc.archs[i] / 10;
        if (all || !seen)
            ret[count++] = nvrtc.archs[i];
    }
    return count;
}

int main(int argc, char **argv)
{
    static const uint32_t lanes[] = {64, 256, 1024};
    struct kernel_variants variants = {0};
    struct error err = ERROR_INIT;
    FILE *table = NULL;
    int archs[NVRTC_ARCHS_MAX], failed;
    size_t count = 0;

    if (nvrtc_open(NULL, &nvrtc, &err) != STATUS_OK) {
        printf("SKIP: %s\n", err.message);
        nvrtc_finish(&nvrtc);
        return 77;
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--table") == 0 && i + 1 < argc)
            table = fopen(argv[++i], "w");
        else if (count < NVRTC_ARCHS_MAX)
            archs[count++] = atoi(argv[i]);
    }
    if (count == 0)
        count = default_archs(archs);
    if (kernel_variants_collect(lanes, sizeof(lanes) / sizeof(lanes[0]), &variants, &err) !=
        STATUS_OK) {
        printf("FAIL: %s\n", err.message);
        return 1;
    }
    printf("NVRTC %d.%d (%s), %zu archs, %zu texts\n", nvrtc.major, nvrtc.minor, nvrtc.lib.path,
           count, variants.count);
    failed = run(archs, count, &variants, table);
    failed += (int)check_arithmetic(&variants);
    if (table != NULL)
        fclose(table);
    kernel_variants_finish(&variants);
    nvrtc_finish(&nvrtc);
    printf("%s\n", failed == 0 ? "nvrtc: all passed" : "nvrtc: FAILED");
    return failed == 0 ? 0 : 1;
}
