#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cli/cell_lists.h"
#include "harness/cli/commands.h"
#include "harness/cli/defaults.h"
#include "harness/cli/envelope.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/output.h"
#include "harness/cli/pair_request.h"
#include "harness/cli/results_view.h"
#include "harness/cli/run_plan.h"
#include "harness/cli/run_start.h"
#include "harness/cli/signing.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/runner/campaign.h"
#include "harness/runner/campaign_trace.h"
#include "harness/runner/expected.h"
#include "harness/runner/plan.h"
#include "protocols/contract.h"

enum {
    KEY_PRECISION = 0x100,
    KEY_BATCH,
    KEY_IMPLEMENTATION,
    KEY_EMULATE,
    KEY_RESUME,
    KEY_DRY_RUN,
    KEY_ORDER_SEED,
    KEY_NONCE,
    KEY_DOCTOR,
    KEY_QUESTION,
    KEY_CONTRACT,
    KEY_PLAN_ONLY,
    KEY_PLAN,
    KEY_SIGN,
    KEY_WITNESS_COMMAND,
    KEY_WITNESSES,
    KEY_ROSTER,
    KEY_QUOTE,
    KEY_WORKER,
    KEY_OVER,
    KEY_TRACE
};

#define JITTER_NS (10 * (int64_t)1000000000)

/* What the options say, in the form that plan_build takes. */
struct request {
    struct plan_request plan;
    struct cell_lists lists;
    const char *devices[CELL_LIST_MAX];
    const char *names[CONTRACT_ITEMS_MAX]; /* of a contract's workloads */
    enum implementation implementations[CELL_LIST_MAX];
    struct arm_spec arms[PAIR_ARMS_MAX]; /* who measures; with --over how, an arm a combination */
    size_t arm_count;
};

static void request_finish(struct request *request)
{
    for (size_t i = 0; i < PAIR_ARMS_MAX; i++)
        arm_spec_finish(&request->arms[i]);
}

static enum status take_implementation(void *context, const char *word, struct error *err)
{
    struct request *request = context;

    if (request->plan.implementation_count == CELL_LIST_MAX)
        return cell_list_full(err, "implementation");
    if (!implementation_from_name(word,
                                  &request->implementations[request->plan.implementation_count]) ||
        request->implementations[request->plan.implementation_count] == IMPLEMENTATION_UNKNOWN)
        return error_set(
            err, STATUS_INVALID,
            "--implementation %s: write portable (our own kernels), vendor (the vendor's "
            "library) or portable,vendor",
            word);
    request->plan.implementation_count++;
    return STATUS_OK;
}

static enum status take_worker(const char *name, struct request *request, struct error *err)
{
    AUTO_FREE char *setting = text_format("worker=%s", name);
    enum status status =
        setting ? arm_spec_add(&request->arms[0], setting, err) : error_no_memory(err);

    if (status != STATUS_OK || !request->arms[0].worker)
        return status;
    request->plan.spec = &request->arms[0];
    return request->plan.implementation_count == 0
               ? STATUS_OK
               : error_set(err, STATUS_INVALID,
                           "--implementation chooses among assay's own ways: leave it out, or "
                           "--worker");
}

/* Settings that have an option of their own are read as that; the others become arms. */
static enum status read_over(const struct command_line *line, struct request *request,
                             struct error *err)
{
    const char *over;

    request->arm_count = 1;
    for (size_t n = 0; (over = command_value_at(line, KEY_OVER, n)); n++) {
        bool taken;

        TRY(cell_lists_over(over, &request->lists, &taken, err));
        if (!strncmp(over, "device=", 7) || !strncmp(over, "workload=", 9))
            return error_set(err, STATUS_INVALID, "--over %s: name %s", over,
                             over[0] == 'd' ? "each by --device" : "the workloads themselves");
        if (!taken)
            TRY(arms_cross(request->arms, &request->arm_count, over, err));
    }
    cell_lists_apply(&request->lists, &request->plan);
    return STATUS_OK;
}

static enum status build_plan(struct request *request, struct plan *ret, struct error *err)
{
    struct plan_request arms[PAIR_ARMS_MAX];

