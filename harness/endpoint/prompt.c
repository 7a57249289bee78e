#include "harness/endpoint/prompt.h"

#include "harness/core/random.h"

#define PROMPT_STREAM 0x70726f6d707400 /* apart from other draws of the seed: "prompt" */

static const char *const words[64] = {
    "time",  "year",  "people", "way",    "day",   "man",    "thing",  "woman",
    "life",  "child", "world",  "school", "state", "family", "group",  "country",
    "hand",  "part",  "place",  "case",   "week",  "system", "work",   "number",
    "night", "point", "home",   "water",  "room",  "mother", "area",   "money",
    "story", "fact",  "month",  "lot",    "right", "study",  "book",   "eye",
    "job",   "word",  "side",   "kind",   "head",  "house",  "friend", "father",
    "power", "hour",  "game",   "line",   "end",   "member", "law",    "car",
    "city",  "name",  "team",   "minute", "idea",  "kid",    "body",   "back",
};

void prompt_append(struct text *text, uint64_t seed, size_t index, uint32_t tokens)
{
    for (uint32_t i = 0; i < tokens || i == 0; ++i) {
        if (i > 0)
            text_append_char(text, ' ');
        text_append(text, words[random_at(seed, PROMPT_STREAM + index, i) % 64]);
    }
}
