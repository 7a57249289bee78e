/* What a stranger sends to a witness: refused with a reason, or a note that is written again. */
#include "fuzz.h"

#include "results/evidence/note.h"
#include "results/evidence/witness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct witness witness = {.state = "/nowhere/seen"};
    struct error err = ERROR_INIT;
    char *text = malloc(size + 1);
    struct note_text note;
    struct text body;
    int64_t kept = -1;
    enum status status;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    status = witness_kept(&witness, text, &kept, &err);
    FUZZ_REQUIRE(status == STATUS_OK ? kept == 0 : status == STATUS_INVALID);
    if (status != STATUS_OK)
        fuzz_require_good_message(&err, status);
    status = note_read(text, &note, &err);
    if (status == STATUS_OK) {
        const char *at = note.lines;
        struct note_line line;
        bool good;

        while (note_next_line(&at, &line, &good))
            FUZZ_REQUIRE(line.size > 0 && line.size <= NOTE_LINE_MAX);
        FUZZ_REQUIRE(!good || !*at);
        text_init(&body);
        note_append_body(&body, &note.note);
        FUZZ_REQUIRE(body.length == note.length && !memcmp(body.data, text, note.length));
        text_finish(&body);
    } else {
        fuzz_require_good_message(&err, status);
    }
    free(text);
    return 0;
}
