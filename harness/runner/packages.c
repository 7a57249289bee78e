#include "harness/runner/packages.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <sodium.h>

#include "harness/core/array.h"
#include "harness/core/file.h"
#include "harness/core/machine_root.h"
#include "harness/core/process.h"
#include "harness/core/text.h"
#include "protocols/same_stack.h"

#define PACKAGES_NOBODY ((size_t)-1)

struct packages_entry {
    const char *path;     /* into a kept text, without "/usr" in front */
    size_t owner;         /* in `owners` */
    const char *recorded; /* digest of its content, in one of `forms`; NULL: none */
    bool is_judged;       /* the content that was compared last, and whether it is that one */
    bool is_recorded;
    struct digest judged;
};

struct packages_owner {
    struct package package; /* without a version: not installed */
    int64_t installed_ns;   /* dpkg: when its list of files was written; 0: not known */
    bool is_read;           /* dpkg: the digests of its files were */
};

#define PACKAGES_SITES_MAX 64

struct packages {
    struct packages_entry *entries; /* sorted by path once all are there */
    size_t count;
    struct packages_owner *owners;
    size_t owner_count;
    char **texts; /* what the strings point into */
    size_t text_count;
    const char *sites[PACKAGES_SITES_MAX]; /* folders of wheels that were read */
    size_t site_count;
    bool failed; /* no memory */
};

/* ---- databases of package managers ---- */

#define LIST_MAX ((size_t)16 << 20)
#define DATABASE_MAX ((size_t)128 << 20)
#define RPM_TIMEOUT_NS (INT64_C(30) * 1000000000)

static char *packages_keep(struct packages *packages, char *text);
static size_t packages_add_owner(struct packages *packages, const char *manager, const char *name,
                                 const char *version);
static struct packages_entry *packages_add_file(struct packages *packages, size_t owner,
                                                const char *path);
static struct packages_entry *packages_take_file(struct packages *packages, size_t owner,
                                                 char *path);
static bool packages_is_of_interest(const char *path);
static void packages_sort(struct packages *packages);
static struct packages_entry *packages_first(const struct packages *packages, const char *path);
static bool packages_is_alike(const struct packages *packages, const struct packages_entry *entry,
                              const char *path);

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

/* Of the last change of a file's content; 0: not known. */
static int64_t time_of(const char *path)
{
    char full[PATH_MAX];
    struct stat info;

    return machine_path(full, path) && stat(full, &info) == 0
               ? (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec
               : 0;
}

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
    if (owner != PACKAGES_NOBODY)
        packages->owners[owner].installed_ns = time_of(path);
    for (char *line = text; line; line = next) {
        next = next_line(line);
        packages_add_file(packages, owner, line);
    }
}

/* "libc6:amd64.md5sums": "DIGEST  PATH", the path without the first "/". Not of all packages. */
static void read_dpkg_digests(struct packages *packages, size_t owner)
{
    const struct package *package = &packages->owners[owner].package;
    char path[PATH_MAX], *text = NULL, *next;

    packages->owners[owner].is_read = true;
    if (snprintf(path, sizeof(path), DPKG_INFO "/%s.md5sums", package->name) >= (int)sizeof(path) ||
        machine_read(path, LIST_MAX, &text, NULL) != STATUS_OK)
        return;
    text = packages_keep(packages, text);
    for (char *line = text; line; line = next) {
        const size_t digest = strcspn(line, " \n");
        struct packages_entry *entry;

        next = next_line(line);
        if (strncmp(line + digest, "  ", 2))
            continue;
        line[digest] = '\0';
        line[digest + 1] = '/';
        entry = packages_first(packages, line + digest + 1);
        for (; entry && packages_is_alike(packages, entry, line + digest + 1); entry++)
            if (entry->owner == owner)
                entry->recorded = line;
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
        for (size_t i = 0; package && version && architecture && i < packages->owner_count; i++) {
            struct package *owner = &packages->owners[i].package;

            if (!owner->version && is_dpkg_name(owner->name, package, architecture))
                owner->version = version;
        }
        package = version = architecture = NULL;
    }
}

