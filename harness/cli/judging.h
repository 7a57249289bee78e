/*
 * judging - a command that makes a judgement of stored results (results/analysis/judgement.h): what
 * it is asked by its arguments is made, recorded unless --no-record says otherwise, shown, and told
 * by the exit status.
 */
#ifndef ASSAY_CLI_JUDGING_H
#define ASSAY_CLI_JUDGING_H

#include <jansson.h>

#include "harness/cli/command.h"
#include "reports/doc.h"
#include "results/analysis/judgement.h"

struct declaration;

/* What the arguments came to. */
struct judging_request {
    json_t *asked;                   /* for the judgement's `make`; an array: of each of it */
    struct declaration *declaration; /* heap: of which errors name the line; NULL: none */
};

struct judging {
    const struct judgement *judgement;
    /* Reads arguments and the files that they name into `ret`, of zeros before, which is finished
     * in each case. */
    enum status (*ask)(const struct command_line *line, struct judging_request *ret,
                       struct error *err);
    /* The document for people, of the body or an array of them. */
    void (*write)(struct doc *doc, const json_t *made);
    bool several; /* it makes an array */
    /* Exit statuses of verdicts; of all others 0. */
    struct {
        const char *verdict;
        int status;
    } exits[2];
};

/* Runs a command that has `judging`. An exit status. */
int judging_run(const struct command_line *line);

/*
 * Records a body, or an array of them, in the command's database. Who may only read a database may
 * still judge by it: what fails is a warning.
 */
void judging_record(const struct command_line *line, const struct judgement *judgement,
                    const json_t *made);

#endif
