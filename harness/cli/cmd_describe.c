#include <stdlib.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/protocol.h"
#include "harness/core/number.h"
#include "workloads/declared.h"

static json_t *cost_json(const struct workload_case *work, const struct workload_cost *cost)
{
    json_t *json = type_to_json(&workload_cost_type, cost);

    json_object_set_new(json, "precision", json_string(precision_name(work->precision)));
    json_object_set_new(json, "batch", json_integer(work->batch));
    return json;
}

static void append_cost(struct text *out, const struct workload_case *work,
                        const struct workload_cost *cost)
{
    char memory[TEXT_HUMAN_SIZE], flops[TEXT_HUMAN_SIZE], bytes[TEXT_HUMAN_SIZE];

    text_append_format(out, "  %s, batch %lld: %llu %s%s", precision_name(work->precision),
                       (long long)work->batch, (unsigned long long)cost->items, cost->item_name,
                       cost->items == 1 ? "" : text_plural_ending(cost->item_name));
    if (cost->flops_formula)
        text_append_format(out, ", %s%s", text_human_si((double)cost->flops, flops),
                           work->precision == PRECISION_INT8 ? "OP" : "FLOP");
    if (cost->bytes_formula)
        text_append_format(out, ", %s moved", text_human_bytes((double)cost->bytes, bytes));
    text_append_format(out, " an iteration; needs %s on the device\n",
                       text_human_bytes((double)cost->device_memory_bytes, memory));
}

static void append_formulas(struct text *out, const struct workload_cost *cost)
{
    if (cost->flops_formula)
        text_append_format(out, "  FLOPs: %s\n", cost->flops_formula);
    if (cost->bytes_formula)
        text_append_format(out, "  bytes: %s\n", cost->bytes_formula);
}

/* Costs of every precision and batch that is declared, as JSON and as lines. */
static enum status costs_of(const struct workload *workload, json_t *rows, struct text *out,
                            struct error *err)
{
    struct workload_cost first = {0};

    for (size_t i = 0; i < workload->precision_count * workload->batch_count; i++) {
        const struct workload_case work = {.workload = workload,
                                           .precision =
                                               workload->precisions[i / workload->batch_count],
                                           .batch = workload->batches[i % workload->batch_count],
                                           .scenario = workload->scenario};
        struct workload_cost cost = {0};

        TRY(workload_case_cost(&work, &cost, err));
        json_array_append_new(rows, cost_json(&work, &cost));
        append_cost(out, &work, &cost);
        if (i == 0)
            first = cost;
    }
    append_formulas(out, &first);
    return STATUS_OK;
}

static int describe_workload(const struct command_line *line, struct workload *workload)
{
    char hex[DIGEST_HEX_SIZE];
    struct error err = ERROR_INIT;
    struct text out = TEXT_INIT;
    CLEANUP(text_finish) struct text work = TEXT_INIT;
    json_auto_t *costs = json_array();

    if (costs_of(workload, costs, &work, &err) != STATUS_OK)
        return command_fail(&err);
    digest_hex(&workload->digest, hex);
    if (command_has(line, KEY_JSON))
        return output_json(json_pack("{s:s, s:s, s:O, s:O}", "type", "workload", "digest", hex,
                                     "declaration", workload->json, "costs", costs));
    text_append_format(&out, "%s (%s, version %lld)\n", workload->name,
                       workload_kind_name(workload), (long long)workload->version);
    if (workload->description && workload->description[0])
        text_append_format(&out, "%s\n", workload->description);
    text_append_format(&out, "identity %s\n\n", hex);
    workload_append_shapes(workload, &out);
    text_append_format(&out, "\nWork\n%s", text_ok(&work) ? work.data : "");
    return output_lines(&out);
}

static int describe_suite(const struct command_line *line, struct suite *suite)
{
    char hex[DIGEST_HEX_SIZE];
    struct text out = TEXT_INIT;

    digest_hex(&suite->digest, hex);
    if (command_has(line, KEY_JSON))
        return output_json(json_pack("{s:s, s:s, s:O}", "type", "suite", "digest", hex,
                                     "declaration", suite->json));
    text_append_format(&out, "%s (suite, version %lld)\n", suite->name, (long long)suite->version);
    if (suite->description && suite->description[0])
        text_append_format(&out, "%s\n", suite->description);
    text_append_format(&out, "identity %s\n\nWorkloads\n", hex);
    for (size_t i = 0; i < suite->entry_count; i++) {
        const struct suite_entry *entry = &suite->entries[i];

        text_append_format(&out, "  %s", entry->workload);
        for (size_t p = 0; p < entry->precision_count; p++)
            text_append_format(&out, "%s%s", p ? ", " : " in ",
                               precision_name(entry->precisions[p]));
        for (size_t b = 0; b < entry->batch_count; b++)
            text_append_format(&out, "%s%lld", b ? ", " : " batch ", (long long)entry->batches[b]);
        text_append_char(&out, '\n');
    }
    return output_lines(&out);
}

