#include "results/evidence/roster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/file.h"
#include "results/evidence/cosignature.h"

#define FILE_MAX (1 << 20)

static enum status wrong_line(struct error *err, const char *path, uint64_t line, const char *what,
                              const char *word)
{
    return error_set_at(err, STATUS_INVALID, path, line, "%s: \"%.200s\"", what, word);
}

/* A date as it is spelled; text_parse_moment_ns also takes times before now, which move. */
static bool parse_date(const char *word, int64_t *ret)
{
    return strspn(word, "0123456789") == 4 && word[4] == '-' && text_parse_moment_ns(word, 0, ret);
}

static enum status take_date(struct roster_key *key, const char *path, uint64_t line, char *word,
                             struct error *err)
{
    char *value = strchr(word, '=');
    int64_t *date = NULL, unset = INT64_MAX;

    if (value) {
        *value++ = '\0';
        if (!strcmp(word, "not-before")) {
            date = &key->not_before_ns;
            unset = INT64_MIN;
        } else if (!strcmp(word, "expires")) {
            date = &key->expires_ns;
        } else if (!strcmp(word, "revoked")) {
            date = &key->revoked_ns;
        }
    }
    if (!date)
        return wrong_line(err, path, line,
                          "after the key come author or witness, and not-before=, expires= or "
                          "revoked= with a date",
                          word);
    if (*date != unset)
        return wrong_line(err, path, line, "this date is there twice", word);
    if (!parse_date(value, date))
        return wrong_line(err, path, line, "write a date such as 2026-11-20 or 2026-11-20T15:52Z",
                          value);
    return STATUS_OK;
}

static enum status take_line(struct roster *roster, const char *path, uint64_t line, char *text,
                             struct error *err)
{
    struct roster_key key = {
        .not_before_ns = INT64_MIN, .expires_ns = INT64_MAX, .revoked_ns = INT64_MAX};
    struct error reason = ERROR_INIT;
    char *rest = NULL, *word = strtok_r(text, " \t\r", &rest);

    if (!word || *word == '#')
        return STATUS_OK;
    if (key_public_parse_any(word, &key.key, &reason) != STATUS_OK)
        return error_set_at(err, STATUS_INVALID, path, line, "%s", reason.message);
    if (roster_find(roster, key.key.bytes))
        return wrong_line(err, path, line, "this key is there twice", key.key.name);
    word = strtok_r(NULL, " \t\r", &rest);
    if (!word || (strcmp(word, "author") && strcmp(word, "witness")))
        return wrong_line(err, path, line, "write author or witness after the key",
                          word ? word : key.key.name);
    key.is_witness = !strcmp(word, "witness");
    while ((word = strtok_r(NULL, " \t\r", &rest)) && *word != '#') {
        TRY(take_date(&key, path, line, word, err));
    }
    TRY(ARRAY_GROW(roster->keys, roster->count, 1, err));
    roster->keys[roster->count++] = key;
    return STATUS_OK;
}

enum status roster_read(const char *path, struct roster *ret, struct error *err)
{
    CLEANUP(roster_finish) struct roster roster = {0};
    uint64_t number = 0;
    AUTO_FREE char *bytes = NULL;
    size_t length;

    TRY(file_read(path, FILE_MAX, &bytes, &length, err));
    if (strlen(bytes) != length || !text_is_utf8(bytes, length))
        return error_set(err, STATUS_INVALID, "%s: is not UTF-8 text", path);
    for (char *at = bytes, *next; *at; at = next) {
        const size_t line = strcspn(at, "\n");

        next = at + line + (at[line] == '\n');
        at[line] = '\0';
        TRY(take_line(&roster, path, ++number, at, err));
    }
    if (roster.count == 0)
        return error_set(err, STATUS_INVALID, "%s: names no key", path);
    *ret = roster;
    roster = (struct roster){0};
    return STATUS_OK;
}

void roster_finish(struct roster *roster)
{
    free(roster->keys);
    memset(roster, 0, sizeof(*roster));
}

const struct roster_key *roster_find(const struct roster *roster,
                                     const uint8_t bytes[KEY_PUBLIC_SIZE])
{
    for (size_t i = 0; roster && i < roster->count; i++)
        if (!memcmp(roster->keys[i].key.bytes, bytes, KEY_PUBLIC_SIZE))
            return &roster->keys[i];
    return NULL;
}

const struct roster_key *roster_find_line(const struct roster *roster, const struct note_line *line)
{
    for (size_t i = 0; roster && i < roster->count; i++) {
        const struct key_public *key = &roster->keys[i].key;

        if (!strcmp(key->name, line->name) &&
            ((line->size == KEY_SIGNATURE_SIZE && key_id(key) == line->id) ||
             (line->size == COSIGNATURE_SIZE && key_cosigner_id(key) == line->id)))
            return &roster->keys[i];
    }
    return NULL;
}

bool roster_counts(const struct roster_key *key, int64_t utc_ns, char *ret_why, size_t size)
{
    const char *words = NULL;
    int64_t date_ns = 0;
    char date[CLOCK_ISO_SIZE];

    if (utc_ns >= key->revoked_ns) {
        words = "was revoked on";
        date_ns = key->revoked_ns;
    } else if (utc_ns >= key->expires_ns) {
        words = "had expired on";
        date_ns = key->expires_ns;
    } else if (utc_ns < key->not_before_ns) {
        words = "is trusted only from";
        date_ns = key->not_before_ns;
    } else {
        return true;
    }
    clock_format_iso(date_ns, date);
    snprintf(ret_why, size, "%s %.10s", words, date);
    return false;
}

size_t roster_witnesses(const struct roster *roster)
{
    size_t count = 0;

    for (size_t i = 0; i < roster->count; i++) {
        bool counted = !roster->keys[i].is_witness;

        for (size_t k = 0; k < i && !counted; k++)
            counted = roster->keys[k].is_witness &&
                      !strcmp(roster->keys[k].key.name, roster->keys[i].key.name);
        count += !counted;
    }
    return count;
}
