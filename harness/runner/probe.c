#include "harness/runner/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "harness/core/digest.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "harness/runner/packages.h"
#include "harness/runner/probe_child.h"
#include "harness/runner/vendor_json.h"

#define LIBRARIES_MAX 16

const char *probe_backend(size_t index, bool *ret_hidden)
{
    if (index >= backend_count())
        return NULL;
    *ret_hidden = backend_is_hidden(backend_at(index));
    return backend_at(index)->ops->name;
}

enum status probe_check_variable(const char *variable, struct error *err)
{
    return backend_check_variable(variable, err);
}

#define M(name, ...)                                                                               \
    MEMBER(struct backend_library, TEXT, name, .flags = MEMBER_NULLABLE | MEMBER_PRINTABLE,        \
           __VA_ARGS__)
static const struct member library_members[] = {
    M(name),
    M(path, .help = "the file that was opened; null or empty: none"),
    M(tried, .help = "names that could not be opened, with the reason"),
    M(version),
    M(version_reason, .help = "why the version is not known"),
};
#undef M
const struct type probe_library_type = TYPE(struct backend_library, "a library", library_members);

static json_t *libraries_json(struct backend *backend)
{
    struct backend_library libraries[LIBRARIES_MAX];
    size_t count = backend_libraries(backend, libraries, LIBRARIES_MAX);
    json_t *array = json_array();

    for (size_t i = 0; array && i < count; i++)
        json_array_append_new(array, type_to_json(&probe_library_type, &libraries[i]));
    return array;
}

static json_t *backend_json(struct backend *backend, bool available, const char *reason)
{
    return json_pack("{s:s, s:s, s:b, s:b, s:o, s:o, s:o, s:o}", "backend", backend->ops->name,
                     "description", backend->ops->description, "hidden", backend_is_hidden(backend),
                     "available", available, "reason",
                     available ? json_null() : printable_or_null(reason), "libraries", json_array(),
                     "devices", json_array(), "unusable", json_array());
}

/* One device into "devices", or into "unusable" with the reason. */
static void add_device(json_t *answer, struct backend *backend, uint32_t index)
{
    struct error reason = ERROR_INIT;
    struct device_info info;
    json_t *device;
    char spec[64], step[96];

    snprintf(spec, sizeof(spec), "%s:%u", backend->ops->name, index);
    snprintf(step, sizeof(step), "while asking %s what it is", spec);
    probe_child_step(step);
    if (backend_device_info(backend, index, &info, &reason) != STATUS_OK) {
        json_array_append_new(
            json_object_get(answer, "unusable"),
            json_pack("{s:s, s:o}", "spec", spec, "reason", printable_or_null(reason.message)));
        return;
    }
    device = vendor_json_device(&info, backend->ops->name, index);
    if (device)
        json_object_set_new(device, "spec", json_string(spec));
    json_array_append_new(json_object_get(answer, "devices"), device);
    device_info_finish(&info);
}

int probe_child_main(const char *name, bool libraries)
{
    struct backend *backend = backend_find(name);
    struct error err = ERROR_INIT;
    json_t *answer;

    if (!backend) {
        log_error("probe: no backend \"%s\"", name);
        return 2;
    }
    probe_child_begin();
    if (libraries)
        return probe_child_answer(libraries_json(backend));
    backend_probe(backend, &err);
    answer = backend_json(backend, err.code == STATUS_OK, err.message);
    if (!answer)
        return 1;
    for (uint32_t i = 0; err.code == STATUS_OK && i < backend->device_count; i++)
        add_device(answer, backend, i);
    return probe_child_answer(answer);
}

/* A backend is asked something; `answer` is a new reference where `status` is OK. */
struct question {
    const char *backend, *detail;
    json_t *answer;
    enum status status;
    struct error error;
};

static void ask(void *item)
{
    struct question *question = item;

    question->status =
        probe_child_ask(question->backend, question->detail, &question->answer, &question->error);
}

/* True where a device that `spec` names may be one of this backend's. */
static bool may_be_at(const char *backend, const char *spec)
{
    const size_t length = strcspn(spec, ":");
    char name[64];

    if (length >= sizeof(name))
        return true;
    memcpy(name, spec, length);
    name[length] = '\0';
    return !strcmp(name, backend) || !backend_find(name);
}

