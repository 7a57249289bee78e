/*
 * Every kernel by the real HIPRTC, as the backend compiles it, for an arch of each family: no
 * device is needed. Usage: conformance_hiprtc [ARCH...]
 *
 * HIPRTC has ended the process on an arch that it does not know, so each arch is a child of its
 * own; a crash becomes a named error of that arch. Exit status 77 where HIPRTC is not installed.
 */
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/hip/internal.h"
#include "harness/core/clock.h"
#include "harness/core/embed.h"
#include "harness/core/text.h"
#include "tests/support/kernels/kernel_variants.h"

/* Of processor time, which other processes do not use up; ctest ends what hangs. */
#define CHILD_SECONDS 300

extern const struct embed_file conformance_kernels[];
extern const size_t conformance_kernels_count;

static const char *const known_names[] = {
    "gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200",
    "gfx906", "gfx908", "gfx950", "gfx1010", "gfx1151",
};
#define FAMILIES 6 /* of the names: one of each; the others with ASSAY_TEST_ALL_VARIANTS alone */

/*
 * On these each text is compiled with every choice of defines, on the first with wide groups too;
 * on the other archs each text once, to spare time, unless ASSAY_TEST_ALL_VARIANTS is set.
 */
static const char thorough[] = "gfx90a", variants_of[] = "gfx1030";

/* Result of a child's compilation. */
struct report {
    size_t compiled, kernels, spilling, failed;
    int64_t most_vgprs;
};

static struct hip_rtc rtc;
static char version[64];

static enum status compile_text(const char *arch, const struct module_source *source,
                                bool flush_denormals, struct gpu_binary *ret, struct error *err)
{
    char *program = gpu_program(source);
    enum status status;

    if (program == NULL)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    status = hip_compile_for(&rtc, arch, flush_denormals, version, source->file, program, ret, err);
    free(program);
    return status;
}

/* Each kernel must report its registers, have the requested group size, and its argument count. */
static enum status check_binary(const struct gpu_binary *binary, const struct module_source *source,
                                struct report *report, struct error *err)
{
    struct code_object object = {0};
    enum status status = code_object_read(binary->bytes, binary->size, &object, err);

    if (status == STATUS_OK && object.kernel_count == 0)
        status = error_set(err, STATUS_CHECK_FAILED, "no kernel in the code object");
    for (size_t i = 0; i < object.kernel_count && status == STATUS_OK; i++) {
        const struct code_object_kernel *kernel = &object.kernels[i];
        char *counter = text_format(GPU_ARGUMENTS_PREFIX "%s", kernel->name);

        if (kernel->vgprs < 0 || kernel->sgprs < 0 || kernel->spilled_vgprs < 0 ||
            kernel->private_bytes < 0 || kernel->group_bytes < 0)
            status = error_set(err, STATUS_CHECK_FAILED, "%s: registers or spills are not reported",
                               kernel->name);
        else if (kernel->max_lanes < source->lanes)
            status = error_set(err, STATUS_CHECK_FAILED, "%s: for %lld lanes only", kernel->name,
                               (long long)kernel->max_lanes);
        else if (counter == NULL ||
                 memmem(binary->bytes, binary->size, counter, strlen(counter) + 1) == NULL)
            status = error_set(err, STATUS_CHECK_FAILED, "no variable %s", counter);
        free(counter);
        report->kernels++;
        report->spilling += kernel->spilled_vgprs > 0;
        if (kernel->vgprs > report->most_vgprs)
            report->most_vgprs = kernel->vgprs;
        if (kernel->spilled_vgprs > 0)
            printf("  %s of %s, %u lanes: %lld VGPRs spilled\n", kernel->name, source->file,
                   source->lanes, (long long)kernel->spilled_vgprs);
    }
    code_object_finish(&object);
    return status;
}

static void compile_and_check(const char *arch, const struct module_source *source,
                              struct report *report)
{
    struct gpu_binary binary = {0};
    struct error err = ERROR_INIT;
    enum status status = compile_text(arch, source, false, &binary, &err);