/* The managers. Each adds nothing where its database is not there. */
static void packages_read_dpkg(struct packages *packages)
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

static void packages_read_rpm(struct packages *packages)
{
    char folder[PATH_MAX], *text = NULL, *next;
    char *argv[] = {(char *)"rpm",
                    (char *)"--dbpath",
                    folder,
                    (char *)"-qa",
                    (char *)"--queryformat",
                    (char *)"%{NAME}:%{ARCH}\\t%|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\\n"
                            "[\\t%{FILEDIGESTS}\\t%{FILENAMES}\\n]",
                    NULL};
    size_t owner = PACKAGES_NOBODY;

    if (!find_rpm(folder) ||
        process_capture(argv, RPM_TIMEOUT_NS, DATABASE_MAX, &text, NULL, NULL) != STATUS_OK)
        return;
    text = packages_keep(packages, text);
    for (char *line = text; line; line = next) {
        struct packages_entry *file;
        char *tab;

        next = next_line(line);
        tab = strchr(line, '\t');
        if (tab == line) {
            tab = strchr(line + 1, '\t');
            file = tab ? packages_add_file(packages, owner, tab + 1) : NULL;
            if (file) {
                *tab = '\0';
                file->recorded = line + 1;
            }
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

static void packages_read_pacman(struct packages *packages)
{
    char **folders = machine_list(PACMAN_LOCAL, "");

    for (size_t i = 0; folders && folders[i] && !packages->failed; i++)
        read_pacman(packages, folders[i]);
    packages->failed = packages->failed || !folders;
    machine_list_free(folders);
}

/* ---- apk ---- */

/*
 * "P:musl", "V:1.2.5-r0", "A:x86_64", then "F:lib" for a folder, "R:ld-musl.so.1" in it, and
 * "Z:Q1..." with its SHA-1 in base64.
 */
static void packages_read_apk(struct packages *packages)
{
    const char *name = NULL, *version = NULL, *architecture = NULL, *folder = "";
    char *text = NULL, *next;
    struct packages_entry *file = NULL;
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
            file = packages_take_file(packages, owner,
                                      text_format("/%s/%s", folder, field(line, "R:")));
        } else if (field(line, "Z:Q1") && file) {
            file->recorded = field(line, "Z:Q1");
        }
    }
}

/* ---- wheels ---- */

/*
 * Wheels of Python: each has a folder NAME-VERSION.dist-info in site-packages, whose RECORD lists
 * the installed files, relative to site-packages, with their digests ("Recording installed
 * projects", packaging.python.org; first PEP 376). They lie wherever an environment was made, so
 * they are looked for above the file in question.
 */

#define RECORD_MAX ((size_t)16 << 20)
#define METHOD "sha256="

/* `folder` "/a/b/c" and `relative` "../x/y.so" as "/a/b/x/y.so"; heap, NULL: none, or no memory. */
static char *join_path(const char *folder, const char *relative)
{
    size_t length = strlen(folder);

    for (; !strncmp(relative, "../", 3); relative += 3) {
        while (length > 0 && folder[length - 1] != '/')
            length--;
        length -= length > 0;
    }
    return length > 0 && relative[0] != '/' ? text_format("%.*s/%s", (int)length, folder, relative)
                                            : NULL;
}

/* A line of RECORD: PATH,sha256=DIGEST,SIZE; a path with a comma is quoted. */
static void read_line(struct packages *packages, size_t owner, const char *site, char *line)
{
    char *size = strrchr(line, ','), *digest, *path;
    struct packages_entry *file;

    if (!size)
        return;
    *size = '\0';
    digest = strrchr(line, ',');
    if (!digest)
        return;
    *digest++ = '\0';
    if (line[0] == '"' && digest - line >= 3 && digest[-2] == '"') {
        line++;
        digest[-2] = '\0';
    }
    path = join_path(site, line);
    if (path && packages_is_of_interest(path)) {
        file = packages_add_file(packages, owner, packages_keep(packages, path));
        if (file && !strncmp(digest, METHOD, strlen(METHOD)))
            file->recorded = digest + strlen(METHOD);
    } else {
        free(path);
    }
}

static void read_record(struct packages *packages, const char *site, const char *info)
{
    const size_t length = strlen(info) - strlen(".dist-info");
    const char *dash = memchr(info, '-', length);
    char *path = text_format("%s/%s/RECORD", site, info), *text = NULL, *name, *version, *next;
    size_t owner;

    if (!dash || !path || machine_read(path, RECORD_MAX, &text, NULL) != STATUS_OK) {
        free(path);
        return;
    }
    free(path);
    text = packages_keep(packages, text);
    name = packages_keep(packages, strndup(info, (size_t)(dash - info)));
    version = packages_keep(packages, strndup(dash + 1, length - (size_t)(dash + 1 - info)));
    for (char *c = name; c && *c; c++)
        *c = *c == '_' ? '-' : *c;
    owner = packages_add_owner(packages, "pip", name, version);
    for (char *line = text; line && !packages->failed; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        read_line(packages, owner, site, line);
    }
}

static bool was_read(const struct packages *packages, const char *site)
{
    for (size_t i = 0; i < packages->site_count; i++)
        if (!strcmp(packages->sites[i], site))
            return true;
    return false;
}

/* Takes `site`, a heap path. */
static void read_site(struct packages *packages, char *site)
{
    static const char suffix[] = ".dist-info";
    char **names;

    if (!site || was_read(packages, site) || packages->site_count == PACKAGES_SITES_MAX) {
        free(site);
        return;
    }
    site = packages_keep(packages, site);
    names = site ? machine_list(site, "") : NULL;
    for (size_t i = 0; names && names[i] && !packages->failed; i++) {
        const size_t length = strlen(names[i]);

        if (length > strlen(suffix) && !strcmp(names[i] + length - strlen(suffix), suffix))
            read_record(packages, site, names[i]);
    }
    if (site)
        packages->sites[packages->site_count++] = site;
    machine_list_free(names);
}

/* Adds the wheels of the environments of Python that the file could be of, each once. */
static void packages_read_wheels(struct packages *packages, const char *path)
{
    const size_t before = packages->count;
    char *folder = strdup(path), *slash;

    while (folder && (slash = strrchr(folder, '/')) && slash != folder) {
        char *lib, **versions;

        *slash = '\0';
        slash = strrchr(folder, '/');
        if (!strcmp(slash, "/site-packages") || !strcmp(slash, "/dist-packages"))
            read_site(packages, strdup(folder));
        lib = text_format("%s/lib", folder);
        versions = lib ? machine_list(lib, "python3") : NULL;
        for (size_t i = 0; versions && versions[i]; i++)
            read_site(packages, text_format("%s/%s/site-packages", lib, versions[i]));
        machine_list_free(versions);
        free(lib);
    }
    free(folder);
    if (packages->count > before)
        packages_sort(packages);
}

/* ---- owners of files ---- */

/* Keeps a heap text until the end and gives it back; NULL: there is none, or no memory. */
static char *packages_keep(struct packages *packages, char *text)
{
    if (!text)
        return NULL;
    packages->failed |= !ARRAY_ROOM(packages->texts, packages->text_count, 1);
    if (packages->failed) {
        free(text);
        return NULL;
    }
    packages->texts[packages->text_count++] = text;
    return text;
}

/* Adds a package; the strings are kept ones. Its number, or PACKAGES_NOBODY without memory. */
static size_t packages_add_owner(struct packages *packages, const char *manager, const char *name,
                                 const char *version)
{
    if (!name)
        return PACKAGES_NOBODY;
    packages->failed |= !ARRAY_ROOM(packages->owners, packages->owner_count, 1);
    if (packages->failed)
        return PACKAGES_NOBODY;
    packages->owners[packages->owner_count] =
        (struct packages_owner){.package = {manager, name, version, NULL}};
    return packages->owner_count++;
}

static const char *without_usr(const char *path)
{
    return strncmp(path, "/usr/", 5) ? path : path + 4;
}

/* Whether such a path could be of a library, program, compiler, driver or firmware. */
static bool packages_is_of_interest(const char *path)
{
    static const char *const parts[] = {".so",   "/bin/", "/sbin/",      "/libexec/", "/gcc/",
                                        "/llvm", "pocl",  "/etc/OpenCL", ".ko",       "/firmware/"};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strstr(path, parts[i]))
            return true;
    return false;
}