static bool is_asked(const char *backend, const char *const *specs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (may_be_at(backend, specs[i]))
            return true;
    return count == 0;
}

/* The backend's own answer, or how asking it failed. */
static json_t *backend_answer(struct question *question)
{
    json_t *answer;

    if (question->status == STATUS_OK)
        return question->answer;
    error_prefix(&question->error, "asking this backend failed");
    answer = backend_json(backend_find(question->backend), false, question->error.message);
    if (answer)
        json_object_set_new(answer, "failed", json_true());
    return answer;
}

enum status probe_run(const char *const *specs, size_t count, json_t **ret, struct error *err)
{
    struct question *questions = calloc(backend_count(), sizeof(*questions));
    json_t *all = json_array();
    size_t asked = 0;

    if (!all || !questions) {
        json_decref(all);
        free(questions);
        return error_no_memory(err);
    }
    for (size_t i = 0; i < backend_count(); i++)
        if (is_asked(backend_at(i)->ops->name, specs, count))
            questions[asked++].backend = backend_at(i)->ops->name;
    probe_child_side_by_side(ask, questions, sizeof(*questions), asked);
    for (size_t i = 0; i < asked; i++)
        json_array_append_new(all, backend_answer(&questions[i]));
    free(questions);
    *ret = all;
    return STATUS_OK;
}

static void add_digest(json_t *library)
{
    const char *path = member_string(library, "path");
    struct error reason = ERROR_INIT;
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];

    if (!path)
        return;
    if (digest_file(path, &digest, NULL, &reason) == STATUS_OK) {
        json_object_set_new(library, "sha256", json_string(digest_hex(&digest, hex)));
        return;
    }
    json_object_set_new(library, "sha256", json_null());
    json_object_set_new(library, "digest_reason", json_string(reason.message));
}

/* Many libraries do not report their version; the package that it came with has one. */
static void add_package(json_t *library, struct packages *packages)
{
    const char *path = member_string(library, "path");
    const struct packages_file file = {.path = path};
    struct package package;

    if (path && packages && packages_find(packages, &file, &package))
        json_object_set_new(library, "package",
                            json_pack("{s:s, s:s, s:s}", "manager", package.manager, "name",
                                      package.name, "version", package.version));
}

void probe_libraries(json_t *probe)
{
    const size_t count = json_array_size(probe);
    struct question *questions = calloc(count, sizeof(*questions));
    struct packages *packages = NULL;

    for (size_t i = 0; questions && i < count; i++) {
        questions[i].backend = member_string(json_array_get(probe, i), "backend");
        questions[i].detail = "libraries";
    }
    if (questions)
        probe_child_side_by_side(ask, questions, sizeof(*questions), count);
    packages_open(&packages, NULL);
    for (size_t i = 0; questions && i < count; i++) {
        json_t *backend = json_array_get(probe, i);

        if (questions[i].status == STATUS_OK) {
            EACH(library, questions[i].answer) {
                add_digest(library);
                add_package(library, packages);
            }
            json_object_set_new(backend, "libraries", questions[i].answer);
        } else {
            json_object_set_new(backend, "libraries_reason",
                                printable_or_null(questions[i].error.message));
        }
    }
    packages_destroy(packages);
    free(questions);
}

static bool is_plain(const json_t *backend, const json_t *device)
{
    return !member_is_true(backend, "hidden") && !member_is_true(device, "simulated");
}

/*
 * The device of an earlier backend that is the same processor, or NULL: several stacks may list one
 * processor (cpu, PoCL), and by default it is measured once.
 */
static const json_t *same_processor(const json_t *probe, const json_t *backend,
                                    const json_t *device)
{
    if (strcmp(member_text(device, "type"), "cpu"))
        return NULL;
    EACH(other, probe) {
        if (other == backend)
            return NULL;
        EACH(candidate, json_object_get(other, "devices"))
            if (is_plain(other, candidate) && !strcmp(member_text(candidate, "type"), "cpu"))
                return candidate;
    }
    return NULL;
}

bool probe_told(json_t *told, const char *what)
{
    const bool known = json_object_get(told, what) != NULL;

    if (told)
        json_object_set_new(told, what, json_true());
    return known;
}

