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
    struct endpoint_prompts {
        char *path;   /* as written, from the declaration's folder on; NULL: words are drawn */
        char *sha256; /* of the file; filled in where the declaration is read from a file */
    } prompts;
    bool verify_tls, usage; /* as written; options have them the other way round */
};

/* The keys under `endpoint:`, for FIELD_GROUP. */
extern const struct declaration_field endpoint_fields[];

/*
 * Fills what is not written with endpoint_defaults and checks all; `path` is where the group is
 * ("endpoint"). The prompts of a declaration that is read from a file are read as well, and their
 * digest is noted. INVALID with file and line.
 */
enum status endpoint_declaration_check(const struct declaration *declaration, const char *path,
                                       struct endpoint_declaration *endpoint, struct error *err);

/*
 * The prompts of the declared file (harness/core/noted_file.h), for options.prompts; none where
 * none is declared. Takes a zeroed `ret`, which prompts_finish releases. NOT_FOUND, INVALID: it is
 * not here, or another file by now.
 */
enum status endpoint_prompts_find(const struct endpoint_declaration *endpoint, struct prompts *ret,
                                  struct error *err);

/* Whether endpoint_prompts_find would find it, by the stored declaration's `endpoint`. */
enum status endpoint_prompts_ready(const json_t *endpoint, struct error *err);

#endif
