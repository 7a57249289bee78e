#include "harness/cli/with_store.h"

#include "harness/core/log.h"

#define SECOND_NS ((int64_t)1000000000)

int with_store(const struct command_line *line, enum store_mode mode, with_store_fn *run,
               void *context)
{
    int64_t wait_ns = (mode == STORE_READ ? 10 : 60) * SECOND_NS;
    struct error err = ERROR_INIT;
    struct store *store;
    int result;

    if (store_open(command_database(line), mode, wait_ns, &store, &err) != STATUS_OK) {
        log_error("%s", err.message);
        return ASSAY_EXIT_STORE;
    }
    result = run(line, store, context);
    store_close(store);
    return result;
}