/* Adds a file of the owner, if it is one that could be a component; NULL: it is not. `path` is
 * kept. Lasts until the next one is added. */
static struct packages_entry *packages_add_file(struct packages *packages, size_t owner,
                                                const char *path)
{
    struct packages_entry *entry;

    if (owner == PACKAGES_NOBODY || !path || path[0] != '/' || !packages_is_of_interest(path))
        return NULL;
    packages->failed |= !ARRAY_ROOM(packages->entries, packages->count, 1);
    if (packages->failed)
        return NULL;
    entry = &packages->entries[packages->count++];
    *entry = (struct packages_entry){.path = without_usr(path), .owner = owner};
    return entry;
}

/* The same of a heap path, which it takes. */
static struct packages_entry *packages_take_file(struct packages *packages, size_t owner,
                                                 char *path)
{
    packages->failed = packages->failed || !path;
    if (path && packages_is_of_interest(path))
        return packages_add_file(packages, owner, packages_keep(packages, path));
    free(path);
    return NULL;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct packages_entry *)a)->path,
                  ((const struct packages_entry *)b)->path);
}

/* Sorts what was added for packages_find. */
static void packages_sort(struct packages *packages)
{
    if (packages->count > 0)
        qsort(packages->entries, packages->count, sizeof(*packages->entries), compare_entries);
}