    if (status == STATUS_OK)
        status = check_binary(&binary, source, report, &err);
    if (status != STATUS_OK) {
        printf("FAIL %s: %s, %u lanes: %s\n", arch, source->file, source->lanes, err.message);
        report->failed++;
    }
    report->compiled++;
    gpu_binary_finish(&binary);
}

/*
 * Digest of the instructions alone: newer compilers add a number made from the source text
 * (__hip_cuid_...), so the whole differs where the code does not.
 */
static bool digest_code(const struct gpu_binary *binary, struct digest *ret)
{
    Elf64_Ehdr header;
    Elf64_Shdr names, section;

    if (binary->size < sizeof(header))
        return false;
    memcpy(&header, binary->bytes, sizeof(header));
    if (header.e_shoff > binary->size || header.e_shentsize != sizeof(section) ||
        (binary->size - header.e_shoff) / sizeof(section) < header.e_shnum ||
        header.e_shstrndx >= header.e_shnum)
        return false;
    memcpy(&names, (char *)binary->bytes + header.e_shoff + header.e_shstrndx * sizeof(names),
           sizeof(names));
    for (size_t i = 0; i < header.e_shnum; i++) {
        memcpy(&section, (char *)binary->bytes + header.e_shoff + i * sizeof(section),
               sizeof(section));
        if (names.sh_offset + section.sh_name + sizeof(".text") <= binary->size &&
            section.sh_offset + section.sh_size <= binary->size &&
            memcmp((char *)binary->bytes + names.sh_offset + section.sh_name, ".text",
                   sizeof(".text")) == 0) {
            *ret = digest_bytes((char *)binary->bytes + section.sh_offset, section.sh_size);
            return true;
        }
    }
    return false;
}

/* The code for one statement over arrays of f32; false, with a message, where it fails. */
static bool digest_statement(const char *arch, const char *statement, struct digest *ret)
{
    char *text = text_format("KERNEL(statement, GLOBAL f32 *RESTRICT a, const GLOBAL f32 *RESTRICT "
                             "b, const GLOBAL f32 *RESTRICT c, const GLOBAL f32 *RESTRICT d)\n"
                             "{\n    %s\n}\n",
                             statement);
    const struct module_source source = {.file = "statement.h", .text = text, .lanes = 64};
    struct gpu_binary binary = {0};
    struct error err = ERROR_INIT;
    bool good = text != NULL && compile_text(arch, &source, false, &binary, &err) == STATUS_OK;

    if (!good)
        printf("FAIL %s: %s: %s\n", arch, statement, err.message);
    else if (!(good = digest_code(&binary, ret)))
        printf("FAIL %s: %s: the code object has no .text\n", arch, statement);
    gpu_binary_finish(&binary);
    free(text);
    return good;
}

/*
 * Contraction, without a disassembler: the text with two roundings must not compile to the code of
 * F_FMA, while the same text with contraction allowed does, which shows that the check works.
 */
static void check_contraction(const char *arch, struct report *report)
{
    static const char *const statements[] = {
        "a[LANE] = b[LANE] * c[LANE] + d[LANE];",
        "a[LANE] = F_FMA(b[LANE], c[LANE], d[LANE]);",
        "_Pragma(\"clang fp contract(fast)\") a[LANE] = b[LANE] * c[LANE] + d[LANE];",
    };
    struct digest digests[3];
    bool good = true;

    for (size_t i = 0; i < 3 && good; i++)
        good = digest_statement(arch, statements[i], &digests[i]);
    if (good && digest_equal(&digests[0], &digests[1])) {
        printf("FAIL %s: a * b + c was contracted\n", arch);
        good = false;
    }
    if (good && !digest_equal(&digests[1], &digests[2])) {
        printf("FAIL %s: contraction cannot be seen in the code, so the check proves nothing\n",
               arch);
        good = false;
    }
    report->failed += !good;
}

/* Exact division and square root differ from the approximate instruction. */
static void check_exact(const char *arch, struct report *report)
{
    static const char *const pairs[][2] = {
        {"a[LANE] = F_SQRT(b[LANE]);", "a[LANE] = __builtin_amdgcn_sqrtf(b[LANE]);"},
        {"a[LANE] = b[LANE] / c[LANE];", "a[LANE] = b[LANE] * __builtin_amdgcn_rcpf(c[LANE]);"},
    };
    struct digest exact, near;

    for (size_t i = 0; i < 2; i++) {
        if (!digest_statement(arch, pairs[i][0], &exact) ||
            !digest_statement(arch, pairs[i][1], &near)) {
            report->failed++;
        } else if (digest_equal(&exact, &near)) {
            printf("FAIL %s: %s comes to the code of %s\n", arch, pairs[i][0], pairs[i][1]);
            report->failed++;
        }
    }
}

