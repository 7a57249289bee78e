#include "harness/cli/commands.h"
#include "harness/cli/comparison_view.h"
#include "harness/cli/pair_request.h"
#include "harness/cli/signing.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/log.h"
#include "harness/runner/campaign.h"

static int show(const struct command_line *line, struct store *store,
                const struct campaign *campaign, double margin)
{
    CLEANUP(comparison_cleanup) struct assay_comparison *comparison = NULL;
    struct assay_compare_options options = ASSAY_COMPARE_OPTIONS_INIT;
    int status;

    options.margin = margin;
    if (assay_compare(line->opened, campaign->uid, NULL, &options, &comparison) != ASSAY_OK ||
        assay_comparison_record(comparison, false) != ASSAY_OK)
        return command_fail(library_error());
    status = campaign_comparison_show(line, store, &comparison->made, false);
    if (status == ASSAY_EXIT_OK && command_has(line, KEY_EXIT_STATUS))
        status = campaign_comparison_exit_status(&comparison->made);
    return status;
}

static int run_campaign(const struct command_line *line, struct store *store,
                        const struct pair_request *request, struct campaign *campaign)
{
    struct campaign_options options = {.wake_fd = -1, .quiet = command_has(line, KEY_QUIET)};
    struct campaign_summary summary = {0};
    struct error err = ERROR_INIT;
    int shown;

    if (signing_run(campaign, &options, &summary, &err) != STATUS_OK)
        return command_fail(&err);
    if (summary.interrupted) {
        shown = command_interrupted("interrupted; go on with: assay run --resume %.8s --db %s\n"
                                    "and then with: assay compare %.8s --db %s",
                                    campaign->uid, store_path_word(store), campaign->uid,
                                    store_path_word(store));
        return summary.unanswered ? command_unanswered(summary.done, summary.planned) : shown;
    }
    shown = show(line, store, campaign, request->compare.margin);
    if (shown == ASSAY_EXIT_OK && summary.failed > 0 && !command_has(line, KEY_EXIT_STATUS))
        shown = ASSAY_EXIT_TRIALS;
    return shown;
}

/* What `run` hands over through with_store. */
struct ab_call {
    struct pair_request request;
    struct plan plan;
};

static int with_plan(const struct command_line *line, struct store *store, void *context)
{
    const struct ab_call *call = context;
    struct error err = ERROR_INIT;
    CLEANUP(campaign_finish) struct campaign campaign = {0};

    if (campaign_create(store, &call->plan, line->text, &campaign, &err) != STATUS_OK)
        return command_fail_store(&err);
    return run_campaign(line, store, &call->request, &campaign);
}

static int run(const struct command_line *line)
{
    struct error err = ERROR_INIT;
    struct ab_call call = {0};
    int result;

    if (pair_request_read(line, line->arguments, line->argument_count, &call.request, &err) !=
        STATUS_OK)
        return command_fail(&err);
    result = plan_build_arms(call.request.plans, call.request.count, &call.plan, &err) == STATUS_OK
                 ? with_store(line, STORE_CREATE, with_plan, &call)
                 : command_fail(&err);
    plan_finish(&call.plan);
    pair_request_finish(&call.request);
    return result;
}

static const struct argp_option ab_options[] = {
    {"a", KEY_PAIR_A, "SPEC", OPTION_REPEATS, "a setting of arm a; may be given several times"},
    {"b", KEY_PAIR_B, "SPEC", OPTION_REPEATS, "a setting of arm b"},
    PAIR_OPTIONS,
    DETAILS_OPTION,
    EXIT_STATUS_OPTION,
    {0}};

