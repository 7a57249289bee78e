#include "harness/runner/doctor_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backends/backend.h"
#include "harness/core/cgroup.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "harness/runner/host.h"
#include "harness/runner/host_details.h"
#include "harness/runner/probe.h"

static enum finding_severity severity_of(const json_t *object, const char *member)
{
    const char *name = member_text(object, member);
    int severity = FINDING_CRITICAL;

    while (severity > FINDING_NONE &&
           strcmp(name, finding_severity_name((enum finding_severity)severity)) != 0)
        severity--;
    return (enum finding_severity)severity;
}

enum finding_severity doctor_worst(const json_t *report)
{
    return severity_of(report, "worst");
}

/* Contains foreign text (names of processes, files of sysfs), which is made printable. */
static json_t *words(const char *format, va_list args)
{
    struct text text, clean;
    json_t *json;

    text_init(&text);
    text_init(&clean);
    text_append_formatv(&text, format, args);
    text_append_printable(&clean, text.data, text.length);
    json = text_ok(&clean) ? json_string(clean.data) : NULL;
    text_finish(&text);
    text_finish(&clean);
    return json;
}

/* What changes the system is done on a container's host, and by root without sudo. */
static json_t *applicable(const struct doctor *doctor, const char *remedy)
{
    static const char sudo[] = "sudo ";
    const bool contained = doctor_text(&doctor->host, "host.container", NULL) != NULL;
    struct text text;
    json_t *json;
    const char *at;

    text_init(&text);
    if (contained && strstr(remedy, sudo))
        text_append(&text, "on the host of this container: ");
    while ((at = contained || geteuid() != 0 ? NULL : strstr(remedy, sudo))) {
        text_append_bytes(&text, remedy, (size_t)(at - remedy));
        remedy = at + strlen(sudo);
    }
    text_append(&text, remedy);
    json = text_ok(&text) ? json_string(text.data) : NULL;
    text_finish(&text);
    return json;
}

/* The row's code; of a device "device ECC" becomes "cuda:0 ECC". */
static json_t *name_of(const struct doctor *doctor, enum finding_code code)
{
    const char *name = finding_kinds[code].code;

    return doctor->device ? json_sprintf("%s%s", doctor->device, name + strlen("device"))
                          : json_string(name);
}

void doctor_find(struct doctor *doctor, enum finding_code code, bool is_critical,
                 const char *remedy, const char *observed, ...)
{
    AUTO_FREE char *subject = remedy ? strdup(remedy) : NULL;
    const struct finding finding = {.code = code, .subject = subject}, *const items = &finding;
    const enum finding_severity severity =
        is_critical ? FINDING_CRITICAL : finding_kinds[code].severity;
    struct text effect, cure;
    va_list args;
    json_t *seen;

    va_start(args, observed);
    seen = words(observed, args);
    va_end(args);
    text_init(&effect);
    text_init(&cure);
    finding_render_words(&items, 1, &effect);
    finding_render_remedy(&items, 1, &cure);
    json_array_append_new(doctor->findings,
                          json_pack("{s:o, s:s, s:o, s:s, s:o}", "check", name_of(doctor, code),
                                    "severity", finding_severity_name(severity), "observed", seen,
                                    "effect", text_ok(&effect) ? effect.data : "", "remedy",
                                    applicable(doctor, text_ok(&cure) ? cure.data : "")));
    text_finish(&effect);
    text_finish(&cure);
}

void doctor_pass(struct doctor *doctor, enum finding_code code, const char *observed, ...)
{
    va_list args;
    json_t *seen;

    va_start(args, observed);
    seen = words(observed, args);
    va_end(args);
    json_array_append_new(
        doctor->passed, json_pack("{s:o, s:o}", "check", name_of(doctor, code), "observed", seen));
}

void doctor_cannot_know(struct doctor *doctor, enum finding_code code, const char *reason)
{
    json_array_append_new(doctor->unknown, json_pack("{s:o, s:s}", "check", name_of(doctor, code),
                                                     "reason", reason ? reason : "not reported"));
}

