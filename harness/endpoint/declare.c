#include "harness/endpoint/declare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/member.h"
#include "harness/core/noted_file.h"

#define PATH_SIZE 128
#define READY_NS (60 * INT64_C(1000000000))
#define COMMAND_MAX 256

static const struct declaration_name api_names[] = {{"completions", ENDPOINT_COMPLETIONS},
                                                    {"chat", ENDPOINT_CHAT}};

static const struct declaration_schema word = {ENTRY_STRING(0, FIELD_UNLIMITED)};

static const struct declaration_field server_fields[] = {
    FIELD_LIST("command", FIELD_REQUIRED, struct endpoint_server_options, command, &word, 1,
               COMMAND_MAX),
    FIELD_STRING("health", FIELD_OPTIONAL, struct endpoint_server_options, health, 1, 1024),
    FIELD_INT("ready", FIELD_OPTIONAL | DECLARATION_DURATION, struct endpoint_server_options,
              ready_ns),
    FIELD_END,
};

static const struct declaration_field limit_fields[] = {
    FIELD_UINT("headers", FIELD_OPTIONAL | DECLARATION_BYTES, struct endpoint_limits, header_bytes),
    FIELD_UINT("body", FIELD_OPTIONAL | DECLARATION_BYTES, struct endpoint_limits, body_bytes),
    FIELD_UINT("line", FIELD_OPTIONAL | DECLARATION_BYTES, struct endpoint_limits, line_bytes),
    FIELD_UINT("events", FIELD_OPTIONAL, struct endpoint_limits, events),
    FIELD_END,
};

static const struct declaration_field prompts_fields[] = {
    FIELD_STRING("path", FIELD_REQUIRED, struct endpoint_prompts, path, 1, 4096),
    FIELD_STRING("sha256", FIELD_OPTIONAL, struct endpoint_prompts, sha256, 64, 64),
    FIELD_END,
};

#define D struct endpoint_declaration
const struct declaration_field endpoint_fields[] = {
    FIELD_STRING("url", FIELD_REQUIRED, D, options.url, 1, 2048),
    FIELD_STRING("model", FIELD_REQUIRED, D, options.model, 1, 1024),
    FIELD_ENUM("api", FIELD_OPTIONAL, D, options.api, api_names, 2),
    FIELD_STRING("key_variable", FIELD_OPTIONAL, D, options.key_variable, 1, 256),
    FIELD_STRING("ca_file", FIELD_OPTIONAL, D, options.ca_file, 1, 4096),
    FIELD_BOOL("verify_tls", FIELD_OPTIONAL, D, verify_tls),
    FIELD_BOOL("usage", FIELD_OPTIONAL, D, usage),
    FIELD_BOOL("ignore_eos", FIELD_OPTIONAL, D, options.ignore_eos),
    FIELD_BOOL("min_tokens", FIELD_OPTIONAL, D, options.min_tokens),
    FIELD_STRING("extra", FIELD_OPTIONAL, D, options.extra, 2, 65536),
    FIELD_STRING("user_agent", FIELD_OPTIONAL, D, options.user_agent, 1, 256),
    FIELD_GROUP("prompts", FIELD_OPTIONAL, D, prompts, prompts_fields),
    FIELD_UINT("connections", FIELD_OPTIONAL, D, options.connections),
    FIELD_UINT("warm_connections", FIELD_OPTIONAL, D, options.warm),
    FIELD_INT("connect_timeout", FIELD_OPTIONAL | DECLARATION_DURATION, D,
              options.connect_timeout_ns),
    FIELD_INT("request_timeout", FIELD_OPTIONAL | DECLARATION_DURATION, D,
              options.request_timeout_ns),
    FIELD_GROUP("limits", FIELD_OPTIONAL, D, options.limits, limit_fields),
    FIELD_GROUP("server", FIELD_OPTIONAL, D, server, server_fields),
    FIELD_END,
};
#undef D

static const char *place(const char *path, const char *key, char ret[PATH_SIZE])
{
    snprintf(ret, PATH_SIZE, "%s.%s", path, key);
    return ret;
}

static bool has(const struct declaration *declaration, const char *path, const char *key)
{
    char at[PATH_SIZE];

    return declaration_has(declaration, place(path, key, at));
}

static void fill_defaults(const struct declaration *declaration, const char *path,
                          struct endpoint_declaration *endpoint)
{
    struct endpoint_options *options = &endpoint->options;
    const struct endpoint_options *defaults = &endpoint_defaults;

#define FILL(KEY, MEMBER)                                                                          \
    if (!has(declaration, path, KEY))                                                              \
    options->MEMBER = defaults->MEMBER
    FILL("connections", connections);
    FILL("warm_connections", warm);
    FILL("connect_timeout", connect_timeout_ns);
    FILL("request_timeout", request_timeout_ns);
    FILL("limits.headers", limits.header_bytes);
    FILL("limits.body", limits.body_bytes);
    FILL("limits.line", limits.line_bytes);
    FILL("limits.events", limits.events);
#undef FILL
    options->wake_fd = -1;
    options->is_unverified = has(declaration, path, "verify_tls") && !endpoint->verify_tls;
    options->without_usage = has(declaration, path, "usage") && !endpoint->usage;
    if (endpoint->server.command_count > 0 && !has(declaration, path, "server.ready"))
        endpoint->server.ready_ns = READY_NS;
}