/* Denormals are an option of the code object: both settings compile, and differ. */
static void check_denormals(const char *arch, struct report *report)
{
    const struct module_source source = {
        .file = "denormals.h",
        .text = "KERNEL(twice, GLOBAL f32 *a)\n{\n    a[LANE] = a[LANE] * 2.0f;\n}\n",
        .lanes = 64};
    struct gpu_binary kept = {0}, flushed = {0};
    struct error err = ERROR_INIT;
    enum status status = compile_text(arch, &source, false, &kept, &err);

    if (status == STATUS_OK)
        status = compile_text(arch, &source, true, &flushed, &err);
    if (status == STATUS_OK && kept.size == flushed.size &&
        memcmp(kept.bytes, flushed.bytes, kept.size) == 0)
        status = error_set(&err, STATUS_CHECK_FAILED, "flushing them changes nothing");
    if (status != STATUS_OK) {
        printf("FAIL %s: denormals: %s\n", arch, err.message);
        report->failed++;
    }
    gpu_binary_finish(&kept);
    gpu_binary_finish(&flushed);
}

/* A refused text's error names file and line, and HIPRTC continues to work. */
static void check_refusal(const char *arch, struct report *report)
{
    const struct module_source source = {
        .file = "wrong.h", .text = "KERNEL(wrong, u32 a)\n{\n    nonsense;\n}\n", .lanes = 64};
    struct gpu_binary binary = {0};
    struct error err = ERROR_INIT;
    enum status status = compile_text(arch, &source, false, &binary, &err);

    if (status != STATUS_COMPILE || strstr(err.message, "wrong.h:3") == NULL ||
        strstr(err.message, "nonsense") == NULL) {
        printf("FAIL %s: a wrong text gives %s: %s\n", arch, status_name(status), err.message);
        report->failed++;
    }
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

static void compile_all(const char *arch, const struct kernel_variants *variants,
                        struct report *report)
{
    const bool wide = strcmp(arch, thorough) == 0;
    const bool all = strcmp(arch, variants_of) == 0 || getenv("ASSAY_TEST_ALL_VARIANTS") != NULL;

    for (size_t i = 0; i < variants->count; i++)
        if (wide ||
            (variants->items[i].source.lanes == 64 && (all || is_first_of_text(variants, i))))
            compile_and_check(arch, &variants->items[i].source, report);
    for (size_t i = 0; i < conformance_kernels_count; i++) {
        char *text = strndup(conformance_kernels[i].text, conformance_kernels[i].length);
        const struct module_source source = {
            .file = conformance_kernels[i].name, .text = text, .lanes = 96};

        if (text != NULL)
            compile_and_check(arch, &source, report);
        free(text);
    }
    check_contraction(arch, report);
    check_exact(arch, report);
    check_denormals(arch, report);
    check_refusal(arch, report);
    /* With its features named, as a device reports its arch. */
    if (wide && variants->count > 0)
        compile_and_check("gfx90a:sramecc+:xnack-", &variants->items[0].source, report);
}

/* The child's work: NULL variants ask only whether the arch is known. */
static int child(const char *arch, const struct kernel_variants *variants, int pipe)
{
    const struct module_source source = {
        .file = "empty.h", .text = "KERNEL(nothing, u32 a)\n{\n}\n", .lanes = 64};
    struct gpu_binary binary = {0};
    struct report report = {0};
    struct error err = ERROR_INIT;
    enum status status = compile_text(arch, &source, false, &binary, &err);

    gpu_binary_finish(&binary);
    if (status != STATUS_OK) {
        printf("%s: %s\n", arch, err.message);
        return 3;
    }
    if (variants != NULL)
        compile_all(arch, variants, &report);
    fflush(stdout);
    return write(pipe, &report, sizeof(report)) == (ssize_t)sizeof(report) ? 0 : 4;
}

/* CRASHED when the compiler ended the process, UNSUPPORTED when it refused the arch. */
static enum status in_child(const char *arch, const struct kernel_variants *variants,
                            struct report *ret, struct error *err)
{
    int ends[2], state = 0;
    bool reported;
    pid_t pid;

    if (pipe(ends) != 0)
        return error_set(err, STATUS_IO, "pipe");
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        setrlimit(RLIMIT_CPU, &(struct rlimit){CHILD_SECONDS, CHILD_SECONDS + 5});
        _exit(child(arch, variants, ends[1]));
    }
    close(ends[1]);
    reported = pid > 0 && read(ends[0], ret, sizeof(*ret)) == (ssize_t)sizeof(*ret);
    close(ends[0]);
    if (pid < 0 || waitpid(pid, &state, 0) != pid)
        return error_set(err, STATUS_IO, "fork");
    if (WIFSIGNALED(state))
        return error_set(err, STATUS_CRASHED, "%s: HIPRTC ended the process by signal %d (%s)",
                         arch, WTERMSIG(state), strsignal(WTERMSIG(state)));
    if (WEXITSTATUS(state) == 3)
        return error_set(err, STATUS_UNSUPPORTED, "%s: HIPRTC does not know it", arch);
    if (WEXITSTATUS(state) != 0 || !reported)
        return error_set(err, STATUS_CRASHED, "%s: HIPRTC ended the process with status %d", arch,
                         WEXITSTATUS(state));
    return STATUS_OK;
}