enum status packages_open(struct packages **ret, struct error *err)
{
    struct packages *packages = calloc(1, sizeof(*packages));

    if (packages) {
        packages_read_dpkg(packages);
        packages_read_rpm(packages);
        packages_read_pacman(packages);
        packages_read_apk(packages);
        packages_sort(packages);
    }
    if (!packages || packages->failed) {
        packages_destroy(packages);
        return error_no_memory(err);
    }
    *ret = packages;
    return STATUS_OK;
}

void packages_destroy(struct packages *packages)
{
    if (!packages)
        return;
    for (size_t i = 0; i < packages->text_count; i++)
        free(packages->texts[i]);
    free(packages->texts);
    free(packages->entries);
    free(packages->owners);
    free(packages);
}

static bool packages_is_alike(const struct packages *packages, const struct packages_entry *entry,
                              const char *path)
{
    return entry < packages->entries + packages->count && !strcmp(entry->path, without_usr(path));
}

/* The first of those of the path, which follow each other; NULL: there is none. */
static struct packages_entry *packages_first(const struct packages *packages, const char *path)
{
    const struct packages_entry wanted = {.path = without_usr(path)};
    struct packages_entry *entry = packages->count
                                       ? bsearch(&wanted, packages->entries, packages->count,
                                                 sizeof(*packages->entries), compare_entries)
                                       : NULL;

    while (entry && entry > packages->entries && packages_is_alike(packages, entry - 1, path))
        entry--;
    return entry;
}

/* ---- contents ---- */

/* How managers write a digest, by its length, which no two have alike. */
static const struct form {
    size_t length;
    const EVP_MD *(*algorithm)(void);
    int base64; /* sodium's variant; 0: hex */
} forms[] = {{64, EVP_sha256, 0},
             {43, EVP_sha256, sodium_base64_VARIANT_URLSAFE_NO_PADDING},
             {32, EVP_md5, 0},
             {28, EVP_sha1, sodium_base64_VARIANT_ORIGINAL}};

