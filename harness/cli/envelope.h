/*
 * envelope - the one JSON document that a call with --json writes: its schema, assay's version, the
 * command, data, findings and errors (schema.h).
 *
 * The document is held back until the command has ended, so that errors after its data are in it
 * and nothing follows it. While it is open, errors and warnings that are logged go into it, too,
 * and a signal that ends the process writes a document that says so.
 */
#ifndef ASSAY_CLI_ENVELOPE_H
#define ASSAY_CLI_ENVELOPE_H

#include <stdbool.h>

#include <jansson.h>

#include "harness/core/status.h"

/* Whether --json is among the arguments of a call, before they are parsed. */
bool envelope_asked(int argc, char **argv);

/* Opens the document. `command`: its name (static), or NULL where none is known. */
void envelope_begin(const char *command);

/* Closes it unwritten: the call does not write JSON. */
void envelope_cancel(void);

bool envelope_is_open(void);

/* `message`: UTF-8. `place`: "FILE:LINE", or "". Does nothing where no document is open. */
void envelope_add_error(enum status code, const char *message, const char *place);

/* Status and place of the next error that is logged; others have one after the exit status. */
void envelope_explain(enum status code, const char *place);

/* The document's data, or NULL: none; takes the reference. */
void envelope_set_data(json_t *data);

/* More findings, of findings_for_people; takes the reference. */
void envelope_add_findings(json_t *list);

/* Adds an element to data that is a list; takes the reference. False: there is no memory. */
bool envelope_add_row(json_t *row);

/*
 * Writes the document where one is open, else flushes standard output; `result`: the command's exit
 * status. Returns the exit status: ASSAY_EXIT_SYSTEM when data or other output could not be
 * written.
 */
int envelope_end(int result);

/* From a signal handler that ends the process: writes the document unless one is written already.
 */
void envelope_write_interrupted(void);

#endif
