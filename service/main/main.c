/* The composition root: which subcommands there are.  Each is one file; serve puts the layers together. */
#include "engine/math/mat.h"
#include "service/base/nearest.h"
#include "service/cli/command.h"
#include "service/base/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NULL at the end. */
static const struct command *const commands[] = {
    &command_serve,
    &command_run,
    &command_study,
    &command_work,
    &command_notify,
    &command_token,
    &command_export,
    &command_import,
    &command_migrate,
    &command_backup,
    &command_restore,
    &command_check,
    &command_compact,
    &command_verify,
    &command_health,
    &command_key,
    &command_project,
    &command_curate,
    &command_agent,
    &command_ledger,
    &command_audit,
    &command_routes,
    NULL,
};

/* The first steps of somebody who has never seen the program. */
static void print_first(FILE *stream)
{
    fputs("gnomon: Bayesian optimisation as a service\n\n"
          "  gnomon serve                                     starts the service; gnomon run shows it at work, too\n"
          "  gnomon study example >sweep.json                 what is to be optimised, to be edited; then:\n"
          "  gnomon study create sweep.json                   the study, and what to do next\n"
          "  gnomon work --study NAME -- python3 train.py     runs a program for each trial\n\n"
          "The last two want a token in GNOMON_TOKEN: gnomon token create --name me --scope write\n"
          "gnomon --help has all commands, gnomon COMMAND --help the options of one\n",
          stream);
}

static void print_overview(FILE *stream)
{
    fputs("gnomon: Bayesian optimisation as a service that does not need to see your data\n\n"
          "usage: gnomon COMMAND [options], gnomon COMMAND --help, gnomon --version\n\n",
          stream);
    for (const struct command *const *command = commands; *command != NULL; command++)
        fprintf(stream, "  %-10s  %s\n", (*command)->name, (*command)->summary);
}

static void print_help(const struct command *command)
{
    printf("usage: gnomon %s %s%s[options]\n%s\n\n", command->name, command->operands,
           command->operands[0] != '\0' ? " " : "", command->summary);
    options_print_help(command->options, stdout);
}

static bool asks_for_help(char **arguments)
{
    for (; *arguments != NULL; arguments++)
        if (strcmp(*arguments, "--help") == 0)
            return true;
    return false;
}

/* Debian 12's OpenBLAS falls back to kernels of 2004 on processors that are younger than itself, at half the speed.
 * It chooses when it is loaded, so the program starts itself again with the choice made. */
static void use_fast_kernels(char **argv)
{
#ifdef __x86_64__
    bool is_new = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (is_new && strcmp(mat_core_name(), "Prescott") == 0 && getenv("OPENBLAS_CORETYPE") == NULL &&
        setenv("OPENBLAS_CORETYPE", "Haswell", 1) == 0)
        execv("/proc/self/exe", argv);
#else
    (void)argv;
#endif
}

int main(int argc, char **argv)
{
    use_fast_kernels(argv);
    if (argc < 2) {
        print_first(stderr);
        return COMMAND_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_overview(stdout);
        return COMMAND_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("gnomon " GNOMON_VERSION);
        return COMMAND_DONE;
    }
    size_t         length = strcspn(argv[1], ":");
    struct nearest nearest = nearest_to(argv[1], length);
    for (const struct command *const *command = commands; *command != NULL; command++) {
        nearest_consider(&nearest, (*command)->name);
        if (strcmp(argv[1], (*command)->name) != 0)
            continue;
        if ((*command)->run == NULL)
            return command_hand_over(*command, argv + 2);
        if (!asks_for_help(argv + 2))
            return command_execute(*command, argv + 2);
        print_help(*command);
        return COMMAND_DONE;
    }
    fprintf(stderr, "gnomon: there is no command %.*s%s\n", (int)length, argv[1], nearest.hint);
    return COMMAND_USAGE;
}
