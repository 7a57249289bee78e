#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "harness/endpoint/client.h"

#define ANSWER_MAX ((size_t)256 << 10)
#define PROBE_TIMEOUT_MS 10000L
#define MODELS_MAX 64
#define SERVER "server:"

/* One answer, whole or none of it. */
struct answer {
    const struct client *client;
    struct text body;
    long http;
    char server[REASON_EXAMPLE_SIZE];
};

static size_t on_bytes(char *bytes, size_t size, size_t count, void *context)
{
    struct answer *answer = context;

    if (answer->body.length + size * count > ANSWER_MAX)
        return 0;
    text_append_bytes(&answer->body, bytes, size * count);
    return size * count;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *context)
{
    struct answer *answer = context;
    size_t length = size * count;

    if (length <= sizeof(SERVER) || strncasecmp(bytes, SERVER, sizeof(SERVER) - 1))
        return length;
    bytes += sizeof(SERVER) - 1;
    length -= sizeof(SERVER) - 1;
    while (length > 0 && strchr(" \t\r\n", bytes[length - 1]))
        --length;
    while (length > 0 && *bytes == ' ') {
        ++bytes;
        --length;
    }
    reasons_excerpt(bytes, length, answer->client->key, answer->server);
    return size * count;
}

/* The body is empty where there was no answer. */
static CURLcode ask(CURL *handle, struct answer *answer, const char *root, const char *path)
{
    char *url = text_format("%s%s", root, path);
    CURLcode code = CURLE_OUT_OF_MEMORY;

    text_clear(&answer->body);
    answer->http = 0;
    if (url) {
        curl_easy_setopt(handle, CURLOPT_URL, url);
        code = curl_easy_perform(handle);
    }
    if (code == CURLE_OK)
        curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answer->http);
    else
        text_clear(&answer->body);
    free(url);
    return code;
}

/* Text that may be stored. */
static json_t *told(const struct answer *answer, const char *string)
{
    char shown[REASON_EXAMPLE_SIZE];

    reasons_excerpt(string, strlen(string), answer->client->key, shown);
    return json_string(shown);
}

static void add_models(json_t *facts, const struct answer *answer)
{
    const char *wanted = answer->client->options->model;
    json_t *root = json_loadb(answer->body.data, answer->body.length, 0, NULL);
    const json_t *list = json_object_get(root, "data");
    const json_t *data = answer->http == 200 && json_is_array(list) ? list : NULL;
    json_t *models = json_array();
    bool is_listed = false;

    for (size_t i = 0; i < json_array_size(data); ++i) {
        const char *id = json_string_value(json_object_get(json_array_get(data, i), "id"));

        if (id == NULL)
            continue;
        is_listed |= !strcmp(id, wanted);
        if (json_array_size(models) < MODELS_MAX)
            json_array_append_new(models, told(answer, id));
    }
    json_object_set_new(facts, "models", data ? json_incref(models) : json_null());
    json_object_set_new(facts, "model_listed", data ? json_boolean(is_listed) : json_null());
    json_decref(models);
    json_decref(root);
}

/* {"version": "0.9.1"} of vLLM, or a line of text. A page, as of a proxy that answers every path,
 * or an object that has something else is no version. */
static void add_version(json_t *facts, const struct answer *answer)
{
    json_t *root = json_loadb(answer->body.data, answer->body.length, 0, NULL);
    const char *text = answer->body.data;
    const char *version = json_string_value(json_object_get(root, "version"));

    if (!root && answer->body.length > 0 && !memchr(text, '<', answer->body.length))
        version = text;
    json_object_set_new(facts, "version",
                        answer->http == 200 && version && *version ? told(answer, version)
                                                                   : json_null());
    json_decref(root);
}

enum status endpoint_probe(const struct endpoint_options *options, json_t **ret, struct error *err)
{
    struct client client = {0};
    struct answer answer = {.client = &client};
    char problem[CURL_ERROR_SIZE] = "";
    json_t *facts = NULL;
    CURL *handle = NULL;
    CURLcode code;
    enum status status;

    text_init(&answer.body);
    status = client_init(&client, options, err);
    if (status != STATUS_OK)
        goto finish;
    handle = client_handle(&client);
    facts = json_object();
    if (!handle || !facts) {
        status = error_no_memory(err);
        goto finish;
    }
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, client.key_headers);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, PROBE_TIMEOUT_MS);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &answer);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, &answer);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, problem);
    code = ask(handle, &answer, options->url, "/models");
    if (code != CURLE_OK) {
        status = error_set(err, STATUS_UNAVAILABLE, "%s: %s; is the server there?", options->url,
                           problem[0] ? problem : curl_easy_strerror(code));
        goto finish;
    }
    if (answer.http == 401 || answer.http == 403) {
        status = error_set(err, STATUS_DENIED,
                           "%s answers HTTP %ld; name the environment variable that has its API "
                           "key as key_variable",
                           options->url, answer.http);
        goto finish;
    }
    add_models(facts, &answer);
    ask(handle, &answer, client.root, "/version");
    add_version(facts, &answer);
    ask(handle, &answer, client.root, "/health");
    json_object_set_new(facts, "health", answer.http ? json_integer(answer.http) : json_null());
    json_object_set_new(facts, "server",
                        answer.server[0] ? json_string(answer.server) : json_null());
    *ret = json_incref(facts);
finish:
    json_decref(facts);
    curl_easy_cleanup(handle);
    text_finish(&answer.body);
    client_finish(&client);
    return status;
}