static bool matches(const json_t *probe, const json_t *backend, const json_t *device,
                    const char *spec, json_t *told)
{
    if (!spec) {
        const char *own = member_text(device, "spec");
        const json_t *same =
            is_plain(backend, device) ? same_processor(probe, backend, device) : NULL;

        if (same && !probe_told(told, own))
            log_info(
                "%s is left out: it is the processor that %s measures; --device %s asks for it",
                own, member_text(same, "spec"), own);
        return is_plain(backend, device) && !same;
    }
    return !strcmp(spec, member_text(device, "spec")) ||
           !strcmp(spec, member_text(backend, "backend")) ||
           backend_begins_uuid(spec, member_text(device, "uuid"));
}

/* Why nothing matched: the backend's reason when one was named, else what there is. */
static enum status explain(const json_t *probe, const char *spec, struct error *err)
{
    struct text known;

    EACH(backend, probe) {
        const char *name = member_text(backend, "backend");

        if (member_is_true(backend, "available"))
            continue;
        if (spec && !strncmp(spec, name, strlen(name)))
            return error_set(err, STATUS_UNAVAILABLE, "%s: %s", spec,
                             member_text(backend, "reason"));
    }
    EACH(backend, probe)
        EACH(device, json_object_get(backend, "unusable"))
            if (spec && (!strcmp(spec, member_text(device, "spec")) ||
                         !strcmp(spec, member_text(backend, "backend"))))
                return error_set(err, STATUS_UNAVAILABLE, "%s: %s", member_text(device, "spec"),
                                 member_text(device, "reason"));
    text_init(&known);
    EACH(backend, probe) {
        if (!spec && member_is_true(backend, "hidden"))
            continue;
        EACH(device, json_object_get(backend, "devices"))
            text_append_format(&known, "%s%s", known.length ? ", " : "",
                               member_text(device, "spec"));
        if (!spec && !member_is_true(backend, "available"))
            text_append_format(&known, "%s%s (not available: %s)", known.length ? ", " : "",
                               member_text(backend, "backend"), member_text(backend, "reason"));
    }
    if (spec)
        error_set(err, STATUS_NOT_FOUND,
                  "no device \"%s\"; there is: %s; `assay devices` shows all, or why not", spec,
                  known.length ? known.data : "none");
    else
        error_set(err, STATUS_UNAVAILABLE,
                  "no usable device: %s. With a C compiler (package gcc) this processor is one",
                  known.length ? known.data : "no backend found one");
    text_finish(&known);
    return spec ? STATUS_NOT_FOUND : STATUS_UNAVAILABLE;
}

/* A user who does not choose a device is warned of a backend that failed to list one. */
static void warn_of_failures(const json_t *probe)
{
    EACH(backend, probe) {
        if (member_is_true(backend, "failed"))
            log_warning("%s is left out: %s", member_text(backend, "backend"),
                        member_text(backend, "reason"));
    }
}

enum status probe_select(const json_t *probe, const char *spec, json_t *told, json_t **ret,
                         struct error *err)
{
    json_t *selected = json_array();
    const json_t *device;

    if (!selected)
        return error_no_memory(err);
    EACH(backend, probe)
        EACH(candidate, json_object_get(backend, "devices"))
            if (matches(probe, backend, candidate, spec, told))
                json_array_append(selected, candidate);
    if (json_array_size(selected) == 0) {
        enum status status = explain(probe, spec, err);

        json_decref(selected);
        return status;
    }
    /* A backend's name means all its devices; a UUID means one. */
    device = json_array_get(selected, 0);
    if (spec && json_array_size(selected) > 1 &&
        backend_begins_uuid(spec, member_text(device, "uuid")) &&
        strcmp(spec, member_text(device, "backend")) != 0) {
        error_set(err, STATUS_INVALID,
                  "\"%s\" begins the UUID of both %s and %s; give more of it or name the device so",
                  spec, member_text(device, "spec"),
                  member_text(json_array_get(selected, 1), "spec"));
        json_decref(selected);
        return STATUS_INVALID;
    }
    if (!spec)
        warn_of_failures(probe);
    *ret = selected;
    return STATUS_OK;
}
