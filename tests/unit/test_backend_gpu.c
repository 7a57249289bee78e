/* Shared parts of CUDA and HIP without a device: programs, messages, hostile binaries, targets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elf.h>

#include "backends/compile.h"
#include "backends/cuda/internal.h"
#include "harness/core/random.h"
#include "tests/support/unit.h"

static void check_log(const char *log, const char *expected)
{
    char *rewritten = gpu_log_rewrite(log);

    assert_non_null(rewritten);
    assert_string_equal(rewritten, expected);
    free(rewritten);
}

TEST(log)
{
    check_log(NULL, "");
    check_log("", "");
    check_log("\n\r\n", "");
    check_log("a/b.h(6): error: no\r\n  x;\n\n", "a/b.h:6: error: no\n  x;");
    check_log("f(1) and g(2): 3", "f(1) and g(2): 3");
    check_log("(7): odd", ":7: odd");
    check_log("x.h(): y\nx.h(1a): z", "x.h(): y\nx.h(1a): z");
    check_log("bell\a(1)", "bell\\x07(1)");
}

TEST(program)
{
    const struct module_define defines[] = {{"STORAGE", "BF16"}, {"N", "(1 + 2)"}};
    const struct module_source source = {.file = "kernels/x.h",
                                         .text = "KERNEL(x)\n{\n}",
                                         .lanes = 33,
                                         .defines = defines,
                                         .define_count = 2};
    char *program = gpu_program(&source), *options = compile_options("-O3", &source);
    const char *end;

    assert_non_null(program);
    assert_ptr_equal(strstr(program, "#define LANES 33\n#define STORAGE BF16\n#define N (1 + 2)\n"
                                     "#line 1 \"" GPU_PRELUDE_FILE "\"\n"),
                     program);
    end = strstr(program, GPU_PRELUDE_END);
    assert_non_null(end);
    assert_string_equal(end + strlen(GPU_PRELUDE_END),
                        "\n#line 1 \"kernels/x.h\"\nKERNEL(x)\n{\n}\n");
    assert_string_equal(options, "-O3 -DLANES=33 -DSTORAGE=BF16 -DN=(1 + 2)");
    free(program);
    free(options);
}

/* The first error leads, however long the warnings before it are. */
TEST(refusal)
{
    struct error err = ERROR_INIT;
    char *log = malloc(9000);
    size_t length = 0;

    assert_non_null(log);
    while (length < 8000)
        length += (size_t)sprintf(log + length, "x.h(1): warning: again\n");
    sprintf(log + length, "x.h(9): error: here\n");
    assert_int_equal(gpu_refuse("x.h", "compile", "BAD", log, &err), STATUS_COMPILE);
    assert_non_null(
        strstr(err.message, "x.h does not compile (compile: BAD):\nx.h:9: error: here"));
    gpu_refuse("x.h", "compile", "BAD", NULL, &err);
    assert_non_null(strstr(err.message, "(the compiler gives no message)"));
    free(log);
}

TEST(targets)
{
    const struct nvrtc nvrtc = {.archs = {75, 80, 90, 100}, .arch_count = 4};

    assert_int_equal(nvrtc_target(&nvrtc, 90), 90);
    assert_int_equal(nvrtc_target(&nvrtc, 89), -80);
    assert_int_equal(nvrtc_target(&nvrtc, 121), -100);
    assert_int_equal(nvrtc_target(&nvrtc, 70), 0);
}

/* Sections ".text.one" and ".text.two" among others. */
static size_t make_cubin(unsigned char *bytes)
{
    static const char names[] = "\0.text.one\0.text.two\0.data\0.text.";
    const Elf64_Shdr sections[] = {
        {.sh_type = SHT_NULL},
        {.sh_name = 1, .sh_type = SHT_PROGBITS},
        {.sh_name = 11, .sh_type = SHT_PROGBITS},
        {.sh_name = 21, .sh_type = SHT_PROGBITS},
        {.sh_name = 11, .sh_type = SHT_NOBITS},
        {.sh_type = SHT_STRTAB, .sh_offset = sizeof(Elf64_Ehdr), .sh_size = sizeof(names)},
    };
    const Elf64_Ehdr header = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
        .e_shoff = sizeof(Elf64_Ehdr) + sizeof(names),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = sizeof(sections) / sizeof(sections[0]),
        .e_shstrndx = 5,
    };

    memcpy(bytes, &header, sizeof(header));
    memcpy(bytes + sizeof(header), names, sizeof(names));
    memcpy(bytes + header.e_shoff, sections, sizeof(sections));
    return header.e_shoff + sizeof(sections);
}

/* A CUBIN that is truncated or has changed bytes gives names or none, and no crash. */
TEST(cubin)
{
    unsigned char whole[1024];
    char names[8][64];
    const size_t size = make_cubin(whole);
    struct gpu_binary binary = {.bytes = whole, .size = size};
    struct random random;

    assert_int_equal(cuda_cubin_kernels(&binary, names, 8), 2);
    assert_string_equal(names[0], "one");
    assert_string_equal(names[1], "two");
    assert_int_equal(cuda_cubin_kernels(&binary, names, 1), 1);
    random_init(&random, 7, 0);
    for (size_t cut = 0; cut < size; cut++) {
        /* On the heap, so that a sanitizer sees a read past the end. */
        binary = (struct gpu_binary){.bytes = malloc(cut + 1), .size = cut};
        assert_non_null(binary.bytes);
        memcpy(binary.bytes, whole, cut);
        assert_true(cuda_cubin_kernels(&binary, names, 8) <= 2);
        free(binary.bytes);
    }
    for (int round = 0; round < 20000; round++) {
        binary = (struct gpu_binary){.bytes = malloc(size), .size = size};
        assert_non_null(binary.bytes);
        memcpy(binary.bytes, whole, size);
        for (int i = 0; i < 3; i++)
            binary.bytes[random_next_below(&random, size)] = (unsigned char)random_next(&random);
        assert_true(cuda_cubin_kernels(&binary, names, 8) <= 8);
        free(binary.bytes);
    }
}
