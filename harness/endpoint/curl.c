#define CURL_UNMAPPED
#include "harness/endpoint/curl.h"

#include <pthread.h>

#include "harness/core/dynlib.h"

struct curl_functions curl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct error failure = ERROR_INIT;

static void open_once(void)
{
    static const char *const sonames[] = {"libcurl.so.4", NULL};
#define DYNLIB_API struct curl_functions
#define CURL_SYMBOL(name) DYNLIB_REQUIRED(, name)
    static const struct dynlib_symbol symbols[] = {CURL_MAP(CURL_SYMBOL)};
#undef CURL_SYMBOL
    static const struct dynlib_spec spec = DYNLIB_SPEC("curl", sonames, symbols);
    struct dynlib library = {0};

    if (dynlib_open(&spec, &library, &curl, &failure) == STATUS_OK &&
        curl.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        error_set(&failure, STATUS_UNAVAILABLE, "libcurl does not start");
    dynlib_finish(&library);
}

enum status curl_open(struct error *err)
{
    pthread_once(&once, open_once);
    return failure.code == STATUS_OK
               ? STATUS_OK
               : error_set(err, failure.code, "endpoints need libcurl: %s", failure.message);
}