    if (request->arm_count < 2)
        return plan_build(&request->plan, ret, err);
    for (size_t i = 0; i < request->arm_count; i++) {
        arms[i] = request->plan;
        arms[i].sweep = true;
        arms[i].spec = &request->arms[i];
        arms[i].other = &request->arms[i ? 0 : 1];
    }
    return plan_build_arms(arms, request->arm_count, ret, err);
}

static enum status read_request(const struct command_line *line, struct request *request,
                                struct error *err)
{
    const char *value;

    memset(request, 0, sizeof(*request));
    request->plan.names = line->arguments;
    request->plan.name_count = line->argument_count;
    request->plan.devices = request->devices;
    request->plan.implementations = request->implementations;
    request->plan.emulate = command_has(line, KEY_EMULATE);
    request->plan.protocol = command_protocol(line);
    request->plan.nonce = command_value(line, KEY_NONCE);
    request->plan.question = command_value(line, KEY_QUESTION);
    for (size_t n = 0; (value = command_value_at(line, KEY_DEVICE, n)); n++) {
        if (n == CELL_LIST_MAX)
            return cell_list_full(err, "device");
        request->devices[request->plan.device_count++] = value;
    }
    if (request->plan.device_count == 0 && defaults()->device)
        request->devices[request->plan.device_count++] = defaults()->device;
    TRY(cell_lists_read(line, KEY_PRECISION, KEY_BATCH, &request->lists, err));
    TRY(cell_list_each(line, KEY_IMPLEMENTATION, take_implementation, request, err));
    value = command_value(line, KEY_WORKER);
    if (value)
        TRY(take_worker(value, request, err));
    TRY(read_over(line, request, err));
    value = command_value(line, KEY_ORDER_SEED);
    if (value) {
        int64_t seed;

        if (!text_parse_i64(value, &seed) || seed < 0)
            return error_set(err, STATUS_INVALID,
                             "--order-seed %s: write a whole number from 0 to 2^63-1", value);
        request->plan.order_seed = (uint64_t)seed;
        request->plan.has_order_seed = true;
    }
    return STATUS_OK;
}

static enum status expect(const struct command_line *line, struct store *store,
                          const struct plan *plan, struct expected *ret, struct error *err)
{
    enum status status = expected_init(ret, plan->cell_count, err);

    for (size_t i = 0; i < plan->cell_count && status == STATUS_OK; i++) {
        json_auto_t *message = plan_trial_json(plan, &plan->cells[i]);
        size_t trials = 0;

        for (size_t k = 0; k < plan->order_count; k++)
            trials += plan->order[k] == i;
        status = message ? expected_set(ret, i, store, message, trials, false, err)
                         : error_no_memory(err);
    }
    ret->before_ns = plan->protocol.doctor_jitter_ns;
    if (command_has(line, KEY_DOCTOR) && ret->before_ns < JITTER_NS)
        ret->before_ns = JITTER_NS;
    return status;
}

/* A database that is not there, or held, knows of no trials before. */
static enum status expect_from_stored(const struct command_line *line, const struct plan *plan,
                                      struct expected *ret, struct error *err)
{
    struct store *store = NULL;
    enum status status;

    if (access(command_database(line), F_OK) == 0)
        store_open(command_database(line), STORE_READ, 0, &store, NULL);
    status = expect(line, store, plan, ret, err);
    store_close(store);
    return status;
}

static int show_plan(const struct command_line *line, const struct plan *plan)
{
    CLEANUP(expected_finish) struct expected expected = {0};
    struct error err = ERROR_INIT;
    CLEANUP(text_finish) struct text sentence = TEXT_INIT;
    struct text out = TEXT_INIT;

    if (expect_from_stored(line, plan, &expected, &err) != STATUS_OK)
        return command_fail(&err);
    if (command_has(line, KEY_JSON)) {
        json_t *shown = json_copy(plan->json);

        json_object_set_new(shown, "expected", expected_json(&expected));
        return output_json(shown);
    }
    expected_append(&sentence, &expected);
    text_append_format(&sentence, "; under protocol %s. Nothing was run.", plan->protocol.name);
    output_wrapped(&out, text_ok(&sentence) ? sentence.data : "", 0, output_columns());
    text_append_char(&out, '\n');
    for (size_t i = 0; i < plan->cell_count; i++) {
        AUTO_FREE char *label = plan_cell_label(&plan->cells[i]);

        text_append_format(&out, "  %3zu  %-36s on %s\n", i + 1, label ? label : "?",
                           plan->cells[i].device_spec);
    }
    text_append_format(&out, "\nOrder of the trials (seed %" PRIu64 ")\n ", plan->order_seed);
    for (size_t i = 0; i < plan->order_count; i++)
        text_append_format(&out, " %u%s", plan->order[i] + 1,
                           (i + 1) % 20 == 0 && i + 1 < plan->order_count ? "\n " : "");
    text_append_char(&out, '\n');
    return output_text(&out);
}

