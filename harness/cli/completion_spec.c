/*
 * Completion for zsh and fish. Both have a language of their own to say what a command takes, so
 * one walk over the command tables serves them, with a writer for each.
 */
#include "harness/cli/completion.h"
#include "harness/cli/help.h"
#include "harness/cli/manual.h"

struct writer {
    const char *head; /* up to what adds the values of a kind */
    void (*append_kind)(struct text *out, const struct completion_kind *kind);
    const char *names; /* from there to the names of the commands */
    void (*append_name)(struct text *out, const struct command *command);
    const char *commands; /* from there to what each takes */
    void (*begin)(struct text *out, const struct command *command); /* or NULL */
    void (*append_option)(const struct argp_option *option, void *context);
    void (*append_arguments)(struct text *out, const struct command *command);
    const char *tail;
};

static void append_all(struct text *out, const struct writer *writer)
{
    size_t count;
    const struct command *const *commands = commands_all(&count);

    text_append(out, writer->head);
    for (const struct completion_kind *kind = completion_kinds; kind->name; kind++)
        writer->append_kind(out, kind);
    text_append(out, writer->names);
    for (size_t i = 0; i < count; i++)
        if (!commands[i]->hidden)
            writer->append_name(out, commands[i]);
    text_append(out, writer->commands);
    for (size_t i = 0; i < count; i++) {
        if (commands[i]->hidden)
            continue;
        if (writer->begin)
            writer->begin(out, commands[i]);
        help_each_option(commands[i], writer->append_option,
                         &(struct completion_text){out, commands[i]});
        writer->append_arguments(out, commands[i]);
    }
    text_append(out, writer->tail);
}

/* Within quotes: `escape` before each of `special`. */
static void append_escaped(struct text *out, const char *words, const char *special,
                           const char *escape)
{
    for (; *words; words++) {
        for (const char *s = special; *s; s++)
            if (*s == *words)
                text_append(out, escape);
        text_append_char(out, *words);
    }
}

static bool has_letter(const struct argp_option *option)
{
    return option->key > ' ' && option->key < 127;
}

/* A bundle may come before the arguments. */
static size_t most_arguments(const struct command *command)
{
    return command->arguments_max + command->takes_bundle;
}

static void append_kind_zsh(struct text *out, const struct completion_kind *kind)
{
    text_append_format(out, "        %s) ", kind->name);
    if (kind->files) {
        text_append_format(out, kind->files[0] ? "_files -g '*%s'" : "_files%s", kind->files);
    } else {
        text_append(out, "list+=(");
        if (kind->append_words)
            kind->append_words(out);
        if (kind->ask)
            text_append_format(out, " ${(f)\"$($program %s%s 2>/dev/null%s)\"}", kind->ask,
                               kind->of_database ? " $database" : "", kind->filter);
        text_append_char(out, ')');
    }
    text_append(out, " ;;\n");
}

/* Between single quotes, which take no escape in zsh: a quote is put outside them. */
static void append_zsh(struct text *out, const char *words, const char *special)
{
    for (; *words; words++) {
        if (*words == '\'')
            text_append(out, "'\\''");
        else
            append_escaped(out, (const char[]){*words, '\0'}, special, "\\");
    }
}

static void append_name_zsh(struct text *out, const struct command *command)
{
    text_append_format(out, "            '%s:", command->name);
    append_zsh(out, command->summary, "");
    text_append(out, "'\n");
}

static void begin_zsh(struct text *out, const struct command *command)
{
    text_append_format(out, "    %s) _arguments -s", command->name);
}

