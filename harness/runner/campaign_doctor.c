#include "harness/runner/campaign_doctor.h"

#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/log.h"
#include "harness/core/text.h"
#include "harness/runner/doctor.h"
#include "harness/runner/dumps.h"

#define LOOK_NS 200000000

/* The campaign's devices, each once. */
static json_t *devices_of(const struct campaign *campaign)
{
    json_t *seen = json_object(), *specs = json_array(), *value;
    const char *spec;

    for (size_t i = 0; i < campaign->cell_count; i++) {
        spec = member_string(campaign->cells[i].message, "device");
        if (spec && strncmp(spec, "endpoint:", strlen("endpoint:")) != 0)
            json_object_set_new(seen, spec, json_true());
    }
    json_object_foreach(seen, spec, value)
    {
        json_array_append_new(specs, json_string(spec));
    }
    json_decref(seen);
    return specs;
}

/* "steal time (12 % ...), other processes (...)": findings of at least this severity. */
static void append_bad(struct text *out, const json_t *report, enum finding_severity least)
{

    EACH(finding, json_object_get(report, "findings")) {
        const json_t *one = json_pack("{s:O}", "worst", json_object_get(finding, "severity"));

        if (doctor_worst(one) >= least)
            text_append_format(out, "%s%s (%s)", out->length ? "; " : "",
                               member_string(finding, "check"), member_string(finding, "observed"));
        json_decref((json_t *)one);
    }
}

static enum status refuse(struct campaign *campaign, const char *words, struct error *err)
{
    TRY(store_add_campaign_event(campaign->store, campaign->row, "failed", words, err));
    return error_set(err, STATUS_UNAVAILABLE,
                     "the protocol does not measure on a machine in this state: %s; `assay doctor` "
                     "says what to do about it",
                     words);
}

enum status campaign_examine(struct campaign *campaign, const struct campaign_options *options,
                             struct error *err)
{
    static const enum finding_severity refused[] = {
        [PROTOCOL_REFUSE_CRITICAL] = FINDING_CRITICAL, [PROTOCOL_REFUSE_WARNING] = FINDING_WARNING};
    json_auto_t *specs = devices_of(campaign), *report = NULL;
    struct doctor_options doctor = {.specs = specs,
                                    .look_ns = LOOK_NS,
                                    .jitter_ns = campaign->doctor_jitter_ns > options->jitter_ns
                                                     ? campaign->doctor_jitter_ns
                                                     : options->jitter_ns};
    CLEANUP(text_finish) struct text bad = TEXT_INIT;

    TRY(doctor_examine(&doctor, &report, err));
    TRY(dumps_take(campaign->store, campaign->row, specs, err));
    TRY(store_add_doctor(campaign->store, campaign->row, report, err));
    if (campaign->doctor_refuses != PROTOCOL_REFUSE_NOTHING &&
        doctor_worst(report) >= refused[campaign->doctor_refuses]) {
        append_bad(&bad, report, refused[campaign->doctor_refuses]);
        return refuse(campaign, bad.data, err);
    }
    if (doctor_worst(report) == FINDING_CRITICAL && !options->quiet) {
        append_bad(&bad, report, FINDING_CRITICAL);
        log_warning("this machine is not fit to measure on: %s; `assay doctor` shows more",
                    bad.data);
    }
    return STATUS_OK;
}
