#include "harness/core/filter.h"

#include <stdlib.h>
#include <unistd.h>

#include "harness/core/process.h"

enum status filter_run(const struct filter *filter, char **ret, size_t *ret_length,
                       struct error *err)
{
    char shell[] = "/bin/sh", option[] = "-c";
    char *const argv[] = {shell, option, (char *)(uintptr_t)filter->command, NULL};
    const struct process_call call = {.name = "it",
                                      .argv = argv,
                                      .settings = filter->settings,
                                      .input = filter->input,
                                      .length = filter->length,
                                      .error_fd = STDERR_FILENO,
                                      .wake_fd = filter->wake_fd,
                                      .timeout_ns = filter->timeout_ns,
                                      .max_output = filter->max_output,
                                      .is_bounded = true};
    struct process_exit exit;
    char *output;
    size_t length;
    enum status status = process_call(&call, &output, &length, &exit, err);

    if (status != STATUS_OK) {
        free(output);
        return status;
    }
    *ret = output;
    *ret_length = length;
    return exit.code ? error_set(err, STATUS_UNAVAILABLE, "it ended with status %d", exit.code)
                     : STATUS_OK;
}
