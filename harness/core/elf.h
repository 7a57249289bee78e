/*
 * elf - the GNU build-id of a file, the linker's own name for these bytes, and which libraries it
 * needs; read by libelf.
 */
#ifndef ASSAY_CORE_ELF_H
#define ASSAY_CORE_ELF_H

#include "harness/core/status.h"

#define ELF_BUILD_ID_SIZE 129 /* 64 bytes as hex, and NUL */

/*
 * Reads the note NT_GNU_BUILD_ID through the program headers (System V gABI, "Program Header";
 * "Note Section"). NOT_FOUND: an ELF file without one. INVALID: not an ELF file, or damaged.
 */
enum status elf_build_id(const char *path, char ret[ELF_BUILD_ID_SIZE], struct error *err);

/* What a file says to the dynamic linker (System V gABI, "Dynamic Section"). */
struct elf_links {
    char *name;    /* by which others need it (DT_SONAME), heap; NULL: none */
    char **needed; /* the names that it needs (DT_NEEDED); heap, NULL ends it */
};

/* Fills it in; what has no dynamic section has no name and needs none. Errors as above. */
enum status elf_read_links(const char *path, struct elf_links *ret, struct error *err);
void elf_links_finish(struct elf_links *links);

/*
 * The program that loads it (PT_INTERP), heap. NOT_FOUND: it needs none. Other errors as above.
 */
enum status elf_read_loader(const char *path, char **ret, struct error *err);

#endif
