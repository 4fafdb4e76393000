/* gnomon manual: the manual page, made of the commands' tables. */
#include "service/cli/command.h"

#include "service/base/version.h"

#include <stdio.h>
#include <string.h>

struct manual_options {
    bool none;
};

static const struct options_row options_table[] = {{.flag = NULL}};

/* Text as troff takes it: no control line, hyphens that can be copied. */
static void print_text(const char *text)
{
    if (text[0] == '.' || text[0] == '\'')
        fputs("\\&", stdout);
    for (; *text != '\0'; text++) {
        if (*text == '\\' || *text == '-')
            printf("\\%s", *text == '-' ? "-" : "e");
        else if (*text == '|') // where a line may end
            fputs("|\\:", stdout);
        else
            putchar(*text);
    }
}

static void print_option(const struct options_row *row)
{
    fputs(".TP\n\\fB\\-\\-", stdout);
    print_text(row->flag);
    fputs("\\fR", stdout);
    if (row->value != NULL) {
        fputs(" \\fI", stdout);
        print_text(row->value);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    print_text(row->help);
    fputs(row->choices != NULL || row->fallback != NULL || row->environment != NULL ? "\n(" : "\n", stdout);
    if (row->choices != NULL) {
        fputs("one of ", stdout);
        print_text(row->choices);
    }
    if (row->fallback != NULL) {
        fputs(row->choices != NULL ? "; default " : "default ", stdout);
        print_text(row->fallback);
    }
    if (row->environment != NULL) {
        fputs(row->choices != NULL || row->fallback != NULL ? "; " : "", stdout);
        print_text(row->environment);
    }
    fputs(row->choices != NULL || row->fallback != NULL || row->environment != NULL ? ")\n" : "", stdout);
}

static void print_command(const struct command *command)
{
    printf(".SS gnomon %s", command->name);
    putchar(command->operands[0] != '\0' ? ' ' : '\n');
    if (command->operands[0] != '\0') {
        print_text(command->operands);
        putchar('\n');
    }
    print_text(command->summary);
    putchar('\n');
    for (const struct options_row *row = command->options; row->flag != NULL; row++)
        print_option(row);
}

static const struct {
    int         code;
    const char *what;
} ends[] = {
    {.code = COMMAND_DONE, .what = "done"},
    {.code = COMMAND_FAILED, .what = "the input is wrong, or the server said no"},
    {.code = COMMAND_PENDING, .what = "migrate and check: there is something to do"},
    {.code = COMMAND_USAGE, .what = "a wrong option"},
    {.code = COMMAND_CORRUPT, .what = "the store is damaged"},
    {.code = COMMAND_UNREACHABLE, .what = "no server there"},
    {.code = COMMAND_INTERNAL, .what = "a fault of the program or of the machine"},
    {.code = COMMAND_TEMPORARY, .what = "the folder is in use, or the work was interrupted: again later"},
    {.code = COMMAND_SCHEMA, .what = "a store that this version does not take as it is"},
};

static enum status run(struct command_call *call, struct error *err)
{
    (void)err;
    puts(".TH GNOMON 1 \"\" \"gnomon " GNOMON_VERSION "\"\n.ad l\n.nh\n.SH NAME\n"
         "gnomon \\- Bayesian optimisation as a service that does not need to see your data\n"
         ".SH SYNOPSIS\n.B gnomon\n\\fICOMMAND\\fR [\\fIoptions\\fR]\n.SH DESCRIPTION\n"
         "A server that suggests what to try next, and programs that speak to it.\n"
         "An option of the command line wins over its variable of the environment, which wins over the default.\n"
         ".SH COMMANDS");
    for (const struct command *const *command = call->all; *command != NULL; command++)
        print_command(*command);
    puts(".SH EXIT STATUS");
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        printf(".TP\n%d\n%s\n", ends[i].code, ends[i].what);
    return STATUS_OK;
}

const struct command command_manual = {
    .name = "manual",
    .operands = "",
    .summary = "the manual page: gnomon manual | man -l -",
    .options = options_table,
    .options_bytes = sizeof(struct manual_options),
    .run = run,
};
