/*
 * Completion for bash, from the command tables: what an option or an argument takes is read from
 * the text that help shows for it.
 */
#include <string.h>

#include "harness/cli/command.h"
#include "harness/cli/manual.h"
#include "harness/core/precision.h"
#include "harness/runner/probe.h"
#include "results/store/store.h"

/* Kinds of values, and the bash that adds theirs to `list` (or sets `files`). */
static const char *const kinds[][2] = {
    {"WORKLOAD", "list+=\" $(_assay_ask list --names=workloads)\""},
    {"SUITE", "list+=\" $(_assay_ask list --names=suites)\""},
    {"PROTOCOL", "list+=\" $(_assay_ask list --names=protocols)\""},
    {"DEVICE", "list+=\" $(_assay_ask devices --names)\""},
    {"RESULT", "list+=\" $(_assay_ask results --ids \"${database[@]}\")\""},
    {"CAMPAIGN",
     "list+=\" last $(_assay_ask results --ids \"${database[@]}\" | sed 's,/.*,,' | sort -u)\""},
    {"FILE", "files='*'"},
    {"BUNDLE", "files=${files:-'*.assay'}"},
};

/* "PROTOCOL|FILE" as "PROTOCOL FILE", "PRECISION,..." as "PRECISION", other capitals left out. */
static void append_kinds(struct text *out, const char *argument)
{
    while (argument && *argument) {
        const size_t length = strcspn(argument, "|");
        size_t name = strcspn(argument, "|=:[");
        const char *more = strstr(argument, ",...");

        if (more && (size_t)(more - argument) < name)
            name = (size_t)(more - argument);
        text_append_char(out, ' ');
        text_append_bytes(out, argument, name);
        argument += length + (argument[length] == '|');
    }
}

static bool ends(const struct argp_option *option)
{
    return !option || (!option->name && !option->key);
}

static void append_names(struct text *out, const struct argp_option *option, bool repeats)
{
    for (; !ends(option); option++)
        if (!repeats || (option->flags & OPTION_REPEATS))
            text_append_format(out, " --%s%s", option->name,
                               option->arg && !(option->flags & OPTION_ARG_OPTIONAL) ? "=" : "");
}

static void append_values(struct text *out, const char *command, const struct argp_option *option)
{
    for (; !ends(option); option++)
        if (option->arg) {
            text_append_format(out, "    %s:--%s) kind=\"", command, option->name);
            append_kinds(out, option->arg);
            text_append(out, "\" ;;\n");
        }
}

static void append_options(struct text *out, const struct command *command, bool repeats)
{
    append_names(out, command->options, repeats);
    for (int g = 0; g < GROUP_COUNT; g++)
        if (command->groups & (1u << g))
            append_names(out, command_group_options(1u << g), repeats);
}

static void append_command(struct text *out, const struct command *command)
{
    text_append_format(out, "    %s) most=%zu kind=\"", command->name, command->arguments_max);
    append_kinds(out, command->completes);
    text_append_format(out, "\" first=\"%s\" options=\"--help --usage",
                       command->first_words ? command->first_words : "");
    append_options(out, command, false);
    text_append(out, "\" repeats=\"");
    append_options(out, command, true);
    text_append(out, "\" ;;\n");
}

/* `case` arms that give an option's letter its long name; a letter means the same everywhere. */
static void append_letters(struct text *out, const struct command *const *commands, size_t count)
{
    bool seen[128] = {0};

    for (size_t i = 0; i < count; i++)
        for (const struct argp_option *o = commands[i]->options; !ends(o); o++)
            if (o->key > ' ' && o->key < 127 && !seen[o->key]) {
                seen[o->key] = true;
                text_append_format(out, "        -%c) word=--%s ;;\n", o->key, o->name);
            }
}

static void append_kind_table(struct text *out)
{
    const char *backend;
    bool hidden;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        text_append_format(out, "        %s) %s ;;\n", kinds[i][0], kinds[i][1]);
    text_append(out, "        BACKEND) list+=\"");
    for (size_t i = 0; (backend = probe_backend(i, &hidden)); i++)
        if (!hidden)
            text_append_format(out, " %s", backend);
    text_append(out, "\" ;;\n        PRECISION) list+=\"");
    for (int i = 0; i < PRECISION_COUNT; i++)
        text_append_format(out, " %s", precision_name((enum precision)i));
    text_append(out, "\" ;;\n        KEY) list+=\"");
    for (const char *const *key = store_sort_keys; *key; key++)
        text_append_format(out, " %s -%s", *key, *key);
    text_append(out, "\" ;;\n        [a-z]*) list+=\" $word\" ;;\n");
}

