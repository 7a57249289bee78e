#include "harness/core/processor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"

char *processor_line(const char *cpuinfo, const char *key)
{
    const size_t length = strlen(key);

    for (const char *line = cpuinfo; line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *at = line + length;
        struct text value;

        if (strncmp(line, key, length) != 0)
            continue;
        at += strspn(at, " \t");
        if (*at != ':')
            continue;
        at++;
        at += strspn(at, " \t");
        text_init(&value);
        text_append_printable(&value, at, strcspn(at, "\n"));
        return text_steal(&value);
    }
    return NULL;
}

/* MIDR_EL1.Implementer: Arm Architecture Reference Manual, and the kernel's asm/cputype.h. */
static const struct designer {
    unsigned long number;
    const char *name;
} designers[] = {
    {0x41, "Arm"},       {0x42, "Broadcom"},  {0x43, "Cavium"},  {0x46, "Fujitsu"},
    {0x48, "HiSilicon"}, {0x4e, "NVIDIA"},    {0x50, "Ampere"},  {0x51, "Qualcomm"},
    {0x61, "Apple"},     {0x6d, "Microsoft"}, {0x70, "Phytium"}, {0xc0, "Ampere"},
};

/* MIDR_EL1.PartNum of servers and of processors in accelerator machines. */
static const struct part {
    unsigned long designer, number;
    const char *name;
} parts[] = {
    {0x41, 0xd03, "Cortex-A53"},    {0x41, 0xd07, "Cortex-A57"},
    {0x41, 0xd08, "Cortex-A72"},    {0x41, 0xd0b, "Cortex-A76"},
    {0x41, 0xd0c, "Neoverse-N1"},   {0x41, 0xd40, "Neoverse-V1"},
    {0x41, 0xd42, "Cortex-A78AE"},  {0x41, 0xd49, "Neoverse-N2"},
    {0x41, 0xd4a, "Neoverse-E1"},   {0x41, 0xd4f, "Neoverse-V2"},
    {0x41, 0xd83, "Neoverse-V3AE"}, {0x41, 0xd84, "Neoverse-V3"},
    {0x41, 0xd8e, "Neoverse-N3"},   {0x43, 0x0af, "ThunderX2"},
    {0x46, 0x001, "A64FX"},         {0x48, 0xd01, "TaiShan-v110"},
    {0x4e, 0x004, "Carmel"},        {0x6d, 0xd49, "Azure-Cobalt-100"},
    {0xc0, 0xac3, "Ampere-1"},      {0xc0, 0xac4, "Ampere-1a"},
};

static bool read_number(const char *cpuinfo, const char *key, unsigned long *ret)
{
    char *line = processor_line(cpuinfo, key), *end = NULL;
    bool good = false;

    if (line) {
        *ret = strtoul(line, &end, 0);
        good = end != line && *end == '\0';
    }
    free(line);
    return good;
}

static char *designer_name(unsigned long number)
{
    for (size_t i = 0; i < sizeof(designers) / sizeof(designers[0]); i++)
        if (designers[i].number == number)
            return strdup(designers[i].name);
    return text_format("Arm designer 0x%02lx", number);
}

static char *implementation_name(const char *cpuinfo)
{
    unsigned long designer, number, variant, revision;
    char *who, *name = NULL;

    if (!read_number(cpuinfo, "CPU implementer", &designer) ||
        !read_number(cpuinfo, "CPU part", &number) ||
        !read_number(cpuinfo, "CPU variant", &variant) ||
        !read_number(cpuinfo, "CPU revision", &revision))
        return NULL;
    who = designer_name(designer);
    for (size_t i = 0; who && !name && i < sizeof(parts) / sizeof(parts[0]); i++)
        if (parts[i].designer == designer && parts[i].number == number)
            name = text_format("%s %s r%lup%lu", who, parts[i].name, variant, revision);
    if (who && !name)
        name = text_format("%s part 0x%03lx r%lup%lu", who, number, variant, revision);
    free(who);
    return name;
}

/* The first of these lines that is present and not empty. */
static char *first_line(const char *cpuinfo, const char *const *keys)
{
    for (; *keys; keys++) {
        char *line = processor_line(cpuinfo, *keys);

        if (line && line[0])
            return line;
        free(line);
    }
    return NULL;
}

char *processor_name(const char *cpuinfo)
{
    /* x86; LoongArch; POWER; RISC-V */
    static const char *const keys[] = {"model name", "Model Name", "cpu", "uarch", NULL};
    char *name = first_line(cpuinfo, keys);

    return name ? name : implementation_name(cpuinfo);
}

char *processor_vendor(const char *cpuinfo)
{
    static const char *const keys[] = {"vendor_id", NULL};
    char *vendor = first_line(cpuinfo, keys);
    unsigned long designer;

    if (!vendor && read_number(cpuinfo, "CPU implementer", &designer))
        vendor = designer_name(designer);
    return vendor;
}
