#include "harness/endpoint/client.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"

#define SECOND INT64_C(1000000000)
#define CONNECTIONS_MAX 65536u

const struct endpoint_options endpoint_defaults = {
    .connections = 256,
    .warm = 16,
    .connect_timeout_ns = 5 * SECOND,
    .request_timeout_ns = 120 * SECOND,
    .drain_ns = 60 * SECOND,
    .limits = {.header_bytes = 64 << 10,
               .body_bytes = 64 << 20,
               .line_bytes = 1 << 20,
               .events = 1000000},
    .wake_fd = -1,
};

static bool is_timeout(int64_t ns)
{
    return ns >= 1000000 && ns <= 24 * 3600 * SECOND;
}

static enum status check_url(const char *url, struct error *err)
{
    static const CURLUPart none[] = {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY,
                                     CURLUPART_FRAGMENT};
    CURLU *parts;
    char *scheme = NULL;
    CURLUcode code;
    enum status status = STATUS_OK;

    TRY(curl_open(err));
    parts = curl_url();
    if (!parts)
        return error_no_memory(err);
    code = curl_url_set(parts, CURLUPART_URL, url, 0);
    if (code == CURLUE_OK)
        code = curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0);
    if (code != CURLUE_OK || (strcmp(scheme, "http") && strcmp(scheme, "https")))
        status = error_set(err, STATUS_INVALID,
                           "url \"%s\" is not of HTTP; write it as \"http://HOST:PORT/v1\"", url);
    for (size_t i = 0; i < sizeof(none) / sizeof(*none) && status == STATUS_OK; ++i) {
        char *part = NULL;

        if (curl_url_get(parts, none[i], &part, 0) == CURLUE_OK)
            status = error_set(err, STATUS_INVALID,
                               "the url has a user, password, query or fragment; write it as "
                               "\"http://HOST:PORT/v1\", and a key into an environment variable");
        curl_free(part);
    }
    if (status == STATUS_OK && url[strlen(url) - 1] == '/')
        status = error_set(err, STATUS_INVALID, "url \"%s\" ends in a slash; leave it out", url);
    curl_free(scheme);
    curl_url_cleanup(parts);
    return status;
}

/* Its members must not be those by which the measurement is made. */
static enum status check_extra(const char *extra, struct error *err)
{
    static const char *const taken[] = {"model",
                                        "prompt",
                                        "messages",
                                        "max_tokens",
                                        "stream",
                                        "stream_options",
                                        "ignore_eos",
                                        "min_tokens",
                                        "n",
                                        "best_of",
                                        "max_completion_tokens"};
    json_error_t where;
    json_auto_t *object = json_loads(extra, JSON_REJECT_DUPLICATES, &where);

    if (!json_is_object(object))
        return error_set(err, STATUS_INVALID,
                         "extra is no JSON object%s%s; write it as '{\"temperature\": 0}'",
                         object ? "" : ": ", object ? "" : where.text);
    for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); ++i)
        if (json_object_get(object, taken[i]))
            return error_set(err, STATUS_INVALID,
                             "extra has \"%s\", which assay sets; leave it out", taken[i]);
    return STATUS_OK;
}

/* `ret_key`: of the declaration, whose value is refused. */
static enum status check_options(const struct endpoint_options *options, const char **ret_key,
                                 struct error *err)
{
    const struct endpoint_limits *limits = &options->limits;

    *ret_key = "url";
    TRY(check_url(options->url, err));
    *ret_key = "extra";
    if (options->extra)
        TRY(check_extra(options->extra, err));
    *ret_key = "user_agent";
    for (const char *c = options->user_agent; c && *c; ++c)
        if (*c < ' ' || *c > '~')
            return error_set(err, STATUS_INVALID,
                             "a client's name is of printable characters of ASCII; write one such "
                             "as \"python-requests/2.32\"");
    *ret_key = "connections";
    if (options->connections < 1 || options->connections > CONNECTIONS_MAX)
        return error_set(err, STATUS_INVALID, "%u connections: write 1 to %u", options->connections,
                         CONNECTIONS_MAX);
    *ret_key = "warm_connections";
    if (options->warm > options->connections)
        return error_set(err, STATUS_INVALID, "%u warm connections are more than all %u",
                         options->warm, options->connections);
    *ret_key = "connect_timeout";
    if (!is_timeout(options->connect_timeout_ns))
        return error_set(err, STATUS_INVALID, "a timeout is 1ms to 24h");
    *ret_key = "request_timeout";
    if (!is_timeout(options->request_timeout_ns))
        return error_set(err, STATUS_INVALID, "a timeout is 1ms to 24h");
    *ret_key = "limits";
    if (!limits->header_bytes || !limits->body_bytes || !limits->line_bytes || !limits->events)
        return error_set(err, STATUS_INVALID, "a limit of 0 would refuse every answer");
    return STATUS_OK;
}