void doctor_cannot_check(struct doctor *doctor, const char *what, const char *reason)
{
    json_array_append_new(doctor->unknown,
                          json_pack("{s:s, s:s}", "check", what, "reason", reason));
}

const char *doctor_text(const struct reading_list *list, const char *name, const char **ret_reason)
{
    const struct reading *reading = reading_find(list, name);

    if (ret_reason)
        *ret_reason = reading && reading->reason ? reading->reason : "it is not read here";
    if (!reading || reading->type != READING_TEXT ||
        (reading->status != READING_MEASURED && reading->status != READING_DECLARED))
        return NULL;
    return reading->text;
}

int64_t doctor_integer(const struct reading_list *list, const char *name)
{
    const struct reading *reading = reading_find(list, name);
    int64_t value;

    if (!reading || (reading->status != READING_MEASURED && reading->status != READING_DECLARED))
        return -1;
    if (reading->type == READING_INTEGER)
        return reading->integer;
    return reading->type == READING_TEXT && text_parse_i64(reading->text, &value) ? value : -1;
}

static int64_t throttled_periods(void)
{
    struct reading_list list;
    int64_t periods;

    reading_list_init(&list);
    cgroup_read_usage(&list);
    periods = doctor_integer(&list, "cgroup.throttled_periods");
    reading_list_finish(&list);
    return periods;
}

struct ticking {
    const struct doctor_options *options;
    int64_t started_ns;
};

static bool tick(void *context)
{
    const struct ticking *ticking = context;

    return !ticking->options->tick ||
           ticking->options->tick(ticking->options->context,
                                  clock_monotonic_ns() - ticking->started_ns);
}

/* Processor time of this process and of what it started and waited for. */
static int64_t own_cpu_ms(void)
{
    struct rusage own, children;

    if (getrusage(RUSAGE_SELF, &own) < 0 || getrusage(RUSAGE_CHILDREN, &children) < 0)
        return 0;
    return (own.ru_utime.tv_sec + own.ru_stime.tv_sec + children.ru_utime.tv_sec +
            children.ru_stime.tv_sec) *
               1000 +
           (own.ru_utime.tv_usec + own.ru_stime.tv_usec + children.ru_utime.tv_usec +
            children.ru_stime.tv_usec) /
               1000;
}

/* Two snapshots of which processes use the processors, and between them the test or a pause. */
static void watch_load(struct doctor *doctor, const struct doctor_options *options)
{
    struct ticking ticking = {options, clock_monotonic_ns()};

    doctor->throttled_before = throttled_periods();
    doctor->load_reason = "/proc cannot be read";
    doctor->own_ms = -own_cpu_ms();
    if (processes_look(false, &doctor->before, NULL) != STATUS_OK)
        return;
    if (options->jitter_ns > 0) {
        doctor->jitter = jitter_measure(options->jitter_ns, tick, &ticking);
        if (options->tick)
            options->tick(options->context, options->jitter_ns);
        doctor->has_jitter = true;
    } else {
        clock_sleep_until_ns(clock_monotonic_ns() + options->look_ns);
    }
    doctor->throttled_after = throttled_periods();
    doctor->has_load = processes_look(true, &doctor->after, NULL) == STATUS_OK;
    doctor->own_ms += own_cpu_ms();
}

/* A new array, worst first, otherwise in the order found. */
static json_t *worst_first(const json_t *findings, enum finding_severity *ret_worst)
{
    json_t *sorted = json_array();

    *ret_worst = FINDING_NONE;
    for (enum finding_severity rank = FINDING_CRITICAL; rank > FINDING_NONE; rank--) {
        for (size_t i = 0; i < json_array_size(findings); i++) {
            if (severity_of(json_array_get(findings, i), "severity") != rank)
                continue;
            json_array_append(sorted, json_array_get(findings, i));
            if (*ret_worst < rank)
                *ret_worst = rank;
        }
    }
    return sorted;
}

static enum status check_devices(struct doctor *doctor, const char *wanted, json_t *ret_specs,
                                 struct error *err)
{
    json_t *probe = NULL, *devices = NULL, *device;
    struct error reason = ERROR_INIT;
    size_t i;
    enum status status;

