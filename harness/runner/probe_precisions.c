#include "harness/runner/probe_precisions.h"

#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/runner/probe_child.h"
#include "workloads/ops/gemm.h"

#define HUNG_MAX 2

/* ---- the child ---- */

static json_t *library_json(const struct operation_info *info)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "support", support_name(info->support), "method",
                     printable_or_null(info->method), "library", printable_or_null(info->library),
                     "version", printable_or_null(info->version), "algorithm",
                     printable_or_null(info->algorithm));
}

/* The keys of the libraries' answers. */
static const char *const operation_keys[OPERATION_KINDS] = {
    [OPERATION_GEMM] = "vendor",
    [OPERATION_CONVOLUTION] = "convolution",
    [OPERATION_ATTENTION] = "attention",
    [OPERATION_ATTENTION_BACKWARD] = "attention_backward",
};

static json_t *ask(struct device *device, enum precision precision)
{
    struct operation_info info;
    json_t *ret = json_pack("{s:s}", "precision", precision_name(precision));

    gemm_portable_support(device, precision, &info);
    json_object_set_new(ret, "portable",
                        json_pack("{s:s, s:o}", "support", support_name(info.support), "method",
                                  printable_or_null(info.method)));
    for (int kind = 0; kind < OPERATION_KINDS; kind++) {
        operation_support(device, (enum operation_kind)kind, precision, &info);
        json_object_set_new(ret, operation_keys[kind], library_json(&info));
    }
    return ret;
}

int probe_precisions_child_main(const char *spec, const char *wanted)
{
    const struct device_options options = {0};
    struct backend *backend;
    struct device *device = NULL;
    struct error err = ERROR_INIT;
    json_t *answers = json_array();
    enum precision only;
    uint32_t index;

    if (strcmp(wanted, "all") != 0 &&
        (!precision_from_name(wanted, &only) || only == PRECISION_UNKNOWN)) {
        log_error("probe: no precision \"%s\"", wanted);
        json_decref(answers);
        return 2;
    }
    probe_child_begin();
    if (backend_resolve(spec, &backend, &index, &err) != STATUS_OK ||
        backend_device_open(backend, index, &options, &device, &err) != STATUS_OK) {
        json_decref(answers);
        return probe_child_refuse(&err);
    }
    for (int p = 0; p < PRECISION_COUNT; p++)
        if (!strcmp(wanted, "all") || p == (int)only)
            json_array_append_new(answers, ask(device, (enum precision)p));
    device_close(device);
    return probe_child_answer(answers);
}

/* ---- the parent ---- */

static enum status ask_child(const char *spec, const char *precision, json_t **ret,
                             struct error *err)
{
    TRY(probe_child_ask(spec, precision, ret, err));
    if (!json_is_array(*ret)) {
        json_decref(*ret);
        return error_set(err, STATUS_PROTOCOL, "the probe gave no list");
    }
    return STATUS_OK;
}

static void set_unknown(json_t *answers, const char *key, const char *reason)
{
    json_object_set_new(answers, key,
                        json_pack("{s:s, s:o}", "support", support_name(SUPPORT_UNKNOWN), "method",
                                  printable_or_null(reason)));
}

static json_t *unknown(const char *precision, const char *reason)
{
    json_t *ret = json_pack("{s:s}", "precision", precision);

    set_unknown(ret, "portable", reason);
    for (int kind = 0; kind < OPERATION_KINDS; kind++)
        set_unknown(ret, operation_keys[kind], reason);
    return ret;
}

/* The same for all: the device cannot even be opened. */
static json_t *all_unknown(const char *reason)
{
    json_t *all = json_array();

    for (int p = 0; p < PRECISION_COUNT; p++)
        json_array_append_new(all, unknown(precision_name((enum precision)p), reason));
    return all;
}

/*
 * A child for each. After two in a row that hang, the others are not tried: each would take as long
 * again.
 */
static json_t *ask_each(const char *spec)
{
    json_t *all = json_array();
    int hung = 0;

    for (int p = 0; p < PRECISION_COUNT; p++) {
        const char *name = precision_name((enum precision)p);
        struct error reason = ERROR_INIT;
        json_t *one = NULL;
        enum status status =
            hung < HUNG_MAX ? ask_child(spec, name, &one, &reason)
                            : error_set(&reason, STATUS_TIMEOUT,
                                        "not asked, since the %d before did not answer", HUNG_MAX);

        if (hung < HUNG_MAX)
            hung = status == STATUS_TIMEOUT ? hung + 1 : 0;
        if (status == STATUS_OK)
            json_array_extend(all, one);
        else
            json_array_append_new(all, unknown(name, reason.message));
        json_decref(one);
    }
    return all;
}

struct question {
    json_t *device;
    json_t *answers;
};

static void ask_device(void *item)
{
    struct question *question = item;
    const char *spec = member_string(question->device, "spec");
    struct error reason = ERROR_INIT;
    enum status status = ask_child(spec, "all", &question->answers, &reason);

    if (status != STATUS_OK)
        question->answers =
            status == STATUS_UNSUPPORTED ? all_unknown(reason.message) : ask_each(spec);
}

void probe_precisions(json_t *probe)
{
    struct question *questions = NULL;
    size_t i, count = 0, asked = 0;

    EACH(backend, probe)
        count += member_size(backend, "devices");
    questions = calloc(count, sizeof(*questions));
    if (!questions)
        return;
    EACH(backend, probe) {
        EACH(device, json_object_get(backend, "devices")) {
            if (json_is_string(json_object_get(device, "spec")))
                questions[asked++].device = device;
        }
    }
    probe_child_side_by_side(ask_device, questions, sizeof(*questions), asked);
    for (i = 0; i < asked; i++)
        json_object_set_new(questions[i].device, "precisions", questions[i].answers);
    free(questions);
}
