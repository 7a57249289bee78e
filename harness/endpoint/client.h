/* client - what every request to one server shares. */
#ifndef ASSAY_ENDPOINT_CLIENT_H
#define ASSAY_ENDPOINT_CLIENT_H

#include "harness/endpoint/curl.h"
#include "harness/endpoint/endpoint.h"

struct client {
    const struct endpoint_options *options;
    char *key;                  /* heap; NULL: none. Overwritten at the end */
    char *target;               /* URL of the completions */
    char *root;                 /* URL without "/v1" */
    char *body_end;             /* members that every request has, from a comma on, and "}" */
    struct curl_slist *headers; /* of a completion */
    struct curl_slist *key_headers;
};

/* Checks the options and reads the key. Takes a zeroed `ret`; client_finish after failure, too. */
enum status client_init(struct client *ret, const struct endpoint_options *options,
                        struct error *err);
void client_finish(struct client *client);

/* A handle with what all requests have in common; NULL: out of memory. */
CURL *client_handle(const struct client *client);

#endif
