/* A key that assay never sees, in a token or on another machine: a command signs with it. */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/filter.h"
#include "results/evidence/key_internal.h"

#define TIMEOUT_NS INT64_C(120000000000) /* a person may have to touch a token */
#define ANSWER_MAX 4096

enum status key_sign_by_command(const struct key *key, const void *bytes, size_t length,
                                uint8_t *ret, struct error *err)
{
    const struct filter filter = {.command = key->command,
                                  .input = bytes,
                                  .length = length,
                                  .timeout_ns = TIMEOUT_NS,
                                  .max_output = ANSWER_MAX,
                                  .wake_fd = -1};
    uint8_t signature[KEY_SIGNATURE_SIZE];
    size_t answered = 0, trimmed, got = 0;
    struct error reason = ERROR_INIT;
    char *answer = NULL;
    enum status status = filter_run(&filter, &answer, &answered, &reason);
    const char *word;

    if (status != STATUS_OK) {
        free(answer);
        return error_set(err, status, "the command that signs for the key %s failed: %s",
                         key->public.name, reason.message);
    }
    word = key_trimmed(answer, &trimmed);
    if (strlen(answer) != answered ||
        !key_base64_decode(word, trimmed, signature, sizeof(signature), &got) ||
        got != sizeof(signature))
        status = error_set(err, STATUS_INVALID,
                           "the command that signs for the key %s printed no signature: 64 bytes "
                           "in base64 are expected",
                           key->public.name);
    else if (crypto_sign_verify_detached(signature, bytes, length, key->public.bytes) != 0)
        status = error_set(err, STATUS_INVALID,
                           "what the command that signs for the key %s printed is not its "
                           "signature; nothing was signed",
                           key->public.name);
    else
        memcpy(ret, signature, sizeof(signature));
    free(answer);
    return status;
}