enum status endpoint_check(const struct endpoint_options *options, const char **ret_key,
                           struct error *err)
{
    const char *key;
    const enum status status = check_options(options, &key, err);

    if (ret_key)
        *ret_key = key;
    return status;
}

/* A header with a line break in its value would be two. */
static enum status read_key(struct client *client, struct error *err)
{
    const char *variable = client->options->key_variable;
    const char *key = variable ? getenv(variable) : NULL;

    if (!variable)
        return STATUS_OK;
    if (!key || !*key)
        return error_set(err, STATUS_INVALID,
                         "the API key's environment variable %s is not set; export it, or leave "
                         "key_variable out",
                         variable);
    for (const char *c = key; *c; ++c)
        if (*c <= ' ' || *c > '~')
            return error_set(err, STATUS_INVALID,
                             "the API key in %s has a blank or a character that is not ASCII",
                             variable);
    client->key = strdup(key);
    return client->key ? STATUS_OK : error_no_memory(err);
}

/* What follows prompt and max_tokens in a request. */
static char *make_body_end(const struct endpoint_options *options)
{
    json_t *body = options->extra ? json_loads(options->extra, 0, NULL) : json_object();
    char *json = NULL, *end = NULL;

    json_object_set_new(body, "model", json_string(options->model));
    json_object_set_new(body, "stream", json_true());
    if (!options->without_usage)
        json_object_set_new(body, "stream_options", json_pack("{s:b}", "include_usage", 1));
    if (options->ignore_eos)
        json_object_set_new(body, "ignore_eos", json_true());
    json = json_dumps(body, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(body);
    if (json)
        end = text_format(",%s", json + 1);
    free(json);
    return end;
}

static bool add_header(struct curl_slist **list, const char *header)
{
    struct curl_slist *longer = header ? curl_slist_append(*list, header) : NULL;

    if (longer)
        *list = longer;
    return longer != NULL;
}

static bool make_headers(struct client *client)
{
    bool is_good = add_header(&client->headers, "Content-Type: application/json") &&
                   add_header(&client->headers, "Accept: text/event-stream") &&
                   add_header(&client->headers, "Expect:");

    if (client->key) {
        char *header = text_format("Authorization: Bearer %s", client->key);

        is_good = is_good && add_header(&client->headers, header) &&
                  add_header(&client->key_headers, header);
        if (header)
            explicit_bzero(header, strlen(header));
        free(header);
    }
    return is_good;
}

enum status client_init(struct client *ret, const struct endpoint_options *options,
                        struct error *err)
{
    enum status status = endpoint_check(options, NULL, err);
    size_t length;

    ret->options = options;
    TRY(status);
    TRY(read_key(ret, err));
    length = strlen(options->url);
    if (length > 3 && !strcmp(options->url + length - 3, "/v1"))
        length -= 3;
    ret->root = text_format("%.*s", (int)length, options->url);
    ret->target = text_format("%s%s", options->url,
                              options->api == ENDPOINT_CHAT ? "/chat/completions" : "/completions");
    ret->body_end = make_body_end(options);
    if (!make_headers(ret) || !ret->root || !ret->target || !ret->body_end)
        return error_no_memory(err);
    return STATUS_OK;
}

static void forget(struct curl_slist *list)
{
    for (struct curl_slist *header = list; header; header = header->next)
        explicit_bzero(header->data, strlen(header->data));
    curl_slist_free_all(list);
}

void client_finish(struct client *client)
{
    if (client->key)
        explicit_bzero(client->key, strlen(client->key));
    forget(client->headers);
    forget(client->key_headers);
    free(client->key);
    free(client->root);
    free(client->target);
    free(client->body_end);
    memset(client, 0, sizeof(*client));
}

/* In whole milliseconds, rounded up, as options take it. */
static long client_ms(int64_t ns)
{
    return (long)((ns + 999999) / 1000000);
}

CURL *client_handle(const struct client *client)
{
    const struct endpoint_options *options = client->options;
    CURL *handle = curl_easy_init();

    if (!handle)
        return NULL;
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(handle, CURLOPT_DNS_CACHE_TIMEOUT, -1L);
    curl_easy_setopt(handle, CURLOPT_USERAGENT,
                     options->user_agent ? options->user_agent : "assay");
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, client_ms(options->connect_timeout_ns));
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, client_ms(options->request_timeout_ns));
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, options->is_unverified ? 0L : 1L);
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, options->is_unverified ? 0L : 2L);
    if (options->ca_file)
        curl_easy_setopt(handle, CURLOPT_CAINFO, options->ca_file);
    return handle;
}
