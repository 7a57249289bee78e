/* What store_cell_json and store_list_results give, as types: columns of stored.h, and what belongs
 * to them. */
#include "results/store/stored.h"

#include "harness/core/reading.h"
#include "protocols/estimate.h"
#include "protocols/metric.h"

#define KIND_TEXT MEMBER_TEXT
#define KIND_ISO MEMBER_TEXT
#define KIND_SEED MEMBER_INTEGER
#define KIND_INTEGER MEMBER_INTEGER
#define KIND_COUNT MEMBER_COUNT
#define KIND_REAL MEMBER_REAL
#define KIND_DIGEST MEMBER_DIGEST
#define KIND_BOOLEAN MEMBER_BOOLEAN
#define KIND_JSON MEMBER_JSON
#define KIND_ANY MEMBER_ANY
#define KIND_VALUE MEMBER_RECORD
#define KIND_COLUMN MEMBER_RECORD
#define ROW(member, of_kind, with_flags, sql, ...)                                                 \
    {.name = #member, .kind = KIND_##of_kind, .flags = (with_flags), __VA_ARGS__},
#define ROWS(list) list(ROW, ROW, ROW)
#define PART(part, of_kind, with_flags, ...)                                                       \
    {                                                                                              \
        .name = part, .kind = MEMBER_##of_kind, .flags = (with_flags), __VA_ARGS__                 \
    }
#define OPTIONAL MEMBER_OPTIONAL

static const struct type *const numbers_or_texts[] = {&type_of_finite, &type_of_text, NULL};
static const struct type number_or_text = {TYPE_OF_VALUE(MEMBER_ANY, .choices = numbers_or_texts)};

static const struct member channel_members[] = {
    PART("name", TEXT, 0),
    PART("kind", TEXT, 0),
    PART("unit", TEXT, OPTIONAL),
    PART("wraps_at", COUNT, OPTIONAL | NULLABLE),
    PART("bits", ANY, OPTIONAL | NULLABLE),
    PART("source", TEXT, OPTIONAL | NULLABLE),
    PART("reason", TEXT, OPTIONAL | NULLABLE),
};
static const struct type channel = TYPE_OF_MEMBERS(channel_members);
static const struct type channel_list = {TYPE_OF_VALUE(MEMBER_LIST, .of = &channel)};
static const struct type *const channel_choices[] = {&channel_list, &type_of_object, NULL};
static const struct type channels = {TYPE_OF_VALUE(MEMBER_ANY, .choices = channel_choices)};

static const struct member campaign_members[] = {ROWS(STORED_CAMPAIGN)};
static const struct type campaign = TYPE_OF_MEMBERS(campaign_members);
static const struct member identity_members[] = {ROWS(STORED_IDENTITY)};
static const struct type identity = TYPE_OF_MEMBERS(identity_members);
static const struct member cost_members[] = {ROWS(STORED_COST)};
static const struct type cost = TYPE_OF_MEMBERS(cost_members);
static const struct member device_members[] = {
    ROWS(STORED_DEVICE) PART("readings", RECORD, 0, .of = &reading_list_type),
};
static const struct type device = TYPE_OF_MEMBERS(device_members);
static const struct member trial_device_members[] = {ROWS(STORED_TRIAL_DEVICE)};
static const struct type trial_device = TYPE_OF_MEMBERS(trial_device_members);
static const struct member phase_members[] = {ROWS(STORED_PHASE)};
static const struct type phase = TYPE_OF_MEMBERS(phase_members);
static const struct member series_members[] = {ROWS(STORED_SERIES)};
static const struct type series = TYPE_OF_MEMBERS(series_members);
static const struct member check_members[] = {ROWS(STORED_CHECK)};
static const struct type check = TYPE_OF_MEMBERS(check_members);
static const struct member environment_members[] = {
    PART("host", RECORD, OPTIONAL, .of = &reading_list_type),
    PART("before", RECORD, OPTIONAL, .of = &reading_list_type),
    PART("after", RECORD, OPTIONAL, .of = &reading_list_type),
};
static const struct type environment = TYPE_OF_MEMBERS(environment_members);
static const struct member component_members[] = {ROWS(STORED_COMPONENT)};
static const struct type component = TYPE_OF_MEMBERS(component_members);
static const struct member telemetry_members[] = {
    ROWS(STORED_TELEMETRY) PART("begin", RECORD, NULLABLE, .of = &reading_list_type),
    PART("end", RECORD, NULLABLE, .of = &reading_list_type),
};
static const struct type telemetry = TYPE_OF_MEMBERS(telemetry_members);
static const struct member artifact_members[] = {ROWS(STORED_ARTIFACT)};
static const struct type artifact = TYPE_OF_MEMBERS(artifact_members);

static const struct member trial_members[] = {
    ROWS(STORED_TRIAL) PART("device", RECORD, NULLABLE, .of = &trial_device),
    PART("phases", LIST, 0, .of = &phase),
    PART("series", LIST, 0, .of = &series),
    PART("checks", LIST, 0, .of = &check),
    PART("environment", RECORD, 0, .of = &environment),
    PART("components", LIST, 0, .of = &component),
    PART("telemetry", LIST, 0, .of = &telemetry),
    PART("artifacts", LIST, 0, .of = &artifact),
};
static const struct type trial = TYPE_OF_MEMBERS(trial_members);

static const struct member estimate_members[] = {ROWS(STORED_ESTIMATE)};
static const struct type estimate_row = TYPE_OF_MEMBERS(estimate_members);
static const struct member amendment_members[] = {ROWS(STORED_AMENDMENT)};
const struct type store_amendment_type = TYPE_OF_MEMBERS(amendment_members, .def = "amendment");
static const struct member origin_members[] = {ROWS(STORED_ORIGIN)};
static const struct type origin = TYPE_OF_MEMBERS(origin_members);
static const struct member imported_members[] = {
    PART("claim", JSON, 0, .help = "what the file says of the result"),
    PART("readings", RECORD, 0, .of = &reading_list_type),
    PART("origin", RECORD, NULLABLE, .of = &origin),
};
static const struct type imported = TYPE_OF_MEMBERS(imported_members);

static const struct member result_members[] = {ROWS(STORED_RESULT)};
const struct type store_result_type = TYPE_OF_MEMBERS(result_members, .def = "result");

static const struct member cell_members[] = {
    ROWS(STORED_CELL) PART("campaign", RECORD, 0, .of = &campaign),
    PART("identity", RECORD, 0, .of = &identity),
    PART("cost", RECORD, 0, .of = &cost, .help = "of one iteration"),
    PART("device", RECORD, NULLABLE, .of = &device),
    PART("choices", JSON, NULLABLE, .help = "what was chosen once for all of its trials"),
    PART("trials", LIST, 0, .of = &trial),
    PART("estimate", RECORD, NULLABLE, .of = &estimate_type),
    PART("estimate_row", RECORD, NULLABLE, .of = &estimate_row),
    PART("amendments", LIST, 0, .of = &store_amendment_type),
    PART("imported", RECORD, NULLABLE, .of = &imported, .help = "null: measured here"),
};
const struct type store_cell_type = TYPE_OF_MEMBERS(cell_members);
