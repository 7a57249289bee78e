/* programs - starts programs in the folder of device_check: assay, the suite, a script. */
#ifndef ASSAY_TESTS_DEVICE_PROGRAMS_H
#define ASSAY_TESTS_DEVICE_PROGRAMS_H

#include <stdbool.h>

#include <jansson.h>

/*
 * Finds this program's folder. The programs are in it, declarations and scripts in ../declared
 * (packed) or in DEVICE_CHECK_DECLARED. False, with a message on stderr.
 */
bool programs_find(void);
const char *programs_declared(void);

/*
 * Runs a program with NULL-terminated arguments: the one of that name in this program's folder,
 * else in PATH; a name with a slash is a path. Its output is heap. False, with a message on stderr,
 * when it could not be run or took longer; *code is -1 for one that a signal ended.
 */
bool program_run(const char *name, const char *const *arguments, int minutes, char **ret,
                 int *code);
/* The data of its JSON output (`assay COMMAND --json`), new; NULL when there is none. */
json_t *program_run_json(const char *name, const char *const *arguments, int minutes, int *code);

#endif
