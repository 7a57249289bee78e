#include "harness/core/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gelf.h>
#include <sodium.h>

#define NOTES_MAX ((uint64_t)1 << 20)

static enum status damaged(const char *path, struct error *err)
{
    return error_set(err, STATUS_INVALID, "%s: not an ELF file, or a damaged one", path);
}

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
        return damaged(path, err);
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

/* ---- links ---- */

/* The bytes that are mapped from this address on; NULL: none of the file are. */
static Elf_Data *chunk_at(Elf *elf, size_t segments, uint64_t address, uint64_t size)
{
    GElf_Phdr header;

    for (size_t i = 0; i < segments; i++)
        if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD &&
            address >= header.p_vaddr && address - header.p_vaddr <= header.p_filesz &&
            size <= header.p_filesz - (address - header.p_vaddr))
            return elf_getdata_rawchunk(
                elf, (int64_t)(header.p_offset + (address - header.p_vaddr)), size, ELF_T_BYTE);
    return NULL;
}

static bool find_dynamic(Elf *elf, size_t segments, Elf_Data **ret, size_t *ret_count)
{
    const size_t entry = gelf_fsize(elf, ELF_T_DYN, 1, EV_CURRENT);
    GElf_Phdr header;

    for (size_t i = 0; i < segments && entry > 0; i++)
        if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_DYNAMIC) {
            *ret = header.p_filesz <= NOTES_MAX
                       ? elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz,
                                              ELF_T_DYN)
                       : NULL;
            *ret_count = *ret ? header.p_filesz / entry : 0;
            return true;
        }
    return false;
}

static enum status take_links(Elf_Data *dynamic, size_t count, const char *texts, size_t size,
                              struct elf_links *ret, struct error *err)
{
    size_t needed = 0;
    GElf_Dyn entry;

    ret->needed = calloc(count + 1, sizeof(*ret->needed));
    if (!ret->needed)
        return error_no_memory(err);
    for (size_t i = 0; i < count && gelf_getdyn(dynamic, (int)i, &entry); i++) {
        char **to = entry.d_tag == DT_NEEDED   ? &ret->needed[needed]
                    : entry.d_tag == DT_SONAME ? &ret->name
                                               : NULL;

        if (!to || *to || entry.d_un.d_val >= size)
            continue;
        *to = strdup(texts + entry.d_un.d_val);
        if (!*to)
            return error_no_memory(err);
        needed += entry.d_tag == DT_NEEDED;
    }
    return STATUS_OK;
}

static enum status scan_links(Elf *elf, const char *path, struct elf_links *ret, struct error *err)
{
    size_t segments, count = 0;
    uint64_t address = 0, size = 0;
    Elf_Data *dynamic = NULL, *texts;
    GElf_Dyn entry;

    if (elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &segments))
        return damaged(path, err);
    if (!find_dynamic(elf, segments, &dynamic, &count))
        return STATUS_OK;
    for (size_t i = 0; i < count && gelf_getdyn(dynamic, (int)i, &entry); i++) {
        address = entry.d_tag == DT_STRTAB ? entry.d_un.d_ptr : address;
        size = entry.d_tag == DT_STRSZ ? entry.d_un.d_val : size;
    }
    texts = size > 0 ? chunk_at(elf, segments, address, size) : NULL;
    if (!texts || ((const char *)texts->d_buf)[size - 1] != '\0')
        return damaged(path, err);
    return take_links(dynamic, count, texts->d_buf, size, ret, err);
}

void elf_links_finish(struct elf_links *links)
{
    free(links->name);
    for (char **name = links->needed; name && *name; name++)
        free(*name);
    free(links->needed);
    *links = (struct elf_links){0};
}

static enum status open_elf(const char *path, int *ret_fd, Elf **ret, struct error *err)
{
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*ret_fd < 0)
        return error_set_errno(err, errno, "%s", path);
    elf_version(EV_CURRENT);
    *ret = elf_begin(*ret_fd, ELF_C_READ, NULL);
    return STATUS_OK;
}

enum status elf_read_links(const char *path, struct elf_links *ret, struct error *err)
{
    enum status status;
    Elf *elf = NULL;
    int fd;

    *ret = (struct elf_links){0};
    TRY(open_elf(path, &fd, &elf, err));
    status = scan_links(elf, path, ret, err);
    elf_end(elf);
    close(fd);
    if (status != STATUS_OK)
        elf_links_finish(ret);
    return status;
}

static enum status scan_loader(Elf *elf, const char *path, char **ret, struct error *err)
{
    size_t count;

    if (elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &count))
        return damaged(path, err);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        const Elf_Data *name;

        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_INTERP)
            continue;
        name =
            header.p_filesz > 0 && header.p_filesz <= PATH_MAX
                ? elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz, ELF_T_BYTE)
                : NULL;
        if (!name)
            return damaged(path, err);
        *ret = strndup(name->d_buf, name->d_size);
        return *ret ? STATUS_OK : error_no_memory(err);
    }
    return error_set(err, STATUS_NOT_FOUND, "%s: it needs no loader", path);
}

enum status elf_read_loader(const char *path, char **ret, struct error *err)
{
    enum status status;
    Elf *elf = NULL;
    int fd;

    TRY(open_elf(path, &fd, &elf, err));
    status = scan_loader(elf, path, ret, err);
    elf_end(elf);
    close(fd);
    return status;
}

enum status elf_build_id(const char *path, char ret[ELF_BUILD_ID_SIZE], struct error *err)
{
    enum status status;
    Elf *elf = NULL;
    int fd;

    TRY(open_elf(path, &fd, &elf, err));
    status = scan(elf, path, ret, err);
    elf_end(elf);
    close(fd);
    return status;
}
