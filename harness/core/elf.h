/* elf - the GNU build-id of a file, the linker's own name for these bytes; read by libelf. */
#ifndef ASSAY_CORE_ELF_H
#define ASSAY_CORE_ELF_H

#include "harness/core/status.h"

#define ELF_BUILD_ID_SIZE 129 /* 64 bytes as hex, and NUL */

/*
 * Reads the note NT_GNU_BUILD_ID through the program headers (System V gABI, "Program Header";
 * "Note Section"). NOT_FOUND: an ELF file without one. INVALID: not an ELF file, or damaged.
 */
enum status elf_build_id(const char *path, char ret[ELF_BUILD_ID_SIZE], struct error *err);

#endif