    if (wanted && !wanted[0])
        return STATUS_OK;
    status = probe_run(&wanted, wanted ? 1 : 0, &probe, err);
    if (status != STATUS_OK)
        return status;
    status = probe_select(probe, wanted, NULL, &devices, &reason);
    json_decref(probe);
    if (status != STATUS_OK && wanted) { /* asked for by name */
        if (err)
            *err = reason;
        return status;
    }
    if (status != STATUS_OK)
        doctor_cannot_check(doctor, "device", reason.message);
    json_array_foreach(devices, i, device)
    {
        json_array_append(ret_specs, json_object_get(device, "spec"));
        doctor_check_device(doctor, device);
    }
    json_decref(devices);
    return STATUS_OK;
}

/* Only backends with telemetry report something without opening the device itself. */
static void check_specs(struct doctor *doctor, const json_t *wanted, json_t *ret_specs)
{
    size_t i;
    json_t *spec;

    json_array_foreach((json_t *)wanted, i, spec)
    {
        const char *text = json_string_value(spec), *colon = text ? strchr(text, ':') : NULL;
        char name[64];
        struct backend *backend;
        json_t *device;

        if (!colon || (size_t)(colon - text) >= sizeof(name))
            continue;
        memcpy(name, text, (size_t)(colon - text));
        name[colon - text] = '\0';
        backend = backend_find(name);
        if (!backend || !backend->ops->telemetry_open)
            continue;
        device = json_pack("{s:O}", "spec", spec);
        doctor_check_device(doctor, device);
        json_array_append(ret_specs, spec);
        json_decref(device);
    }
}

static json_t *jitter_json(const struct doctor *doctor)
{
    const struct jitter *jitter = &doctor->jitter;

    if (!doctor->has_jitter)
        return json_null();
    return json_pack("{s:I, s:i, s:I, s:I, s:I}", "duration_ns", (json_int_t)jitter->duration_ns,
                     "threshold_ns", JITTER_THRESHOLD_NS, "gaps", (json_int_t)jitter->gaps,
                     "lost_ns", (json_int_t)jitter->lost_ns, "longest_ns",
                     (json_int_t)jitter->longest_ns);
}

enum status doctor_examine(const struct doctor_options *options, json_t **ret, struct error *err)
{
    struct doctor doctor = {.findings = json_array(),
                            .passed = json_array(),
                            .unknown = json_array(),
                            .throttled_before = -1,
                            .throttled_after = -1};
    json_t *specs = json_array(), *report = NULL;
    const char *host;
    enum finding_severity worst;
    enum status status;

    reading_list_init(&doctor.host);
    host_read_fixed(&doctor.host);
    host_read_details(&doctor.host);
    host_read_moving(&doctor.host);
    host_read_time(&doctor.host);
    cgroup_read_limits(&doctor.host);
    watch_load(&doctor, options);
    doctor_check_host(&doctor);
    if (options->specs)
        check_specs(&doctor, options->specs, specs);
    status = options->specs ? STATUS_OK : check_devices(&doctor, options->device, specs, err);
    host = doctor_text(&doctor.host, "host.name", NULL);
    if (status == STATUS_OK) {
        json_t *findings = worst_first(doctor.findings, &worst);

        report =
            json_pack("{s:i, s:I, s:s, s:s?, s:O, s:o, s:O, s:O, s:o}", "version", 1, "utc_ns",
                      (json_int_t)clock_utc_ns(), "worst", finding_severity_name(worst), "host",
                      host, "devices", specs, "findings", findings, "passed", doctor.passed,
                      "unknown", doctor.unknown, "jitter", jitter_json(&doctor));
        if (!report || doctor.host.failed)
            status = error_no_memory(err);
    }
    if (status == STATUS_OK)
        *ret = report;
    else
        json_decref(report);
    json_decref(specs);
    json_decref(doctor.findings);
    json_decref(doctor.passed);
    json_decref(doctor.unknown);
    processes_finish(&doctor.before);
    processes_finish(&doctor.after);
    reading_list_finish(&doctor.host);
    return status;
}
