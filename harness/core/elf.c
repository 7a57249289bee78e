#include "harness/core/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOTES_MAX ((size_t)1 << 20)
#define HEADERS_MAX 512

/* One segment of notes, from either class's program header. */
struct note_segment {
    uint64_t offset, size;
};

static bool read_at(int fd, void *bytes, size_t length, uint64_t offset)
{
    return pread(fd, bytes, length, (off_t)offset) == (ssize_t)length;
}

/* Finds NT_GNU_BUILD_ID in a block of notes; every size is checked against what is left. */
static bool find_build_id(const unsigned char *notes, size_t length, char *ret)
{
    while (length >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note; /* the same layout in both classes */
        size_t name_size, desc_size;

        memcpy(&note, notes, sizeof(note));
        notes += sizeof(note);
        length -= sizeof(note);
        name_size = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        desc_size = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name_size > length || desc_size > length - name_size)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(notes, "GNU", 4) &&
            note.n_descsz > 0 && note.n_descsz <= 64) {
            for (size_t i = 0; i < note.n_descsz; i++)
                snprintf(ret + 2 * i, 3, "%02x", notes[name_size + i]);
            return true;
        }
        notes += name_size + desc_size;
        length -= name_size + desc_size;
    }
    return false;
}

static bool segment_at(int fd, bool wide, uint64_t offset, struct note_segment *ret)
{
    if (wide) {
        Elf64_Phdr header;

        if (!read_at(fd, &header, sizeof(header), offset) || header.p_type != PT_NOTE)
            return false;
        *ret = (struct note_segment){header.p_offset, header.p_filesz};
    } else {
        Elf32_Phdr header;

        if (!read_at(fd, &header, sizeof(header), offset) || header.p_type != PT_NOTE)
            return false;
        *ret = (struct note_segment){header.p_offset, header.p_filesz};
    }
    return ret->size <= NOTES_MAX;
}

static enum status scan(int fd, const char *path, char *ret, struct error *err)
{
    unsigned char ident[EI_NIDENT];
    Elf64_Ehdr header = {0};
    bool wide;

    if (!read_at(fd, ident, sizeof(ident), 0) || memcmp(ident, ELFMAG, SELFMAG))
        return error_set(err, STATUS_INVALID, "%s: not an ELF file", path);
    if (ident[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
        return error_set(err, STATUS_INVALID, "%s: an ELF file of another byte order", path);
    wide = ident[EI_CLASS] == ELFCLASS64;
    if (wide) {
        if (!read_at(fd, &header, sizeof(header), 0))
            return error_set(err, STATUS_INVALID, "%s: a damaged ELF file", path);
    } else {
        Elf32_Ehdr narrow;

        if (!read_at(fd, &narrow, sizeof(narrow), 0))
            return error_set(err, STATUS_INVALID, "%s: a damaged ELF file", path);
        header.e_phoff = narrow.e_phoff;
        header.e_phnum = narrow.e_phnum;
        header.e_phentsize = narrow.e_phentsize;
    }
    for (unsigned i = 0; i < header.e_phnum && i < HEADERS_MAX; i++) {
        struct note_segment segment;
        unsigned char *notes;
        bool found;

        if (!segment_at(fd, wide, header.e_phoff + (uint64_t)i * header.e_phentsize, &segment) ||
            segment.size == 0)
            continue;
        notes = malloc(segment.size);
        if (!notes)
            return error_set(err, STATUS_NO_MEMORY, "%s: no memory for its notes", path);
        found = read_at(fd, notes, segment.size, segment.offset) &&
                find_build_id(notes, segment.size, ret);
        free(notes);
        if (found)
            return STATUS_OK;
    }
    return error_set(err, STATUS_NOT_FOUND, "%s: no build-id", path);
}

enum status elf_build_id(const char *path, char ret[ELF_BUILD_ID_SIZE], struct error *err)
{
    char build_id[ELF_BUILD_ID_SIZE] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    enum status status;

    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
    status = scan(fd, path, build_id, err);
    close(fd);
    if (status == STATUS_OK)
        memcpy(ret, build_id, sizeof(build_id));
    return status;
}