static json_t *summary_json(const struct campaign *campaign, const struct campaign_summary *summary,
                            json_t *results)
{
    return json_pack(
        "{s:s, s:o, s:s, s:I, s:I, s:I, s:I, s:b, s:o, s:o}", "campaign", campaign->uid, "database",
        printable_or_null(store_path(campaign->store)), "resume_with", "assay run --resume",
        "trials_ok", (json_int_t)summary->ok, "trials_failed", (json_int_t)summary->failed,
        "trials_unsupported", (json_int_t)summary->unsupported, "trials_left",
        (json_int_t)(summary->planned - summary->done), "interrupted", summary->interrupted,
        "results", results, "expected", json_incref(campaign->expected));
}

static enum status read_witnesses(const struct command_line *line, struct run_witnesses *ret,
                                  struct error *err)
{
    return run_witnesses_read(command_value(line, KEY_WITNESS_COMMAND),
                              command_value(line, KEY_WITNESSES), command_value(line, KEY_ROSTER),
                              ret, err);
}

static enum status write_trace(const struct command_line *line, const struct campaign *campaign,
                               const struct campaign_options *options, struct error *err)
{
    const char *path = command_value(line, KEY_TRACE);

    if (!path)
        return STATUS_OK;
    TRY(campaign_trace_write(campaign, path, options->wake_fd, err));
    log_info("one iteration of each cell is in %s; open it in https://ui.perfetto.dev", path);
    return STATUS_OK;
}

static int run_campaign(const struct command_line *line, struct store *store,
                        struct campaign *campaign, run_show_fn *show)
{
    struct campaign_options options = {.wake_fd = -1,
                                       .quiet = command_has(line, KEY_QUIET),
                                       .jitter_ns = command_has(line, KEY_DOCTOR) ? JITTER_NS : 0};
    struct campaign_summary summary = {0};
    struct error err = ERROR_INIT;
    CLEANUP(run_witnesses_finish) struct run_witnesses witnesses = {0};
    CLEANUP(signing_close) struct signing signing = {0};
    enum status status;
    int result;

    if (signing_open(command_value(line, KEY_SIGN), &signing, &err) != STATUS_OK)
        return command_fail(&err);
    status = read_witnesses(line, &witnesses, &err);
    if (status != STATUS_OK)
        return command_fail(&err);
    options.key = signing_key(&signing);
    options.witnesses = run_witnesses_hold(&witnesses);
    options.quote_key = command_value(line, KEY_QUOTE);
    status = interrupt_open(INTERRUPT_TRIALS, &options.wake_fd, &err);
    if (status == STATUS_OK)
        status = campaign_run(campaign, &options, &summary, &err);
    if (status == STATUS_OK && summary.held)
        return command_interrupted(
            "interrupted; no trial has run, and what witnesses have signed is kept; run it with: "
            "assay run --plan %.8s --db %s",
            campaign->uid, store_path_word(store));
    if (status != STATUS_OK) {
        result = err.code == STATUS_UNAVAILABLE ? command_fail(&err) : command_fail_store(&err);
        log_info("what was finished is kept; go on with: assay run --resume %.8s --db %s",
                 campaign->uid, store_path_word(store));
        return result;
    }
    if (command_has(line, KEY_JSON)) {
        json_t *results = NULL;

        if (results_view_json(store, campaign->row, &results, &err) != STATUS_OK)
            return command_fail(&err);
        result = output_json(summary_json(campaign, &summary, results));
    } else {
        result = show(store, campaign->row, &err);
    }
    if (summary.interrupted) {
        result = command_interrupted("interrupted; go on with: assay run --resume %.8s --db %s",
                                     campaign->uid, store_path_word(store));
        return summary.unanswered ? command_unanswered(summary.done, summary.planned) : result;
    }
    if (!command_has(line, KEY_JSON))
        log_info("campaign %.8s is in %s; a page of it: assay report --html report.html --db %s "
                 "%.8s",
                 campaign->uid, store_path(store), store_path_word(store), campaign->uid);
    if (summary.unsupported > 0)
        log_info("%zu of %zu trials asked for what their device does not support, and say what",
                 summary.unsupported, summary.done);
    if (write_trace(line, campaign, &options, &err) != STATUS_OK)
        result = command_fail(&err);
    if (summary.failed > 0) {
        envelope_explain(summary.failure, "");
        log_error("%zu of %zu trials failed; `assay show ID --db %s` says why", summary.failed,
                  summary.done, store_path_word(store));
        return ASSAY_EXIT_TRIALS;
    }
    return result;
}

