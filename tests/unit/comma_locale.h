/*
 * comma_locale - puts the process into a locale whose decimal point is a comma, for tests of code
 * that must not depend on it.
 */
#ifndef ASSAY_TESTS_UNIT_COMMA_LOCALE_H
#define ASSAY_TESTS_UNIT_COMMA_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Compiles a locale with a decimal comma and nothing else into a temporary folder and sets it;
 * false where that fails. localedef ends with 1 for the categories that it does not find.
 */
static inline bool comma_locale_enter(void)
{
    static const char source[] = "LC_NUMERIC\ndecimal_point \"<U002C>\"\nthousands_sep \"\"\n"
                                 "grouping -1\nEND LC_NUMERIC\n";
    char folder[] = "/tmp/assay-locale-XXXXXX", path[64], command[256];
    bool entered = false;
    FILE *file;

    if (!mkdtemp(folder))
        return false;
    snprintf(path, sizeof(path), "%s/source", folder);
    file = fopen(path, "w");
    if (file && fputs(source, file) >= 0 && !fclose(file)) {
        snprintf(command, sizeof(command),
                 "cd %s && { localedef -c --no-archive -i ./source ./comma >/dev/null 2>&1 || "
                 "test -e comma/LC_NUMERIC; }",
                 folder);
        if (!system(command)) {
            setenv("LOCPATH", folder, 1);
            entered = setlocale(LC_NUMERIC, "comma") != NULL;
            unsetenv("LOCPATH");
        }
    }
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    if (system(command))
        fprintf(stderr, "%s was left behind\n", folder);
    return entered && !strcmp(localeconv()->decimal_point, ",");
}

static inline void comma_locale_leave(void)
{
    setlocale(LC_NUMERIC, "C");
}

#endif
