#include "harness/cli/judging.h"

#include <stdlib.h>
#include <string.h>

#include "harness/cli/output.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/declaration.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/library/inside.h"

static void finish(struct judging_request *request)
{
    json_decref(request->asked);
    declaration_finish(request->declaration);
    free(request->declaration);
}

void judging_record(const struct command_line *line, const struct judgement *judgement,
                    const json_t *made)
{
    const size_t count = json_is_array(made) ? json_array_size(made) : 1;
    struct assay_store *store = NULL;
    bool good;

    if (command_has(line, KEY_NO_RECORD) || line->bundle)
        return;
    good = assay_store_open(command_database(line), ASSAY_WRITE, database_wait_s(STORE_READ),
                            &store) == ASSAY_OK;
    for (size_t i = 0; i < count && good; i++)
        good = judgement_record(store->store, judgement, NULL,
                                json_is_array(made) ? json_array_get(made, i) : made,
                                library_error()) == STATUS_OK;
    if (!good)
        log_warning("the judgement is not recorded: %s", library_error()->message);
    assay_store_close(store);
}

/* What is asked, once or of each. */
static enum status make(const struct judging *judging, struct store *store, const json_t *asked,
                        json_t **ret, struct error *err)
{
    json_auto_t *list = json_array();

    if (!json_is_array(asked))
        return judging->judgement->make(store, asked, ret, err);
    for (size_t i = 0; i < json_array_size(asked); i++) {
        json_t *made = NULL;

        TRY(judging->judgement->make(store, json_array_get(asked, i), &made, err));
        json_array_append_new(list, made);
    }
    *ret = json_incref(list);
    return STATUS_OK;
}

static int judge(const struct command_line *line, struct store *store, void *context)
{
    const struct judging *judging = line->command->judging;
    const struct judging_request *request = context;
    json_auto_t *made = NULL;
    struct error err = ERROR_INIT;
    int result;

    if (make(judging, store, request->asked, &made, &err) != STATUS_OK) {
        if (request->declaration)
            declaration_locate(request->declaration, &err);
        return command_fail_asked(&err);
    }
    judging_record(line, judging->judgement, made);
    result = output_shown(line, made, judging->write);
    for (size_t i = 0; i < 2 && result == ASSAY_EXIT_OK; i++)
        if (judging->exits[i].verdict &&
            !strcmp(judging->exits[i].verdict, member_text(made, "verdict")))
            result = judging->exits[i].status;
    return result;
}

int judging_run(const struct command_line *line)
{
    CLEANUP(finish) struct judging_request request = {.asked = NULL};
    struct error err = ERROR_INIT;

    return line->command->judging->ask(line, &request, &err) == STATUS_OK
               ? with_store(line, STORE_READ, judge, &request)
               : command_fail(&err);
}
