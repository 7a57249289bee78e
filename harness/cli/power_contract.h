/* power_contract - `assay power CONTRACT.yaml`: both parties' risks before anything is measured. */
#ifndef ASSAY_CLI_POWER_CONTRACT_H
#define ASSAY_CLI_POWER_CONTRACT_H

#include <stdbool.h>

/* Shows the risks by the contract at `path` where trials vary by `sd`. Returns an exit status. */
int power_contract(const char *path, double sd, bool json);

#endif
