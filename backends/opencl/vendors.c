#include "backends/opencl/vendors.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/core/file.h"
#include "harness/core/text.h"

#define DEFAULT_DIRECTORY "/etc/OpenCL/vendors"

/* Opens a driver as the loader would have; it stays open, as there. */
static void describe_driver(struct text *text, const char *where, const char *library)
{
    const char *problem;

    text_append_printable(text, where, strlen(where));
    if (where != library) {
        text_append(text, " names ");
        text_append_printable(text, library, strlen(library));
    }
    dlerror();
    if (dlopen(library, RTLD_NOW | RTLD_LOCAL) != NULL) {
        text_append(text, ", which loads but offers no platform");
        return;
    }
    problem = dlerror();
    text_append(text, ": ");
    text_append(text, problem != NULL ? problem : "does not load");
}

/* A file NAME.icd has the driver's path in its first line. */
static void describe_icd(struct text *text, const char *path)
{
    struct error error = ERROR_INIT;
    char *line = NULL;

    if (file_read_line(path, &line, &error) != STATUS_OK)
        text_append(text, error.message);
    else
        describe_driver(text, path, line);
    free(line);
}

static size_t describe_directory(struct text *text, const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    size_t count = 0;

    if (directory == NULL)
        return 0;
    while ((entry = readdir(directory)) != NULL) {
        char *file;

        if (!text_ends_in(entry->d_name, ".icd"))
            continue;
        file = text_format("%s/%s", path, entry->d_name);
        if (file == NULL)
            break;
        text_append(text, count++ > 0 ? "; " : "");
        describe_icd(text, file);
        free(file);
    }
    closedir(directory);
    return count;
}

void opencl_vendors_files(struct backend_file_list *ret)
{
    const char *given = getenv("OCL_ICD_VENDORS");
    const char *path = given != NULL && given[0] != '\0' ? given : DEFAULT_DIRECTORY;
    DIR *directory = opendir(path);
    struct dirent *entry;

    if (directory == NULL && text_ends_in(path, ".icd"))
        backend_file_list_add(ret, "icd", path, NULL);
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        char *file =
            text_ends_in(entry->d_name, ".icd") ? text_format("%s/%s", path, entry->d_name) : NULL;

        if (file != NULL)
            backend_file_list_add(ret, "icd", file, NULL);
        free(file);
    }
    if (directory != NULL)
        closedir(directory);
}

void opencl_vendors_describe(struct text *text)
{
    const char *given = getenv("OCL_ICD_VENDORS");
    const char *path = given != NULL && given[0] != '\0' ? given : DEFAULT_DIRECTORY;
    struct stat info;

    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        if (describe_directory(text, path) == 0)
            text_append_format(text, "no driver is registered in %s", path);
    } else if (given != NULL && text_ends_in(path, ".icd")) {
        describe_icd(text, path);
    } else if (given != NULL) {
        describe_driver(text, path, path);
    } else {
        text_append_format(text, "there is no %s", path);
    }
}
