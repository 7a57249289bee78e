/* power_contract - `assay power CONTRACT.yaml`: both parties' risks before anything is measured. */
#ifndef ASSAY_CLI_POWER_CONTRACT_H
#define ASSAY_CLI_POWER_CONTRACT_H

#include "harness/cli/command.h"

/* Shows the risks by the contract that the call names where trials vary by `sd`. Returns an exit
 * status. */
int power_contract(const struct command_line *line, double sd);

#endif
