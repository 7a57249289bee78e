#include "harness/core/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <gelf.h>
#include <sodium.h>

#define NOTES_MAX ((uint64_t)1 << 20)

/* Finds NT_GNU_BUILD_ID in a segment of notes; NULL has none. */
static bool find_build_id(Elf_Data *notes, char *ret)
{
    size_t at = 0, name, content;
    GElf_Nhdr note;

    while (notes && (at = gelf_getnote(notes, at, &note, &name, &content)) > 0) {
        const unsigned char *bytes = notes->d_buf;

        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
            !memcmp(bytes + name, "GNU", sizeof("GNU")) && note.n_descsz > 0 &&
            note.n_descsz <= ELF_BUILD_ID_SIZE / 2)
            return sodium_bin2hex(ret, ELF_BUILD_ID_SIZE, bytes + content, note.n_descsz);
    }
    return false;
}

static enum status scan(Elf *elf, const char *path, char *ret, struct error *err)
{
    size_t count;

    if (elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &count))
        return error_set(err, STATUS_INVALID, "%s: not an ELF file, or a damaged one", path);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;

        if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_NOTE &&
            header.p_filesz <= NOTES_MAX &&
            find_build_id(elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz,
                                               header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
                          ret))
            return STATUS_OK;
    }
    return error_set(err, STATUS_NOT_FOUND, "%s: no build-id", path);
}

enum status elf_build_id(const char *path, char ret[ELF_BUILD_ID_SIZE], struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    enum status status;
    Elf *elf;

    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ, NULL);
    status = scan(elf, path, ret, err);
    elf_end(elf);
    close(fd);
    return status;
}