/* One spelling of an option, for _arguments (zshcompsys(1)). */
static void append_spelling_zsh(struct text *out, const struct argp_option *option, bool is_letter)
{
    text_append(out, " \\\n        '");
    if (option->flags & OPTION_REPEATS)
        text_append_char(out, '*');
    else if (has_letter(option))
        text_append_format(out, "(-%c --%s)", option->key, option->name);
    if (is_letter)
        text_append_format(out, "-%c%s[", option->key, option->arg ? "+" : "");
    else
        text_append_format(out, "--%s%s[", option->name,
                           completion_takes_word(option) ? "="
                           : option->arg                 ? "=-"
                                                         : "");
    append_zsh(out, option->doc ? option->doc : "", "\\]");
    text_append_char(out, ']');
    if (option->arg) {
        text_append(out, completion_takes_word(option) ? ":" : "::");
        append_zsh(out, option->arg, "\\:");
        text_append(out, ": _assay_values");
        completion_append_kinds(out, option->arg);
    }
    text_append_char(out, '\'');
}

static void append_option_zsh(const struct argp_option *option, void *context)
{
    struct text *out = ((const struct completion_text *)context)->out;

    append_spelling_zsh(out, option, false);
    if (has_letter(option))
        append_spelling_zsh(out, option, true);
}

static void append_arguments_zsh(struct text *out, const struct command *command)
{
    const size_t most = most_arguments(command);

    for (size_t i = 0; i < most && i < 3; i++) {
        text_append_format(out, " \\\n        '%s:argument: _assay_values", i == 2 ? "*" : "");
        if (i == 0 && command->first_words)
            text_append_format(out, " %s", command->first_words);
        else
            completion_append_kinds(out, command->completes);
        text_append_char(out, '\'');
    }
    text_append(out, " ;;\n");
}

void manual_append_completion_zsh(struct text *text)
{
    static const struct writer writer = {
        .head = "#compdef assay\n"
                "# zsh completion for assay, written by `assay --completion=zsh`.\n"
                "_assay_values()\n{\n"
                "    local kind\n"
                "    local -a list\n"
                "    for kind; do\n"
                "        case $kind in\n",
        .append_kind = append_kind_zsh,
        .names = "        [a-z]*) list+=($kind) ;;\n"
                 "        esac\n"
                 "    done\n"
                 "    compadd -a list\n"
                 "}\n\n"
                 "_assay()\n{\n"
                 "    local program=${~words[1]} command=$words[2] i=${words[(I)--db]}\n"
                 "    local -a commands database=(${(M)words:#--db=*})\n"
                 "    ((i)) && database=(--db $words[i+1])\n"
                 "    if ((CURRENT == 2)); then\n"
                 "        commands=(\n",
        .append_name = append_name_zsh,
        .commands = "            '--help:what there is' '--version:of this program'\n"
                    "        )\n"
                    "        _describe command commands\n"
                    "        return\n"
                    "    fi\n"
                    "    shift words\n"
                    "    ((CURRENT--))\n"
                    "    case $command in\n",
        .begin = begin_zsh,
        .append_option = append_option_zsh,
        .append_arguments = append_arguments_zsh,
        .tail = "    esac\n"
                "}\n\n"
                "_assay \"$@\"\n",
    };

    append_all(text, &writer);
}

static void append_kind_fish(struct text *out, const struct completion_kind *kind)
{
    text_append_format(out, "            case %s\n", kind->name);
    if (kind->files)
        text_append_format(out,
                           kind->files[0] ? "                __fish_complete_suffix %s\n"
                                          : "                __fish_complete_path "
                                            "(commandline -ct)%s\n",
                           kind->files);
    if (kind->append_words) {
        text_append(out, "                printf '%s\\n'");
        kind->append_words(out);
        text_append_char(out, '\n');
    }
    if (kind->ask)
        text_append_format(out, "                $program %s%s 2>/dev/null%s\n", kind->ask,
                           kind->of_database ? " $database" : "", kind->filter);
}

static void append_words_fish(struct text *out, const char *words)
{
    text_append(out, " -d '");
    append_escaped(out, words, "\\'", "\\");
    text_append(out, "'\n");
}

static void append_name_fish(struct text *out, const struct command *command)
{
    text_append_format(out, "complete -c assay -n __assay_first -a %s", command->name);
    append_words_fish(out, command->summary);
}