const struct command command_ab = {
    .name = "ab",
    .arguments = "WORKLOAD...",
    .summary = "Measure two arms side by side and say whether they differ",
    .text =
        "Each pair runs both arms, each in a fresh process, so that drift falls on both; a runs "
        "first in half of the pairs, which are drawn. A SPEC is one of device=D, backend=B, "
        "precision=P, implementation=A "
        "(portable or vendor), emulate, workload=W, worker=NAME (a framework of `assay worker "
        "list`, with @VERSION, mode=M and threads=N), driver=NAME|FOLDER (an OpenCL driver), "
        "cc=COMMAND (the C compiler of the cpu backend), threads=N (of the cpu backend), "
        "lib:NAME=PATH, env:NAME=VALUE, root=DIR (another root directory's loader, libraries and "
        "drivers, among them those that "
        "`ldd assay` lists; needs privilege). "
        "Where what an arm sets changes nothing that is recorded, a warning says so.\n"
        "\n"
        "Several workloads, precisions or batch sizes are so many comparisons of one campaign, "
        "judged together: the chance of any false difference among them is at most 5 % (Holm). "
        "What is not named is all that the workload declares.\n"
        "\n"
        "  assay ab triad --device cpu --a cc=gcc --b cc=clang\n"
        "  assay ab memory-bound --precision fp32 --device cpu --a cc=gcc --b cc=clang\n"
        "  assay ab triad --b root=/srv/trixie --pairs 10\n"
        "  assay ab gpt2_small_batched_inference --a worker=assay --b worker=openvino\n"
        "  assay ab triad --a env:OMP_PROC_BIND=close --b env:OMP_PROC_BIND=spread\n"
        "\n" EXIT_STATUS_TEXT,
    .options = ab_options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_MARKDOWN | GROUP_STACK | GROUP_QUIET,
    .arguments_min = 1,
    .arguments_max = CELL_LIST_MAX,
    .completes = "WORKLOAD|SUITE|FILE",
    .run = run,
};

static int run_matrix(const struct command_line *line)
{
    if (command_has(line, KEY_PAIR_OVER))
        return run(line);
    log_error("say with --over what the arms differ in, such as --over 'cc=gcc,clang'");
    return ASSAY_EXIT_USAGE;
}

static const struct argp_option matrix_options[] = {
    {"over", KEY_PAIR_OVER, "KEY=VALUE,...", OPTION_REPEATS,
     "a setting and its values; the arms are all combinations, the first is the base"},
    PAIR_OPTIONS,
    DETAILS_OPTION,
    EXIT_STATUS_OPTION,
    {0}};

const struct command command_matrix = {
    .name = "matrix",
    .arguments = "WORKLOAD...",
    .summary = "Measure several versions of a driver, compiler or other setting side by side",
    .text =
        "Each block runs all arms in random order, half of the blocks in the reverse order of the "
        "others, each in a fresh process, so that drift falls on all. Every arm is compared with "
        "the first, the base, pair by pair within the blocks; the "
        "comparisons are judged together (Holm). KEY is a setting of `assay ab`; X{1,2} stands for "
        "X1 and X2, 1..8x2 for 1, 2, 4 and 8, 2..6+2 for 2, 4 and 6, and an empty value for the "
        "machine as it is. Quote what has braces. A worker's "
        "settings stay with it: worker=assay,pytorch,mode=compile has two values.\n"
        "\n"
        "After an interruption `assay run --resume` goes on, and `assay compare CAMPAIGN` shows "
        "all again.\n"
        "\n"
        "  assay matrix triad --device cpu --over cc=gcc,clang\n"
        "  assay matrix triad gelu --device opencl:0 --over driver=pocl,/opt/2024.2\n"
        "  assay matrix gemm --device cpu --over threads=1..8x2\n"
        "  assay matrix gemm --over 'env:OMP_PROC_BIND=,close' --over precision=fp32,bf16\n"
        "\n" EXIT_STATUS_TEXT,
    .options = matrix_options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_MARKDOWN | GROUP_STACK | GROUP_QUIET,
    .arguments_min = 1,
    .arguments_max = CELL_LIST_MAX,
    .completes = "WORKLOAD|SUITE|FILE",
    .run = run_matrix,
};
