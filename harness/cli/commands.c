#include "harness/cli/commands.h"

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