static int resume(const struct command_line *line, struct store *store, void *context)
{
    struct error err = ERROR_INIT;
    CLEANUP(campaign_finish) struct campaign campaign = {0};

    (void)context;
    if ((command_has(line, KEY_PLAN)
             ? campaign_open_planned(store, command_value(line, KEY_PLAN), &campaign, &err)
             : campaign_open(store, command_value(line, KEY_RESUME), &campaign, &err)) != STATUS_OK)
        return command_fail_store(&err);
    for (size_t i = 0; i < campaign.cell_count && command_has(line, KEY_TRACE); i++) {
        const struct campaign_cell *cell = &campaign.cells[i];

        if (campaign_trace_check(cell->message, cell->spec.worker ? cell->spec.worker->from : NULL,
                                 &err) != STATUS_OK)
            return command_fail(&err);
    }
    return run_campaign(line, store, &campaign, results_view_table);
}

/* Records the plan and its head; nothing runs. */
static int plan_only(const struct command_line *line, struct campaign *campaign)
{
    struct error err = ERROR_INIT;
    CLEANUP(signing_close) struct signing signing = {0};

    if (signing_open(command_value(line, KEY_SIGN), &signing, &err) != STATUS_OK)
        return command_fail(&err);
    return run_plan_show(line, campaign, signing_key(&signing));
}

/* A plan that is new, and how its results are shown. */
struct start {
    struct plan *plan;
    run_show_fn *show;
};

static int create(const struct command_line *line, struct store *store, void *context)
{
    const struct start *start = context;
    struct error err = ERROR_INIT;
    CLEANUP(campaign_finish) struct campaign campaign = {0};
    int result;

    if (campaign_create(store, start->plan, line->text, &campaign, &err) != STATUS_OK) {
        result = command_fail_store(&err);
        log_info("no trial was run: give the same command again");
        return result;
    }
    result = command_has(line, KEY_PLAN_ONLY) ? plan_only(line, &campaign)
                                              : run_campaign(line, store, &campaign, start->show);
    return result;
}

int run_start(const struct command_line *line, struct plan *plan, run_show_fn *show)
{
    struct start start = {plan, show};

    return with_store(line, STORE_CREATE, create, &start);
}

/* Options that belong to a new plan, beside --plan or --resume; NULL: there are none. */
static const char *stray_option(const struct command_line *line)
{
    static const struct {
        int key;
        const char *name;
    } new_plan[] = {{KEY_DEVICE, "--device"},       {KEY_PROTOCOL, "--protocol"},
                    {KEY_PRECISION, "--precision"}, {KEY_BATCH, "--batch"},
                    {KEY_EMULATE, "--emulate"},     {KEY_IMPLEMENTATION, "--implementation"},
                    {KEY_WORKER, "--worker"},       {KEY_OVER, "--over"},
                    {KEY_NONCE, "--nonce"},         {KEY_ORDER_SEED, "--order-seed"},
                    {KEY_QUESTION, "--question"},   {KEY_DRY_RUN, "--dry-run"},
                    {KEY_PLAN_ONLY, "--plan-only"}};

    for (size_t i = 0; i < sizeof(new_plan) / sizeof(new_plan[0]); i++)
        if (command_has(line, new_plan[i].key))
            return new_plan[i].name;
    return line->argument_count > 0 ? line->arguments[0] : NULL;
}

