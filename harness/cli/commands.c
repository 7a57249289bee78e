#include "harness/cli/commands.h"

#include <string.h>

static const struct command *const commands[] = {
#define COMMAND_ROW(name) &command_##name,
    COMMAND_MAP(COMMAND_ROW)
#undef COMMAND_ROW
};

const struct command *const *commands_all(size_t *ret_count)
{
    *ret_count = sizeof(commands) / sizeof(commands[0]);
    return commands;
}

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}