static void append_option_fish(const struct argp_option *option, void *context)
{
    const struct completion_text *to = context;

    text_append_format(to->out, "complete -c assay -n '__assay_is %s' -l %s", to->command->name,
                       option->name);
    if (has_letter(option))
        text_append_format(to->out, " -s %c", option->key);
    if (option->arg) {
        text_append_format(to->out, " %s-a '(__assay_values",
                           completion_takes_word(option) ? "-x " : "");
        completion_append_kinds(to->out, option->arg);
        text_append(to->out, ")'");
    }
    append_words_fish(to->out, option->doc ? option->doc : "");
}

/* The spellings whose value is the next word, which is no argument then. */
static void append_valued_fish(const struct argp_option *option, void *context)
{
    struct text *out = ((const struct completion_text *)context)->out;

    if (!completion_takes_word(option))
        return;
    text_append_format(out, " --%s", option->name);
    if (has_letter(option))
        text_append_format(out, " -%c", option->key);
}

static void append_range_fish(struct text *out, const struct command *command, size_t from,
                              size_t to)
{
    text_append_format(out, "complete -c assay -n '__assay_takes %s %zu %zu", command->name, from,
                       to);
    help_each_option(command, append_valued_fish, &(struct completion_text){out, command});
    text_append(out, "' -a '(__assay_values");
    if (from == 0 && command->first_words)
        text_append_format(out, " %s", command->first_words);
    else
        completion_append_kinds(out, command->completes);
    text_append(out, ")'\n");
}

static void append_arguments_fish(struct text *out, const struct command *command)
{
    const size_t most = most_arguments(command);
    const size_t first = command->first_words ? 1 : 0;

    if (first)
        append_range_fish(out, command, 0, 1);
    if (most > first && command->completes)
        append_range_fish(out, command, first, most);
}

void manual_append_completion_fish(struct text *text)
{
    static const struct writer writer = {
        .head =
            "# fish completion for assay, written by `assay --completion=fish`.\n"
            "function __assay_values\n"
            "    set -l words (commandline -opc)\n"
            "    set -l program (string replace -r '^~' $HOME -- $words[1])\n"
            "    set -l database (string match -- '--db=*' $words)\n"
            "    set -l i (contains -i -- --db $words); and set database --db $words[(math $i + "
            "1)]\n"
            "    for kind in $argv\n"
            "        switch $kind\n",
        .append_kind = append_kind_fish,
        .names = "            case '*'\n"
                 "                string match -r '^[a-z].*' -- $kind\n"
                 "        end\n"
                 "    end\n"
                 "end\n\n"
                 "function __assay_first\n"
                 "    test (count (commandline -opc)) -eq 1\n"
                 "end\n\n"
                 "function __assay_is\n"
                 "    set -l words (commandline -opc)\n"
                 "    test \"$words[2]\" = $argv[1]\n"
                 "end\n\n"
                 "# Whether the command takes an argument here, with FROM to TO of them given.\n"
                 "function __assay_takes -a command from to\n"
                 "    __assay_is $command; or return\n"
                 "    set -l words (commandline -opc)\n"
                 "    set -l taken 0\n"
                 "    set -l is_value 0\n"
                 "    for word in $words[3..-1]\n"
                 "        if test $is_value = 0; and not string match -q -- '-*' $word\n"
                 "            set taken (math $taken + 1)\n"
                 "        end\n"
                 "        contains -- $word $argv[4..-1]; and set is_value 1; or set is_value 0\n"
                 "    end\n"
                 "    test $taken -ge $from -a $taken -lt $to\n"
                 "end\n\n"
                 "complete -c assay -f\n"
                 "complete -c assay -n __assay_first -l help -d 'what there is'\n"
                 "complete -c assay -n __assay_first -l version -d 'of this program'\n",
        .append_name = append_name_fish,
        .commands = "",
        .append_option = append_option_fish,
        .append_arguments = append_arguments_fish,
        .tail = "",
    };

    append_all(text, &writer);
}