/* What is wrong is said before devices are asked; true: it is. */
static bool is_wrong(const struct command_line *line)
{
    const bool resumes = command_has(line, KEY_RESUME), runs = command_has(line, KEY_PLAN);
    const char *stray = resumes || runs ? stray_option(line) : NULL;
    CLEANUP(run_witnesses_finish) struct run_witnesses witnesses = {0};
    struct error err = ERROR_INIT;

    if (resumes && runs) {
        log_error("--plan is for what has not been started, --resume for what has: leave one out");
        return true;
    }
    /* Before now --resume took and ignored the others. */
    if (stray && (runs || line->argument_count > 0)) {
        log_error("%s takes everything from the campaign's record: leave out \"%s\"",
                  runs ? "--plan" : "--resume", runs ? stray : line->arguments[0]);
        return true;
    }
    if (command_has(line, KEY_PLAN_ONLY) && command_has(line, KEY_WITNESS_COMMAND)) {
        log_error("--plan-only runs nothing, so nothing waits for witnesses: leave out "
                  "--witness-command, and give it to `assay run --plan`");
        return true;
    }
    if (command_has(line, KEY_PLAN_ONLY) && command_has(line, KEY_TRACE)) {
        log_error("--plan-only runs nothing that could be traced: leave out --trace, and give it "
                  "to `assay run --plan`");
        return true;
    }
    if (command_has(line, KEY_PLAN_ONLY) && command_has(line, KEY_QUOTE)) {
        log_error(
            "--plan-only runs nothing, so no TPM quotes it: leave out --quote, and give it to "
            "`assay run --plan`");
        return true;
    }
    if (read_witnesses(line, &witnesses, &err) != STATUS_OK) {
        command_say(&err);
        return true;
    }
    return false;
}

/*
 * What the contract asks for becomes the request: its workloads, nonce and protocol, and at least
 * its trials. Devices, precisions and batches are those of the options.
 */
static enum status apply_contract(const struct command_line *line, const struct contract *contract,
                                  struct request *request, struct error *err)
{
    const json_t *items = json_object_get(contract->json, "items");
    const char *protocol = member_string(contract->json, "protocol");
    const char *nonce = member_string(contract->json, "nonce");
    CLEANUP(protocol_finish) struct protocol found = {0};

    if (line->argument_count > 0 || (nonce && request->plan.nonce) ||
        (protocol && command_has(line, KEY_PROTOCOL)))
        return error_set(err, STATUS_INVALID, "--contract %s says it already: leave out %s",
                         command_value(line, KEY_CONTRACT),
                         line->argument_count > 0       ? line->arguments[0]
                         : nonce && request->plan.nonce ? "--nonce"
                                                        : "--protocol");
    EACH(item, items) {
        const json_t *cell = json_object_get(item, "cell");
        const char *name = member_string(cell, "workload");
        const int64_t trials = member_integer(item, "trials");
        size_t k = 0;

        while (k < request->plan.name_count && strcmp(request->names[k], name) != 0)
            k++;
        if (k == request->plan.name_count)
            request->names[request->plan.name_count++] = name;
        if (trials > request->plan.trials)
            request->plan.trials = trials;
    }
    request->plan.names = request->names;
    request->plan.contract = contract->json;
    if (protocol)
        request->plan.protocol = protocol;
    if (nonce)
        request->plan.nonce = nonce;
    TRY(protocol_find(request->plan.protocol, &found, err));
    if (found.trials >= request->plan.trials)
        request->plan.trials = 0;
    if (!found.evidence)
        return error_set(err, STATUS_INVALID,
                         "--contract %s: results of the protocol %s are not evidence, which is "
                         "never accepted: %s",
                         command_value(line, KEY_CONTRACT), request->plan.protocol,
                         protocol ? "write `protocol: standard` into the contract"
                                  : "add --protocol standard, or `protocol: standard` to the "
                                    "contract");
    return STATUS_OK;
}