static enum status check_server(const struct declaration *declaration, const char *path,
                                struct endpoint_declaration *endpoint, struct error *err)
{
    struct endpoint_server_options *server = &endpoint->server;
    bool has_port = strstr(endpoint->options.url, "{port}") != NULL, is_passed = false;
    char at[PATH_SIZE];

    for (uint32_t i = 0; i < server->command_count; ++i)
        is_passed |= strstr(server->command[i], "{port}") != NULL;
    if (has_port != is_passed)
        return declaration_error(declaration, place(path, has_port ? "url" : "server.command", at),
                                 err, "{port} is in %s; write it in both, or in neither",
                                 has_port ? "the url and not in the server's command"
                                          : "the server's command and not in the url");
    if (server->command_count == 0)
        return STATUS_OK;
    if (server->health == NULL)
        server->health = strdup("/health");
    if (server->health == NULL)
        return error_no_memory(err);
    if (server->health[0] != '/')
        return declaration_error(declaration, place(path, "server.health", at), err,
                                 "health is a path and begins with /");
    if (server->ready_ns <= 0)
        return declaration_error(declaration, place(path, "server.ready", at), err,
                                 "ready: write how long the start may take, as in 60s");
    return STATUS_OK;
}

/* Of the file as it is now; where none is declared, it is what trials have to find. */
static enum status check_digest(const struct declaration *declaration, const char *path,
                                struct endpoint_prompts *prompts, const struct digest *found,
                                struct error *err)
{
    char hex[DIGEST_HEX_SIZE], at[PATH_SIZE];

    digest_hex(found, hex);
    if (prompts->sha256 && strcmp(prompts->sha256, hex) != 0)
        return declaration_error(declaration, place(path, "prompts.sha256", at), err,
                                 "%s is another file: its SHA-256 is %s", prompts->path, hex);
    if (!prompts->sha256)
        prompts->sha256 = strdup(hex);
    return prompts->sha256 ? STATUS_OK : error_no_memory(err);
}

/* A stored declaration comes without its files: the digest is compared. */
static enum status check_prompts(const struct declaration *declaration, const char *path,
                                 struct endpoint_declaration *endpoint, struct error *err)
{
    struct endpoint_prompts *prompts = &endpoint->prompts;
    const bool is_chat = endpoint->options.api == ENDPOINT_CHAT;
    CLEANUP(prompts_finish) struct prompts read = {0};
    struct error found = ERROR_INIT;
    struct digest digest;
    AUTO_FREE char *full = NULL;
    char at[PATH_SIZE];

    if (!prompts->path || !declaration_is_path(declaration->origin))
        return STATUS_OK;
    full = file_beside(declaration->origin, prompts->path);
    if (!full)
        return error_no_memory(err);
    if (prompts_read(full, prompts->path, is_chat, &read, &found) != STATUS_OK ||
        digest_file(full, &digest, NULL, &found) != STATUS_OK)
        return declaration_error(declaration, place(path, "prompts.path", at), err, "%s",
                                 found.message);
    TRY(check_digest(declaration, path, prompts, &digest, err));
    noted_file_note(&digest, full);
    return STATUS_OK;
}

static enum status find_prompts(const char *sha256, char **ret, struct error *err)
{
    struct digest digest;

    if (!digest_from_hex(sha256, &digest))
        return error_set(err, STATUS_INVALID,
                         "the prompts have no SHA-256; measure the "
                         "declaration's file");
    return noted_file_find(&digest, "the file of prompts", ret, err);
}

enum status endpoint_prompts_find(const struct endpoint_declaration *endpoint, struct prompts *ret,
                                  struct error *err)
{
    AUTO_FREE char *path = NULL;

    if (!endpoint->prompts.path)
        return STATUS_OK;
    TRY(find_prompts(endpoint->prompts.sha256 ? endpoint->prompts.sha256 : "", &path, err));
    return prompts_read(path, endpoint->prompts.path, endpoint->options.api == ENDPOINT_CHAT, ret,
                        err);
}

enum status endpoint_prompts_ready(const json_t *endpoint, struct error *err)
{
    AUTO_FREE char *path = NULL;
    const json_t *prompts = json_object_get(endpoint, "prompts");

    return prompts ? find_prompts(member_text(prompts, "sha256"), &path, err) : STATUS_OK;
}

enum status endpoint_declaration_check(const struct declaration *declaration, const char *path,
                                       struct endpoint_declaration *endpoint, struct error *err)
{
    struct endpoint_options checked;
    struct error found = ERROR_INIT;
    const char *key = "url";
    char at[PATH_SIZE];
    char *url;
    enum status status;

    fill_defaults(declaration, path, endpoint);
    TRY(check_server(declaration, path, endpoint, err));
    TRY(check_prompts(declaration, path, endpoint, err));
    checked = endpoint->options;
    checked.url = url = endpoint_with_port(endpoint->options.url, 1);
    if (url == NULL)
        return error_no_memory(err);
    status = endpoint_check(&checked, &key, &found);
    free(url);
    if (status == STATUS_INVALID)
        return declaration_error(declaration, place(path, key, at), err, "%s", found.message);
    if (status != STATUS_OK && err)
        *err = found;
    return status;
}