void manual_append_completion(struct text *out)
{
    size_t count;
    const struct command *const *commands = commands_all(&count);

    text_append(out,
                "# bash completion for assay, written by `assay --completion`.\n"
                "_assay_ask() { \"$program\" \"$@\" 2>/dev/null; }\n\n"
                "_assay()\n{\n"
                "    local program=${1/#\\~/$HOME} line=${COMP_LINE:0:COMP_POINT} current command\n"
                "    local words word given= option= kind= first= options= repeats= list= files=\n"
                "    local i most=0 taken=0 database=() cut= reply\n"
                "    COMPREPLY=()\n"
                "    read -ra words <<< \"$line\"\n"
                "    [[ $line == *[[:space:]] ]] && words+=(\"\")\n"
                "    current=${words[${#words[@]}-1]} command=${words[1]}\n"
                "    if [ ${#words[@]} -le 2 ]; then\n"
                "        COMPREPLY=($(compgen -W \"");
    for (size_t i = 0; i < count; i++)
        if (!commands[i]->hidden)
            text_append_format(out, "%s ", commands[i]->name);
    text_append(out, "--help --version\" -- \"$current\"))\n        return\n    fi\n"
                     "    case $command in\n");
    for (size_t i = 0; i < count; i++)
        if (!commands[i]->hidden)
            append_command(out, commands[i]);
    text_append(out, "    esac\n"
                     "    for ((i = 2; i < ${#words[@]} - 1; i++)); do\n"
                     "        word=${words[i]}\n"
                     "        case $word in\n");
    append_letters(out, commands, count);
    text_append(out, "        esac\n"
                     "        case $word in\n"
                     "        --*=*) given+=\" ${word%%=*}\"\n"
                     "            [[ $word == --db=* ]] && database=(--db \"${word#*=}\") ;;\n"
                     "        -?*) given+=\" $word\"\n"
                     "            [[ \" $options \" == *\" $word= \"* ]] || continue\n"
                     "            ((++i < ${#words[@]} - 1)) || option=$word\n"
                     "            [ \"$word\" = --db ] && database=(--db \"${words[i]}\") ;;\n"
                     "        *.assay) [[ $kind == *BUNDLE* ]] || ((taken++)) ;;\n"
                     "        *) ((taken++)) ;;\n"
                     "        esac\n"
                     "    done\n"
                     "    if [[ -z $option && $current == --*=* ]]; then\n"
                     "        option=${current%%=*} current=${current#*=}\n"
                     "        [[ $COMP_WORDBREAKS == *=* ]] || cut=$option=\n"
                     "    elif [[ -z $option && $current == -* ]]; then\n"
                     "        for word in $options; do\n"
                     "            [[ \" $repeats \" == *\" $word \"* || "
                     "\" $given \" != *\" ${word%=} \"* ]] && list+=\" $word\"\n"
                     "        done\n"
                     "        COMPREPLY=($(compgen -W \"$list\" -- \"$current\"))\n"
                     "        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
                     "        return\n"
                     "    elif [ -z \"$option\" ]; then\n"
                     "        ((taken < most)) || return\n"
                     "        ((taken == 0)) && [ -n \"$first\" ] && kind=$first\n"
                     "    fi\n"
                     "    [ -n \"$option\" ] && kind=\n"
                     "    case $command:$option in\n");
    for (size_t i = 0; i < count; i++) {
        if (commands[i]->hidden)
            continue;
        append_values(out, commands[i]->name, commands[i]->options);
        for (int g = 0; g < GROUP_COUNT; g++)
            if (commands[i]->groups & (1u << g))
                append_values(out, commands[i]->name, command_group_options(1u << g));
    }
    text_append(out, "    esac\n"
                     "    for word in $kind; do\n"
                     "        case $word in\n");
    append_kind_table(out);
    text_append(
        out,
        "        esac\n"
        "    done\n"
        "    COMPREPLY=($(compgen -W \"$list\" -- \"$current\"))\n"
        "    if [ -n \"$files\" ]; then\n"
        "        while IFS= read -r reply; do\n"
        "            [[ -d $reply || $reply == $files ]] && COMPREPLY+=(\"$reply\")\n"
        "        done < <(compgen -f -- \"$current\")\n"
        "        compopt -o filenames 2>/dev/null\n"
        "    fi\n"
        "    # What readline replaces begins behind the last of its word breaks.\n"
        "    [[ $COMP_WORDBREAKS == *:* ]] || { COMPREPLY=(\"${COMPREPLY[@]/#/$cut}\"); return; }\n"
        "    word=${current%\"${current##*:}\"}\n"
        "    for i in \"${!COMPREPLY[@]}\"; do\n"
        "        COMPREPLY[i]=$cut${COMPREPLY[i]#\"$word\"}\n"
        "    done\n"
        "}\n"
        "complete -F _assay assay\n");
}