/* Adds all of the file to both; false: it cannot be read, or the library refuses the algorithm. */
static bool read_into(const char *path, EVP_MD_CTX *context, struct digest *ret_content)
{
    unsigned char bytes[65536];
    struct digest_state state;
    FILE *file = NULL;
    size_t got;
    bool ok;

    if (file_open_stream(path, &file, NULL) != STATUS_OK)
        return false;
    digest_init(&state);
    ok = true;
    while (ok && (got = fread(bytes, 1, sizeof(bytes), file)) > 0) {
        digest_update(&state, bytes, got);
        ok = EVP_DigestUpdate(context, bytes, got) == 1;
    }
    ok = ok && !ferror(file);
    fclose(file);
    *ret_content = digest_final(&state);
    return ok;
}

/* Of the file's content as it is now, which must be `file->content`; 0: it cannot be made. */
static unsigned digest_by(const struct form *form, const struct packages_file *file,
                          unsigned char ret[EVP_MAX_MD_SIZE])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    struct digest content;
    unsigned length = 0;

    if (context && EVP_DigestInit_ex(context, form->algorithm(), NULL) == 1 &&
        read_into(file->readable ? file->readable : file->path, context, &content) &&
        digest_equal(&content, file->content) && EVP_DigestFinal_ex(context, ret, &length) != 1)
        length = 0;
    EVP_MD_CTX_free(context);
    return length;
}

/* Whether the recorded digest is that of the content; true, too, where it cannot be made. */
static bool is_recorded(const char *recorded, const struct packages_file *file)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    char text[2 * EVP_MAX_MD_SIZE + 1];
    const struct form *form = forms, *end = forms + sizeof(forms) / sizeof(forms[0]);
    unsigned length = DIGEST_SIZE;

    while (form < end && form->length != strlen(recorded))
        form++;
    if (form == end)
        return true;
    if (form->algorithm == EVP_sha256)
        memcpy(bytes, file->content->bytes, DIGEST_SIZE);
    else
        length = digest_by(form, file, bytes);
    if (length == 0)
        return true;
    if (form->base64)
        sodium_bin2base64(text, sizeof(text), bytes, length, form->base64);
    else
        sodium_bin2hex(text, sizeof(text), bytes, length);
    return !strcmp(text, recorded);
}

/* Whether the file is as the package of the entry installed it, as far as anybody recorded it. */
static bool is_as_installed(struct packages *packages, struct packages_entry *entry,
                            const struct packages_file *file)
{
    const struct packages_owner *owner = &packages->owners[entry->owner];

    if (!file->content || (file->changed_ns > 0 && file->changed_ns <= owner->installed_ns))
        return true;
    if (owner->installed_ns > 0 && !owner->is_read)
        read_dpkg_digests(packages, entry->owner);
    if (!entry->recorded)
        return true;
    if (!entry->is_judged || !digest_equal(&entry->judged, file->content)) {
        entry->is_recorded = is_recorded(entry->recorded, file);
        entry->judged = *file->content;
        entry->is_judged = true;
    }
    return entry->is_recorded;
}

static void take_owner(struct packages *packages, const struct packages_entry *entry, bool altered,
                       struct package *ret)
{
    *ret = packages->owners[entry->owner].package;
    if (altered)
        ret->altered = packages_keep(
            packages, text_format(SAME_STACK_ALTERED "%s %s", ret->name, ret->version));
}

/* Of packages with the same path, as diversions make them, that which has the content. */
bool packages_find(struct packages *packages, const struct packages_file *file, struct package *ret)
{
    struct packages_entry *entry = packages_first(packages, file->path), *altered = NULL;

    if (!entry) {
        packages_read_wheels(packages, file->path);
        entry = packages_first(packages, file->path);
    }
    for (; entry && packages_is_alike(packages, entry, file->path); entry++) {
        if (!packages->owners[entry->owner].package.version)
            continue;
        if (is_as_installed(packages, entry, file)) {
            take_owner(packages, entry, false, ret);
            return true;
        }
        altered = altered ? altered : entry;
    }
    if (altered)
        take_owner(packages, altered, true, ret);
    return altered;
}
