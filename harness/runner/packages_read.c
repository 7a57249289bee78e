/* Reads the package managers' databases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/machine_root.h"
#include "harness/core/process.h"
#include "harness/core/text.h"
#include "harness/runner/packages_internal.h"

#define LIST_MAX ((size_t)16 << 20)
#define DATABASE_MAX ((size_t)128 << 20)
#define RPM_TIMEOUT_NS (INT64_C(30) * 1000000000)

/* What follows `key` at the line's beginning; NULL: another line. */
static char *field(char *line, const char *key)
{
    size_t length = strlen(key);

    return strncmp(line, key, length) ? NULL : line + length;
}

/* Looks no further than the line: AddressSanitizer's strchr reads the whole rest of the text. */
static char *next_line(char *line)
{
    while (*line && *line != '\n')
        line++;
    if (!*line)
        return NULL;
    *line = '\0';
    return line + 1;
}

/* "libc6" and "amd64", or a name alone, as "libc6:amd64"; kept. */
static char *join(struct packages *packages, const char *name, const char *architecture)
{
    return packages_keep(packages, text_format("%s%s%s", name, architecture ? ":" : "",
                                               architecture ? architecture : ""));
}

/* ---- dpkg ---- */

#define DPKG_INFO "/var/lib/dpkg/info"

/* "libc6:amd64.list": every file of a package, a line each. */
static void read_dpkg_list(struct packages *packages, const char *file)
{
    char path[PATH_MAX], *text = NULL, *next;
    size_t length = strlen(file), owner;

    if (length <= 5 || strcmp(file + length - 5, ".list") ||
        snprintf(path, sizeof(path), DPKG_INFO "/%s", file) >= (int)sizeof(path) ||
        machine_read(path, LIST_MAX, &text, NULL) != STATUS_OK)
        return;
    text = packages_keep(packages, text);
    owner = packages_add_owner(packages, "dpkg", packages_keep(packages, strndup(file, length - 5)),
                               NULL);
    for (char *line = text; line; line = next) {
        next = next_line(line);
        packages_add_file(packages, owner, line);
    }
}

/* "libc6:amd64" is libc6 of amd64; "tzdata" is whichever there is. */
static bool is_dpkg_name(const char *name, const char *package, const char *architecture)
{
    size_t length = strcspn(name, ":");

    return strlen(package) == length && !strncmp(package, name, length) &&
           (!name[length] || !strcmp(architecture, name + length + 1));
}

/* Stanzas of "Field: value", an empty line between them; they give the owners their versions. */
static void read_dpkg_status(struct packages *packages)
{
    const char *package = NULL, *version = NULL, *architecture = NULL;
    char *text = NULL, *next;

    if (machine_read("/var/lib/dpkg/status", DATABASE_MAX, &text, NULL) != STATUS_OK)
        return;
    text = packages_keep(packages, text);
    for (char *line = text; line; line = next) {
        next = next_line(line);
        if (field(line, "Package: "))
            package = field(line, "Package: ");
        else if (field(line, "Version: "))
            version = field(line, "Version: ");
        else if (field(line, "Architecture: "))
            architecture = field(line, "Architecture: ");
        if (line[0] && next)
            continue;
        for (size_t i = 0; package && version && architecture && i < packages->owner_count; i++)
            if (!packages->owners[i].version &&
                is_dpkg_name(packages->owners[i].name, package, architecture))
                packages->owners[i].version = version;
        package = version = architecture = NULL;
    }
}

void packages_read_dpkg(struct packages *packages)
{
    char **files = machine_list(DPKG_INFO, "");

    for (size_t i = 0; files && files[i] && !packages->failed; i++)
        read_dpkg_list(packages, files[i]);
    packages->failed = packages->failed || !files;
    machine_list_free(files);
    if (packages->owner_count > 0)
        read_dpkg_status(packages);
}

/* ---- rpm ---- */

/* The folder of rpm's database here, on the machine that is read; false: none. */
static bool find_rpm(char ret[PATH_MAX])
{
    static const char *const folders[] = {"/usr/lib/sysimage/rpm", "/var/lib/rpm"};
    static const char *const files[] = {"rpmdb.sqlite", "Packages.db", "Packages"};
    char path[PATH_MAX], full[PATH_MAX];

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
            snprintf(path, sizeof(path), "%s/%s", folders[i], files[k]);
            if (machine_path(full, path) && access(full, R_OK) == 0)
                return machine_path(ret, folders[i]);
        }
    return false;
}