/* Before anything is recorded. */
static enum status check_trace(const struct command_line *line, const struct plan *plan,
                               struct error *err)
{
    for (size_t i = 0; i < plan->cell_count && command_has(line, KEY_TRACE); i++) {
        const struct plan_cell *cell = &plan->cells[i];
        json_auto_t *message = plan_trial_json(plan, cell);

        if (!message)
            return error_no_memory(err);
        TRY(campaign_trace_check(message, member_string(cell->worker, "name"), err));
    }
    return STATUS_OK;
}

/* Plans and runs; `contract` NULL: none. */
static int plan_and_run(const struct command_line *line, const struct contract *contract)
{
    struct request request;
    struct error err = ERROR_INIT;
    CLEANUP(plan_finish) struct plan plan = {0};

    if (read_request(line, &request, &err) != STATUS_OK ||
        (contract && apply_contract(line, contract, &request, &err) != STATUS_OK) ||
        build_plan(&request, &plan, &err) != STATUS_OK ||
        check_trace(line, &plan, &err) != STATUS_OK) {
        request_finish(&request);
        return command_fail(&err);
    }
    request_finish(&request);
    return command_has(line, KEY_DRY_RUN) ? show_plan(line, &plan)
                                          : run_start(line, &plan, results_view_table);
}

static int run(const struct command_line *line)
{
    struct contract contract;
    struct error err = ERROR_INIT;
    int result;

    if (is_wrong(line))
        return ASSAY_EXIT_USAGE;
    if (command_has(line, KEY_RESUME) || command_has(line, KEY_PLAN))
        return with_store(line, STORE_WRITE, resume, NULL);
    if (command_has(line, KEY_CONTRACT)) {
        if (contract_load(command_value(line, KEY_CONTRACT), &contract, &err) != STATUS_OK)
            return command_fail(&err);
        result = plan_and_run(line, &contract);
        contract_finish(&contract);
        return result;
    }
    if (line->argument_count == 0) {
        log_error("name a workload, a suite or a file, such as `assay run first-look`; `assay "
                  "list` shows what there is");
        return ASSAY_EXIT_USAGE;
    }
    return plan_and_run(line, NULL);
}

static const struct argp_option options[] = {
    {"device", KEY_DEVICE, "DEVICE", OPTION_REPEATS,
     "opencl:0, opencl, or the start of a UUID; may be given several times (default: every usable "
     "device)"},
    {"protocol", KEY_PROTOCOL, "PROTOCOL|FILE", 0, "how to measure (default: quick)"},
    {"precision", KEY_PRECISION, "PRECISION,...", 0,
     "only these of the declared precisions: fp32,bf16"},
    {"batch", KEY_BATCH, "N,...", 0, "only these of the declared batch sizes: 1,8"},
    {"implementation", KEY_IMPLEMENTATION, "portable|vendor|portable,vendor", 0,
     "whose GEMMs: portable (our own kernels, the default), vendor, or both"},
    {"worker", KEY_WORKER, "NAME[@VERSION]", 0,
     "who measures: a framework of `assay worker list`, or the path of a worker.yaml, with "
     ",mode=NAME and ,threads=N after it (default: assay's own kernels)"},
    {"over", KEY_OVER, "KEY=VALUE,...", OPTION_REPEATS,
     "measure with each value of a setting of `assay ab`, of batch or of precision, and with all "
     "combinations of several; 1..8x2 is 1,2,4,8"},
    {"emulate", KEY_EMULATE, NULL, 0,
     "run precisions that are only emulated, too; results are labelled so"},
    {"resume", KEY_RESUME, "CAMPAIGN", 0, "continue an interrupted campaign (`last`: the newest)"},
    {"dry-run", KEY_DRY_RUN, NULL, 0,
     "show cells, order and how long it will take; run and store nothing"},
    {"plan-only", KEY_PLAN_ONLY, NULL, 0,
     "record the plan and its head, for others to see before, and run nothing"},
    {"plan", KEY_PLAN, "CAMPAIGN", 0,
     "run exactly what --plan-only recorded (`last`: the newest campaign)"},
    {"key", KEY_SIGN, "FILE", 0,
     "sign plan and end with this key (default: the one of `assay key show`)"},
    {"witness-command", KEY_WITNESS_COMMAND, "COMMAND", 0,
     "before the first trial, give the plan's signed note to this command, which prints "
     "cosignatures (see assay witness), until there are enough"},
    {"witnesses", KEY_WITNESSES, "K", 0, "how many witnesses must have cosigned the plan"},
    {"roster", KEY_ROSTER, "FILE", 0, "the witnesses whose cosignatures count"},
    {"quote", KEY_QUOTE, "HANDLE|FILE", 0,
     "have this key of the machine's TPM 2.0 (tpm2-tools) sign the heads of plan and end, with the "
     "PCRs, its clock, and the log of the boot"},
    {"order-seed", KEY_ORDER_SEED, "N", 0, "seed of the trials' order (default: drawn at random)"},
    {"nonce", KEY_NONCE, "TEXT", 0,
     "text from a buyer that becomes part of the recorded plan, and of the seed of the data"},
    {"contract", KEY_CONTRACT, "FILE", 0,
     "measure what this contract declares; it becomes part of the recorded plan (see assay "
     "accept)"},
    {"doctor", KEY_DOCTOR, NULL, 0,
     "measure for ten seconds how much time is taken from a thread, before the first trial (see "
     "assay doctor)"},
    {"trace", KEY_TRACE, "FILE", 0,
     "after the trials, write one more iteration of each cell in Chrome's trace format, with the "
     "time, bytes, FLOPs and bound of each operation"},
    {"question", KEY_QUESTION, "TEXT", 0,
     "the question that this run is to answer; becomes part of the recorded plan and stands first "
     "in the dossier"},
    {0}};