/* [0.5, 0.9]: the elements apart, so that a line can break between them. */
static void append_value(struct text *out, const json_t *value)
{
    AUTO_FREE char *plain = NULL;

    if (json_is_array(value)) {
        text_append_char(out, '[');
        EACH(element, value) {
            text_append(out, element_at > 0 ? ", " : "");
            append_value(out, element);
        }
        text_append_char(out, ']');
        return;
    }
    canonical_dump(value, &plain, NULL);
    text_append(out, plain ? plain : "?");
}

/* "3000000000 (3 s)": as it is identified, and as it is read. */
static void append_duration(struct text *out, const char *key, const json_t *value)
{
    size_t length = strlen(key);
    struct number_unit unit;

    if (length < 3 || strcmp(key + length - 3, "_ns") || !json_is_integer(value) ||
        json_integer_value(value) < 1000)
        return;
    unit = number_unit_duration((double)json_integer_value(value));
    text_append_format(out, " (%g %s)", (double)json_integer_value(value) / unit.factor, unit.name);
}

static void append_clauses(struct text *out, const json_t *json, int indent)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)json, key, value)
    {
        if (!strcmp(key, "description"))
            continue;
        if (json_is_object(value)) {
            text_append_format(out, "%*s%s\n", indent, "", key);
            append_clauses(out, value, indent + 2);
            continue;
        }
        text_append_format(out, "%*s%-*s ", indent, "", 32 - indent, key);
        append_value(out, value);
        append_duration(out, key, value);
        text_append_char(out, '\n');
    }
}

static int describe_protocol(const struct command_line *line, struct protocol *protocol)
{
    char hex[DIGEST_HEX_SIZE];
    struct text out = TEXT_INIT;

    digest_hex(&protocol->digest, hex);
    if (command_has(line, KEY_JSON))
        return output_json(json_pack("{s:s, s:s, s:O}", "type", "protocol", "digest", hex,
                                     "declaration", protocol->json));
    text_append_format(&out, "%s (protocol, version %lld, %s)\n", protocol->name,
                       (long long)protocol->version, protocol_purpose(protocol));
    if (protocol->description && protocol->description[0])
        text_append_format(&out, "%s\n", protocol->description);
    text_append_format(&out, "identity %s\n\nClauses\n", hex);
    append_clauses(&out, protocol->json, 2);
    return output_lines(&out);
}

/* Of three failures to read it, the one of what the file means to be. */
static int explain(const char *name, const struct error *suite, const struct error *protocol,
                   const struct error *workload)
{
    size_t length = strlen(name);
    struct error err = ERROR_INIT;
    bool is_suite, is_workload;

    if (!strchr(name, '/') && (length < 5 || strcmp(name + length - 5, ".yaml") != 0))
        return command_fail(workload);
    if (declaration_is_suite(name, &is_suite, &err) != STATUS_OK ||
        declaration_is_workload(name, &is_workload, &err) != STATUS_OK)
        return command_fail(&err);
    return command_fail(is_suite ? suite : is_workload ? workload : protocol);
}

static int run(const struct command_line *line)
{
    const char *name = line->arguments[0];
    struct error err = ERROR_INIT, suite_error = ERROR_INIT, protocol_error = ERROR_INIT;
    struct workload workload;
    struct suite suite;
    struct protocol protocol;
    int result;

    if (suite_find(name, &suite, &suite_error) == STATUS_OK) {
        result = describe_suite(line, &suite);
        suite_finish(&suite);
        return result;
    }
    if (protocol_find(name, &protocol, &protocol_error) == STATUS_OK) {
        result = describe_protocol(line, &protocol);
        protocol_finish(&protocol);
        return result;
    }
    if (workload_find(name, &workload, &err) == STATUS_OK) {
        result = describe_workload(line, &workload);
        workload_finish(&workload);
        return result;
    }
    return explain(name, &suite_error, &protocol_error, &err);
}

const struct command command_describe = {
    .name = "describe",
    .arguments = "NAME|FILE",
    .summary = "Show a workload's shapes, work and memory, a suite, or a protocol",
    .text =
        "NAME is what `assay list` shows. FILE is a declaration of your own, ./NAME.yaml: it is "
        "checked, and a mistake is reported with its line and what to write instead.",
    .groups = GROUP_JSON,
    .arguments_min = 1,
    .arguments_max = 1,
    .completes = "WORKLOAD|SUITE|FILE",
    .run = run,
};
