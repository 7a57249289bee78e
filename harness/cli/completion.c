/*
 * Completion for bash, from the command tables: what an option or an argument takes is read from
 * the text that help shows for it.
 */
#include "harness/cli/completion.h"

#include <string.h>

#include "harness/cli/help.h"
#include "harness/cli/manual.h"
#include "harness/core/precision.h"
#include "harness/runner/probe.h"
#include "results/store/store.h"

static void append_last(struct text *out)
{
    text_append(out, " last");
}

static void append_backends(struct text *out)
{
    const char *backend;
    bool hidden;

    for (size_t i = 0; (backend = probe_backend(i, &hidden)); i++)
        if (!hidden)
            text_append_format(out, " %s", backend);
}

static void append_precisions(struct text *out)
{
    for (int i = 0; i < PRECISION_COUNT; i++)
        text_append_format(out, " %s", precision_name((enum precision)i));
}

static void append_sort_keys(struct text *out)
{
    for (const char *const *key = store_sort_keys; *key; key++)
        text_append_format(out, " %s -%s", *key, *key);
}

const struct completion_kind completion_kinds[] = {
    {.name = "WORKLOAD", .ask = "list --names=workloads", .filter = ""},
    {.name = "SUITE", .ask = "list --names=suites", .filter = ""},
    {.name = "PROTOCOL", .ask = "list --names=protocols", .filter = ""},
    {.name = "DEVICE", .ask = "devices --names", .filter = ""},
    {.name = "RESULT", .ask = "results --ids", .of_database = true, .filter = ""},
    {.name = "CAMPAIGN",
     .ask = "results --ids",
     .of_database = true,
     .filter = " | sed 's,/.*,,' | sort -u",
     .append_words = append_last},
    {.name = "BACKEND", .append_words = append_backends},
    {.name = "PRECISION", .append_words = append_precisions},
    {.name = "KEY", .append_words = append_sort_keys},
    {.name = "FILE", .files = ""},
    {.name = "BUNDLE", .files = ".assay"},
    {0}};

void completion_append_kinds(struct text *out, const char *argument)
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

bool completion_takes_word(const struct argp_option *option)
{
    return option->arg && !(option->flags & OPTION_ARG_OPTIONAL);
}

static void append_name(const struct argp_option *option, void *context)
{
    struct text *out = ((const struct completion_text *)context)->out;

    text_append_format(out, " --%s%s", option->name, completion_takes_word(option) ? "=" : "");
}

static void append_repeating(const struct argp_option *option, void *context)
{
    if (option->flags & OPTION_REPEATS)
        append_name(option, context);
}

static void append_value(const struct argp_option *option, void *context)
{
    const struct completion_text *to = context;

    if (!option->arg)
        return;
    text_append_format(to->out, "    %s:--%s) kind=\"", to->command->name, option->name);
    completion_append_kinds(to->out, option->arg);
    text_append(to->out, "\" ;;\n");
}

static void append_command(struct text *out, const struct command *command)
{
    struct completion_text to = {out, command};

    text_append_format(out, "    %s) most=%zu kind=\"", command->name, command->arguments_max);
    completion_append_kinds(out, command->completes);
    text_append_format(out, "\" first=\"%s\" options=\"",
                       command->first_words ? command->first_words : "");
    help_each_option(command, append_name, &to);
    text_append(out, "\" repeats=\"");
    help_each_option(command, append_repeating, &to);
    text_append(out, "\" ;;\n");
}

/* `case` arms that give an option's letter its long name; a letter means the same everywhere. */
static void append_letters(struct text *out, const struct command *const *commands, size_t count)
{
    bool seen[128] = {0};

    for (size_t i = 0; i < count; i++)
        for (const struct argp_option *o = commands[i]->options; o && (o->name || o->key); o++)
            if (o->key > ' ' && o->key < 127 && !seen[o->key]) {
                seen[o->key] = true;
                text_append_format(out, "        -%c) word=--%s ;;\n", o->key, o->name);
            }
}

/* The bash that adds a kind's values to `list`, or sets `files`. */
static void append_kind(struct text *out, const struct completion_kind *kind)
{
    text_append_format(out, "        %s) ", kind->name);
    if (kind->files) {
        text_append_format(out, kind->files[0] ? "files=${files:-'*%s'} ;;\n" : "files='*%s' ;;\n",
                           kind->files);
        return;
    }
    text_append(out, "list+=\"");
    if (kind->append_words)
        kind->append_words(out);
    if (kind->ask)
        text_append_format(out, " $(_assay_ask %s%s%s)", kind->ask,
                           kind->of_database ? " \"${database[@]}\"" : "", kind->filter);
    text_append(out, "\" ;;\n");
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
    for (size_t i = 0; i < count; i++)
        if (!commands[i]->hidden)
            help_each_option(commands[i], append_value,
                             &(struct completion_text){out, commands[i]});
    text_append(out, "    esac\n"
                     "    for word in $kind; do\n"
                     "        case $word in\n");
    for (const struct completion_kind *kind = completion_kinds; kind->name; kind++)
        append_kind(out, kind);
    text_append(
        out,
        "        [a-z]*) list+=\" $word\" ;;\n"
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
