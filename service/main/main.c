/* The composition root: which subcommands there are.  Each is one file; serve puts the layers together. */
#include "engine/math/mat.h"
#include "service/base/nearest.h"
#include "service/cli/command.h"
#include "service/base/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A heading stands before the first command of its group. */
static const struct entry {
    const char           *heading;
    const struct command *command; /* NULL at the end */
} entries[] = {
    {"Search", &command_run},
    {NULL, &command_study},
    {NULL, &command_work},
    {NULL, &command_export},
    {NULL, &command_import},
    {"Run a server", &command_serve},
    {NULL, &command_token},
    {NULL, &command_health},
    {NULL, &command_notify},
    {NULL, &command_routes},
    {"Look after a store", &command_backup},
    {NULL, &command_restore},
    {NULL, &command_migrate},
    {NULL, &command_check},
    {NULL, &command_verify},
    {NULL, &command_compact},
    {"Keep rows private, or tune together with others", &command_key},
    {NULL, &command_project},
    {NULL, &command_curate},
    {NULL, &command_ledger},
    {NULL, &command_agent},
    {NULL, NULL},
};

/* The first steps of somebody who has never seen the program. */
static void print_first(FILE *stream)
{
    fputs("gnomon: Bayesian optimisation as a service\n\n"
          "  gnomon serve                                     start a server; gnomon run adds a first study\n"
          "  gnomon study example >sweep.json                 write an example of a study, for you to edit\n"
          "  gnomon study create sweep.json                   make the study\n"
          "  gnomon work --study NAME -- python3 train.py     run your program for each trial\n\n"
          "The last two need a token in GNOMON_TOKEN: gnomon token create --name me --scope write\n"
          "gnomon --help lists all commands, gnomon COMMAND --help the options of a command\n",
          stream);
}

static void print_overview(FILE *stream)
{
    fputs("gnomon: Bayesian optimisation as a service that does not need to see your data\n\n"
          "usage: gnomon COMMAND [options], gnomon COMMAND --help, gnomon --version\n",
          stream);
    for (const struct entry *entry = entries; entry->command != NULL; entry++) {
        if (entry->heading != NULL)
            fprintf(stream, "\n%s\n", entry->heading);
        fprintf(stream, "  %-10s  %s\n", entry->command->name, entry->command->summary);
    }
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
    for (const struct entry *entry = entries; entry->command != NULL; entry++) {
        nearest_consider(&nearest, entry->command->name);
        if (strcmp(argv[1], entry->command->name) != 0)
            continue;
        if (entry->command->run == NULL)
            return command_hand_over(entry->command, argv + 2);
        if (!asks_for_help(argv + 2))
            return command_execute(entry->command, argv + 2);
        print_help(entry->command);
        return COMMAND_DONE;
    }
    fprintf(stderr, "gnomon: there is no command %.*s%s\n", (int)length, argv[1],
            nearest.hint[0] != '\0' ? nearest.hint : "; gnomon --help lists all commands");
    return COMMAND_USAGE;
}