static enum status open_compiler(struct error *err)
{
    static struct dynlib runtime_lib, rtc_lib;
    static struct hip_runtime runtime;
    int major = 0, minor = 0;
    enum status status = hip_runtime_open(&runtime_lib, &runtime, err);

    if (status == STATUS_OK)
        status = hip_rtc_open(runtime_lib.path, &rtc_lib, &rtc, err);
    if (status == STATUS_OK && rtc.hiprtcVersion(&major, &minor) == HIP_RTC_SUCCESS) {
        snprintf(version, sizeof(version), "HIPRTC %d.%d", major, minor);
        printf("%s (%s)\n", version, rtc_lib.path);
    }
    return status;
}

int main(int argc, char **argv)
{
    static const uint32_t lanes[] = {64, 256};
    const size_t all = sizeof(known_names) / sizeof(known_names[0]);
    const size_t count = argc > 1                            ? (size_t)argc - 1
                         : getenv("ASSAY_TEST_ALL_VARIANTS") ? all
                                                             : FAMILIES;
    struct kernel_variants variants = {0};
    struct error err = ERROR_INIT;
    size_t known = 0, crashed = 0, failed = 0;

    if (open_compiler(&err) != STATUS_OK) {
        printf("SKIP: HIPRTC is not here: %s\n", err.message);
        return 77;
    }
    if (kernel_variants_collect(lanes, 2, &variants, &err) != STATUS_OK) {
        printf("FAIL %s\n", err.message);
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        const char *arch = argc > 1 ? argv[i + 1] : known_names[i];
        struct report report = {0};
        const int64_t begin_ns = clock_monotonic_ns();
        enum status status = in_child(arch, NULL, &report, &err);

        if (status == STATUS_OK) {
            known++;
            status = in_child(arch, &variants, &report, &err);
            failed += status != STATUS_OK || report.failed > 0;
            if (status == STATUS_OK)
                printf("%-24s %zu texts, %zu kernels, at most %lld VGPRs, %zu spill, %zu failed, "
                       "%.1f s\n",
                       arch, report.compiled, report.kernels, (long long)report.most_vgprs,
                       report.spilling, report.failed,
                       (double)(clock_monotonic_ns() - begin_ns) * 1e-9);
        }
        if (status != STATUS_OK)
            printf("%-24s %s: %s\n", arch, status_name(status), err.message);
        crashed += status == STATUS_CRASHED;
    }
    kernel_variants_finish(&variants);
    printf("%zu of %zu archs compiled, %zu crashed the compiler and were survived, %zu failed\n",
           known, count, crashed, failed);
    return known == 0 || failed > 0;
}