void packages_read_rpm(struct packages *packages)
{
    char folder[PATH_MAX], *text = NULL, *next;
    char *argv[] = {(char *)"rpm",
                    (char *)"--dbpath",
                    folder,
                    (char *)"-qa",
                    (char *)"--queryformat",
                    (char *)"%{NAME}:%{ARCH}\\t%|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\\n"
                            "[\\t%{FILENAMES}\\n]",
                    NULL};
    size_t owner = PACKAGES_NOBODY;

    if (!find_rpm(folder) ||
        process_capture(argv, RPM_TIMEOUT_NS, DATABASE_MAX, &text, NULL, NULL) != STATUS_OK)
        return;
    text = packages_keep(packages, text);
    for (char *line = text; line; line = next) {
        char *tab;

        next = next_line(line);
        tab = strchr(line, '\t');
        if (tab == line) {
            packages_add_file(packages, owner, line + 1);
        } else if (tab) {
            *tab = '\0';
            owner = packages_add_owner(packages, "rpm", line, tab + 1);
        }
    }
}

/* ---- pacman ---- */

#define PACMAN_LOCAL "/var/lib/pacman/local"

/* Lines after a heading "%NAME%" up to an empty one. */
static void read_pacman(struct packages *packages, const char *folder)
{
    const char *name = NULL, *version = NULL, *architecture = NULL, *heading = "";
    char path[PATH_MAX], *text = NULL, *next;
    size_t owner;

    snprintf(path, sizeof(path), PACMAN_LOCAL "/%.255s/desc", folder);
    if (machine_read(path, LIST_MAX, &text, NULL) != STATUS_OK)
        return;
    text = packages_keep(packages, text);
    for (char *line = text; line; line = next) {
        next = next_line(line);
        if (line[0] == '%')
            heading = line;
        else if (line[0] && !strcmp(heading, "%NAME%"))
            name = line;
        else if (line[0] && !strcmp(heading, "%VERSION%"))
            version = line;
        else if (line[0] && !strcmp(heading, "%ARCH%"))
            architecture = line;
    }
    snprintf(path, sizeof(path), PACMAN_LOCAL "/%.255s/files", folder);
    if (!name || !version || machine_read(path, LIST_MAX, &text, NULL) != STATUS_OK)
        return;
    owner = packages_add_owner(packages, "pacman", join(packages, name, architecture), version);
    text = packages_keep(packages, text);
    heading = "";
    for (char *line = text; line; line = next) {
        next = next_line(line);
        if (line[0] == '%')
            heading = line;
        else if (line[0] && !strcmp(heading, "%FILES%"))
            packages_take_file(packages, owner, text_format("/%s", line));
    }
}

void packages_read_pacman(struct packages *packages)
{
    char **folders = machine_list(PACMAN_LOCAL, "");

    for (size_t i = 0; folders && folders[i] && !packages->failed; i++)
        read_pacman(packages, folders[i]);
    packages->failed = packages->failed || !folders;
    machine_list_free(folders);
}

/* ---- apk ---- */

/* "P:musl", "V:1.2.5-r0", "A:x86_64", then "F:lib" for a folder and "R:ld-musl.so.1" in it. */
void packages_read_apk(struct packages *packages)
{
    const char *name = NULL, *version = NULL, *architecture = NULL, *folder = "";
    char *text = NULL, *next;
    size_t owner = PACKAGES_NOBODY;

    if (machine_read("/lib/apk/db/installed", DATABASE_MAX, &text, NULL) != STATUS_OK)
        return;
    text = packages_keep(packages, text);
    for (char *line = text; line; line = next) {
        next = next_line(line);
        if (!line[0]) {
            name = version = architecture = NULL;
            owner = PACKAGES_NOBODY;
        } else if (field(line, "P:")) {
            name = field(line, "P:");
        } else if (field(line, "V:")) {
            version = field(line, "V:");
        } else if (field(line, "A:")) {
            architecture = field(line, "A:");
        } else if (field(line, "F:")) {
            folder = field(line, "F:");
        } else if (field(line, "R:") && name && version) {
            if (owner == PACKAGES_NOBODY)
                owner = packages_add_owner(packages, "apk", join(packages, name, architecture),
                                           version);
            packages_take_file(packages, owner, text_format("/%s/%s", folder, field(line, "R:")));
        }
    }
}
