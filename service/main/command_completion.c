/* gnomon completion: what a shell reads to complete this program's command line, made of the commands' tables. */
#include "service/cli/command.h"

#include <stdio.h>
#include <string.h>

struct completion_options {
    bool none;
};

static const struct options_row options_table[] = {{.flag = NULL}};

enum { WORDS_BYTES = 256 };

static void split(const char *text, size_t length, char out[WORDS_BYTES])
{
    snprintf(out, WORDS_BYTES, "%.*s", (int)length, text);
    for (char *bar = out; (bar = strchr(bar, '|')) != NULL;)
        *bar = ' ';
}

/* The verbs of a command that takes one first, "create list" of "create|list [ID]"; "" of the others. */
static void verbs_of(const struct command *command, char out[WORDS_BYTES])
{
    const char *text = command->operands + (command->operands[0] == '[');
    size_t      length = strspn(text, "abcdefghijklmnopqrstuvwxyz|");
    split(text, memchr(text, '|', length) != NULL ? length : 0, out);
}

/* choices with spaces for their bars. */
static void choices_of(const struct options_row *row, char out[WORDS_BYTES])
{
    const char *choices = row->choices != NULL ? row->choices : "";
    split(choices, strlen(choices), out);
}

/* ---- bash ---- */

static void print_bash_values(const struct command *command)
{
    char words[WORDS_BYTES];
    for (const struct options_row *row = command->options; row->flag != NULL; row++) {
        choices_of(row, words);
        if (words[0] != '\0')
            printf("    %s:--%s) words='%s' ;;\n", command->name, row->flag, words);
        else if (row->kind != OPTIONS_SWITCH)
            printf("    %s:--%s) %s ;;\n", command->name, row->flag,
                   options_is_path(row) ? "COMPREPLY=($(compgen -f -- \"$word\")); return" : "return");
    }
}

static void print_bash(const struct command *const *all)
{
    char words[WORDS_BYTES];
    puts("_gnomon() {\n    local word=${COMP_WORDS[COMP_CWORD]} words= first=\n    COMPREPLY=()\n"
         "    case ${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD - 1]} in");
    for (const struct command *const *command = all; *command != NULL; command++)
        print_bash_values(*command);
    puts("    esac\n    [ -n \"$words\" ] || case ${COMP_WORDS[1]} in");
    for (const struct command *const *command = all; *command != NULL; command++) {
        verbs_of(*command, words);
        printf("    %s) first='%s' words='--help", (*command)->name, words);
        for (const struct options_row *row = (*command)->options; row->flag != NULL; row++)
            printf(" --%s", row->flag);
        puts("' ;;");
    }
    fputs("    esac\n    [ \"$COMP_CWORD\" != 1 ] || words='--help --version", stdout);
    for (const struct command *const *command = all; *command != NULL; command++)
        printf(" %s", (*command)->name);
    puts("'\n    [ \"$COMP_CWORD\" != 2 ] || words=\"$first $words\"\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "    case ${#COMPREPLY[@]}$word in 0-*) ;; 0*) COMPREPLY=($(compgen -f -- \"$word\")) ;; esac\n"
         "}\ncomplete -o filenames -F _gnomon gnomon");
}

/* ---- zsh and fish, which show what the words are for ---- */

/* In single quotes, and with a backslash before each of the special characters. */
static void print_quoted(const char *text, const char *special)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr(special, *text) != NULL)
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void print_zsh_option(const struct options_row *row)
{
    char words[WORDS_BYTES];
    choices_of(row, words);
    printf(" \\\n        '--%s%s[", row->flag, row->kind == OPTIONS_SWITCH ? "" : "=");
    print_quoted(row->help, "[]:\\");
    putchar(']');
    if (row->kind != OPTIONS_SWITCH) {
        putchar(':');
        print_quoted(row->value != NULL ? row->value : "", ":\\");
        if (words[0] != '\0')
            printf(":(%s)", words);
        else
            fputs(options_is_path(row) ? ":_files" : ":", stdout);
    }
    putchar('\'');
}

static void print_zsh(const struct command *const *all)
{
    char words[WORDS_BYTES];
    puts("#compdef gnomon\n_gnomon() {\n    local -a commands=(");
    for (const struct command *const *command = all; *command != NULL; command++) {
        printf("        '%s:", (*command)->name);
        print_quoted((*command)->summary, ":\\");
        puts("'");
    }
    puts("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n"
         "    local name=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $name in");
    for (const struct command *const *command = all; *command != NULL; command++) {
        verbs_of(*command, words);
        printf("    %s) _arguments '--help[how it is used]'", (*command)->name);
        for (const struct options_row *row = (*command)->options; row->flag != NULL; row++)
            print_zsh_option(row);
        if (words[0] != '\0')
            printf(" \\\n        '1:what:(%s)'", words);
        puts(" \\\n        '*:file:_files' ;;");
    }
    puts("    esac\n}\ncompdef _gnomon gnomon");
}

static void print_fish_command(const struct command *command)
{
    char words[WORDS_BYTES];
    printf("complete -c gnomon -n __fish_use_subcommand -f -a %s -d '", command->name);
    print_quoted(command->summary, "\\");
    puts("'");
    verbs_of(command, words);
    if (words[0] != '\0')
        printf("complete -c gnomon -n '__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from %s' -f -a "
               "'%s'\n",
               command->name, words, words);
    for (const struct options_row *row = command->options; row->flag != NULL; row++) {
        choices_of(row, words);
        printf("complete -c gnomon -n '__fish_seen_subcommand_from %s' -l %s%s", command->name, row->flag,
               row->kind == OPTIONS_SWITCH ? ""
               : options_is_path(row)      ? " -r"
                                           : " -x");
        if (words[0] != '\0')
            printf(" -a '%s'", words);
        fputs(" -d '", stdout);
        print_quoted(row->help, "\\");
        puts("'");
    }
}

static void print_fish(const struct command *const *all)
{
    for (const struct command *const *command = all; *command != NULL; command++)
        print_fish_command(*command);
}

static const struct {
    const char *name;
    void (*print)(const struct command *const *all);
} shells[] = {
    {.name = "bash", .print = print_bash}, {.name = "zsh", .print = print_zsh}, {.name = "fish", .print = print_fish}};

static enum status run(struct command_call *call, struct error *err)
{
    for (size_t i = 0; call->operands[0] != NULL && i < sizeof shells / sizeof shells[0]; i++)
        if (strcmp(shells[i].name, call->operands[0]) == 0) {
            shells[i].print(call->all);
            return STATUS_OK;
        }
    return error_set(err, STATUS_INVALID, "usage", "", "completion takes one of bash, zsh, fish");
}

const struct command command_completion = {
    .name = "completion",
    .operands = "bash|zsh|fish",
    .operands_max = 1,
    .summary = "what a shell reads to complete these commands: source <(gnomon completion bash)",
    .options = options_table,
    .options_bytes = sizeof(struct completion_options),
    .run = run,
};
