/* What store_cell_json and store_list_results give, as types: columns of stored.h, and what belongs
 * to them. */
#include "results/store/store.h"

#include "harness/core/reading.h"
#include "harness/core/shape.h"
#include "protocols/conduct.h"
#include "protocols/estimate.h"

#define KIND_TEXT MEMBER_TEXT
#define KIND_ISO MEMBER_TEXT
#define KIND_SEED MEMBER_INTEGER
#define KIND_BLOB MEMBER_TEXT
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

static const struct type *const numbers_or_texts[] = {&type_of_finite, &type_of_text, NULL};
static const struct type number_or_text = {ONE_OF(numbers_or_texts)};

static const struct type channel = TYPE_OF({
    SHOWN("name", TEXT),
    SHOWN("kind", TEXT),
    OPTIONAL("unit", TEXT),
    OPTIONAL_OR_NULL("wraps_at", COUNT),
    OPTIONAL_OR_NULL("bits", ANY),
    OPTIONAL_OR_NULL("source", TEXT),
    OPTIONAL_OR_NULL("reason", TEXT),
});
static const struct type channel_list = {LIST_OF(channel)};
static const struct type *const channel_choices[] = {&channel_list, &type_of_object, NULL};
static const struct type channels = {ONE_OF(channel_choices)};

static const struct type campaign = TYPE_OF({ROWS(STORED_CAMPAIGN)});
static const struct type identity = TYPE_OF({ROWS(STORED_IDENTITY)});
static const struct type cost = TYPE_OF({ROWS(STORED_COST)});
static const struct type device = TYPE_OF({
    ROWS(STORED_DEVICE) SHOWN("readings", RECORD, .of = &reading_list_type),
});
static const struct type trial_device = TYPE_OF({ROWS(STORED_TRIAL_DEVICE)});
static const struct type phase = TYPE_OF({ROWS(STORED_PHASE)});
static const struct type series = TYPE_OF({ROWS(STORED_SERIES)});
static const struct type check = TYPE_OF({ROWS(STORED_CHECK)});
static const struct type environment = TYPE_OF({
    OPTIONAL("host", RECORD, .of = &reading_list_type),
    OPTIONAL("before", RECORD, .of = &reading_list_type),
    OPTIONAL("after", RECORD, .of = &reading_list_type),
});
static const struct type component = TYPE_OF({ROWS(STORED_COMPONENT) SHOWN("at", TEXT)});
static const struct type telemetry = TYPE_OF({
    ROWS(STORED_TELEMETRY) OR_NULL("begin", RECORD, .of = &reading_list_type),
    OR_NULL("end", RECORD, .of = &reading_list_type),
});
static const struct type artifact = TYPE_OF({ROWS(STORED_ARTIFACT)});

static const struct type *const facts_choices[] = {&conduct_facts_type, NULL};
static const struct type trial = TYPE_OF({
    ROWS(STORED_TRIAL) OR_NULL("device", RECORD, .of = &trial_device),
    SHOWN("phases", LIST, .of = &phase),
    SHOWN("series", LIST, .of = &series),
    SHOWN("checks", LIST, .of = &check),
    SHOWN("environment", RECORD, .of = &environment),
    SHOWN("components", LIST, .of = &component),
    SHOWN("telemetry", LIST, .of = &telemetry),
    SHOWN("artifacts", LIST, .of = &artifact),
});

static const struct type estimate_row = TYPE_OF({ROWS(STORED_ESTIMATE)});
static const struct member amendment_members[] = {ROWS(STORED_AMENDMENT)};
const struct type store_amendment_type = TYPE_OF_MEMBERS(amendment_members, .def = "amendment");
static const struct type origin = TYPE_OF({ROWS(STORED_ORIGIN)});
static const struct type imported = TYPE_OF({
    SHOWN("claim", JSON, .help = "what the file says of the result"),
    SHOWN("readings", RECORD, .of = &reading_list_type),
    OR_NULL("origin", RECORD, .of = &origin),
});

static const struct member result_members[] = {ROWS(STORED_RESULT)};
const struct type store_result_type = TYPE_OF_MEMBERS(result_members, .def = "result");

const struct type store_cell_type = TYPE_OF({
    ROWS(STORED_CELL) SHOWN("campaign", RECORD, .of = &campaign),
    SHOWN("identity", RECORD, .of = &identity),
    SHOWN("cost", RECORD, .of = &cost, .help = "of one iteration"),
    OR_NULL("device", RECORD, .of = &device),
    OR_NULL("choices", JSON, .help = "what was chosen once for all of its trials"),
    SHOWN("trials", LIST, .of = &trial),
    OR_NULL("estimate", RECORD, .of = &estimate_type),
    OR_NULL("estimate_row", RECORD, .of = &estimate_row),
    SHOWN("amendments", LIST, .of = &store_amendment_type),
    OR_NULL("imported", RECORD, .of = &imported, .help = "null: measured here"),
});
