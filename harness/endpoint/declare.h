/*
 * declare - an endpoint as people write it:
 *
 *     endpoint:
 *       url: http://127.0.0.1:{port}/v1
 *       model: tiny
 *       api: chat                       # completions where not written
 *       key_variable: SERVER_KEY        # the environment variable that has the API key
 *       server: {command: [llama-server, --port, "{port}"], health: /health, ready: 60s}
 *
 * and what else workloads/endpoint/README.md has in its table of keys.
 */
#ifndef ASSAY_ENDPOINT_DECLARE_H
#define ASSAY_ENDPOINT_DECLARE_H

#include "harness/core/declaration.h"
#include "harness/endpoint/server.h"

struct endpoint_declaration {
    struct endpoint_options options; /* without drain, seed and wake_fd, which others declare */
    struct endpoint_server_options server;
    bool verify_tls, usage; /* as written; options have them the other way round */
};

/* The keys under `endpoint:`, for FIELD_GROUP. */
extern const struct declaration_field endpoint_fields[];

/*
 * Fills what is not written with endpoint_defaults and checks all; `path` is where the group is
 * ("endpoint"). INVALID with file and line.
 */
enum status endpoint_declaration_check(const struct declaration *declaration, const char *path,
                                       struct endpoint_declaration *endpoint, struct error *err);

#endif
