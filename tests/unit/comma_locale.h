/*
 * comma_locale - puts the process into a locale whose decimal point is a comma, for tests of code
 * that must not care.
 */
#ifndef ASSAY_TESTS_UNIT_COMMA_LOCALE_H
#define ASSAY_TESTS_UNIT_COMMA_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Uses one that is installed, or compiles one into a temporary folder; false where neither works.
 */
static inline bool comma_locale_enter(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    char folder[] = "/tmp/assay-locale-XXXXXX", command[256];
    bool entered = false;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); ++i)
        if (setlocale(LC_ALL, names[i]))
            return true;
    if (!mkdtemp(folder))
        return false;
    snprintf(command, sizeof(command),
             "localedef --no-archive -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    if (!system(command)) {
        setenv("LOCPATH", folder, 1);
        entered = setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
        unsetenv("LOCPATH");
    }
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    if (system(command))
        fprintf(stderr, "%s was left behind\n", folder);
    return entered && !strcmp(localeconv()->decimal_point, ",");
}

static inline void comma_locale_leave(void)
{
    setlocale(LC_ALL, "C");
}

#endif