const struct command command_run = {
    .name = "run",
    .arguments = "[NAME|FILE|SUITE]...",
    .summary = "Run workloads under a protocol and store every sample",
    .text =
        "The plan is recorded before the first trial. Each trial is a fresh process; trials of all "
        "cells are interleaved in a seeded random order.\n"
        "\n"
        "Before the first trial it says roughly how long the run will take: as long as stored "
        "trials of the same cells took, or by the protocol and the size of the work; after each "
        "trial it says so again. Ctrl-C ends a run early and shows the results of the finished "
        "trials.\n"
        "\n"
        "--quote has a TPM 2.0 sign what is measured when: tpm2_quote with the root of the plan's "
        "head "
        "as nonce, and of the end's. The key is a restricted signing key of that TPM, which stays "
        "in "
        "it:\n"
        "\n"
        "  tpm2_createek -c ek.ctx -G ecc -u ek.pub\n"
        "  tpm2_createak -C ek.ctx -c ak.ctx -G ecc -g sha256 -s ecdsa \\\n"
        "      -u ak.pem -f pem -n ak.name\n"
        "  tpm2_evictcontrol -C o -c ak.ctx 0x81010002\n"
        "  assay run triad --quote 0x81010002\n"
        "\n"
        "--trace is for Perfetto (ui.perfetto.dev) and TensorBoard. Of declared "
        "stacks (kind pass) it has the operations, of other kinds the whole iteration. A process "
        "of its own runs it after the trials, so that no result contains it. What bounds an "
        "operation follows from the results of the database on this device: launch, copy or "
        "triad, and gemm in the same precision; without them it is unknown, and none where they "
        "explain less than a tenth of its time.\n"
        "\n"
        "A precision that a device lacks ends its cell as unsupported, with the reason.\n"
        "\n"
        "--witness-command gets the note of the plan's head on its standard input, and ASSAY_DB "
        "and ASSAY_CHECKPOINT, with which it can call `assay checkpoint export --since`. It may "
        "take a minute and is called again until enough witnesses have cosigned. When all trials "
        "are "
        "done it gets the head of the end, with the proof that it continues the plan's: how much "
        "time "
        "passed by a witness's clock is then known, and `assay verify --roster` holds the file's "
        "clock against it.\n"
        "\n"
        "  assay run first-look\n"
        "  assay run gemm --precision fp32,bf16 --implementation portable,vendor\n"
        "  assay run triad --device cpu:0 --over threads=1..8x2\n"
        "  assay run triad my-model.yaml --protocol standard --db evidence.db\n"
        "  assay run llama_135m_pass copy launch_queued --device cpu:0 --trace pass.json\n"
        "  assay run --resume last",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_STACK | GROUP_QUIET,
    .arguments_max = CELL_LIST_MAX,
    .completes = "WORKLOAD|SUITE|FILE",
    .run = run,
};
