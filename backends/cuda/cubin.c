#include "backends/cuda/internal.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

/* A CUBIN is a 64-bit ELF file; each kernel has a section ".text.NAME" of code. */
size_t cuda_cubin_kernels(const struct gpu_binary *binary, char (*ret)[64], size_t capacity)
{
    static const char prefix[] = ".text.";
    const unsigned char *bytes = binary->bytes;
    const size_t size = binary->size;
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    size_t count = 0;

    if (size < sizeof(header) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return 0;
    memcpy(&header, bytes, sizeof(header));
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(section) ||
        header.e_shoff > size ||
        (size_t)header.e_shnum * sizeof(section) > size - (size_t)header.e_shoff ||
        header.e_shstrndx >= header.e_shnum)
        return 0;
    memcpy(&names, bytes + header.e_shoff + header.e_shstrndx * sizeof(names), sizeof(names));
    if (names.sh_offset > size || names.sh_size > size - names.sh_offset || names.sh_size == 0 ||
        bytes[names.sh_offset + names.sh_size - 1] != '\0')
        return 0;
    for (size_t i = 0; i < header.e_shnum && count < capacity; i++) {
        const char *name;

        memcpy(&section, bytes + header.e_shoff + i * sizeof(section), sizeof(section));
        if (section.sh_type != SHT_PROGBITS || section.sh_name >= names.sh_size)
            continue;
        name = (const char *)bytes + names.sh_offset + section.sh_name;
        if (strncmp(name, prefix, sizeof(prefix) - 1) == 0 &&
            strlen(name) - (sizeof(prefix) - 1) < sizeof(ret[0]))
            snprintf(ret[count++], sizeof(ret[0]), "%s", name + sizeof(prefix) - 1);
    }
    return count;
}
