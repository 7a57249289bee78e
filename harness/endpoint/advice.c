/* What to try where a server knows the address, and nothing at the path. */
#include <string.h>

#include "harness/core/text.h"
#include "harness/endpoint/endpoint.h"

#define MODELS_SHOWN 3

static void append_models(const json_t *models, struct text *out)
{
    const size_t count = json_array_size(models);

    for (size_t i = 0; i < count && i < MODELS_SHOWN; ++i)
        text_append_format(out, "%s\"%s\"", i ? ", " : "",
                           json_string_value(json_array_get(models, i)));
    text_append(out, count > MODELS_SHOWN ? " and others" : count ? "" : "none");
}

void endpoint_advise_path(const struct endpoint_options *options, const json_t *told,
                          struct text *ret)
{
    const bool is_chat = options->api == ENDPOINT_CHAT;
    const char *own = is_chat ? "chat" : "completions", *other = is_chat ? "completions" : "chat";
    const char *path = is_chat ? "/chat/completions" : "/completions";
    const json_t *models = json_object_get(told, "models");

    text_append_format(ret, "; asked was POST %s%s (api: %s)", options->url, path, own);
    if (text_ends_in(options->url, "/completions")) {
        text_append_format(ret, ": assay adds %s to the url; end it before, as in .../v1", path);
    } else if (strstr(options->url, "/v1/v1")) {
        text_append(ret, ": the url has /v1 twice; write it once");
    } else if (json_is_false(json_object_get(told, "model_listed"))) {
        text_append_format(ret, ": the server does not list the model \"%s\"; it lists ",
                           options->model);
        append_models(models, ret);
    } else if (json_is_array(models)) {
        text_append_format(ret,
                           ": its API is there, as %s/models answers; for a server that has "
                           "no %s write `api: %s`",
                           options->url, path, other);
    } else if (!text_ends_in(options->url, "/v1")) {
        text_append_format(ret,
                           ": %s/models is not there either; most servers have their API at "
                           "/v1: try `url: %s/v1`, else `api: %s`",
                           options->url, options->url, other);
    } else {
        text_append_format(ret,
                           ": %s/models is not there either; see at which path the server has "
                           "its API and write it as `url`, or try `api: %s`",
                           options->url, other);
    }
}
