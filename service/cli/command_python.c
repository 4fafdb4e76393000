/* gnomon run, study, work, notify, export and import: the commands of the Python client, which is a folder beside the
 * program, or installed where python3 finds it.  The folder does not go into the environment: the programs that `work` runs are not to see it. */
#include "service/cli/command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static const char script[] =
    "import sys\n"
    "sys.path[0:1] = filter(None, sys.argv.pop(1).split('\\n'))\n" // not the folder where it is run
    "program = sys.argv.pop(1)\n"
    "from gnomon import __main__, shell\n"
    "shell.PROGRAM = program\n"
    "sys.exit(__main__.main())\n";

/* Whether it is of the user, of root, or of whoever the program is of: beside a program in a folder that all may write to anybody
 * may have put one. */
static bool is_trusted(const char *program, const char *folder)
{
    struct stat about, own;
    return lstat(folder, &about) == 0 && stat(program, &own) == 0 &&
           (about.st_uid == 0 || about.st_uid == geteuid() || about.st_uid == own.st_uid);
}

/* The client's folder: that of an installed program, or of a checkout.  program: the path of this one. */
static void find_folder(char program[PATH_BYTES], char out[PATH_BYTES])
{
    static const struct {
        const char *top, *below;
    } places[] = {{"../share", "gnomon/python"}, {"../api", "clients/python"}, {"../../api", "clients/python"}};
    ssize_t length = readlink("/proc/self/exe", program, PATH_BYTES - 1);
    program[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(program, '/');
    for (size_t i = 0; slash != NULL && i < sizeof places / sizeof places[0]; i++) {
        int to = (int)(slash - program);
        snprintf(out, PATH_BYTES, "%.*s/%s", to, program, places[i].top);
        if (!is_trusted(program, out))
            continue;
        snprintf(out, PATH_BYTES, "%.*s/%s/%s/gnomon/work.py", to, program, places[i].top, places[i].below);
        if (access(out, R_OK) == 0) {
            snprintf(out, PATH_BYTES, "%.*s/%s/%s", to, program, places[i].top, places[i].below);
            return;
        }
    }
    out[0] = '\0';
}

int command_hand_over(const struct command *command, char **arguments)
{
    char        folder[PATH_BYTES], program[PATH_BYTES];
    const char *first[] = {"python3", "-B", "-c", script, folder, program, command->name};
    enum { FIRST = sizeof first / sizeof first[0] };
    size_t count = 0;
    find_folder(program, folder);
    while (arguments[count] != NULL)
        count++;
    const char **all = calloc(FIRST + count + 1, sizeof *all);
    for (size_t i = 0; all != NULL && i < FIRST + count; i++)
        all[i] = i < FIRST ? first[i] : arguments[i - FIRST];
    if (all != NULL)
        execvp("python3", (char *const *)(uintptr_t)all);
    fprintf(stderr, "gnomon: %s needs python3, which cannot be run: %s\n", command->name, strerror(errno));
    free(all);
    return COMMAND_FAILED;
}

static const struct options_row none[] = {{.flag = NULL}};

#define HANDED(word, what) \
    const struct command command_##word = {.name = #word, .operands = "", .summary = (what), .options = none}
HANDED(run, "start a server with a first token and a first study, until Ctrl-C");
HANDED(study, "create, list, show and change studies and their trials");
HANDED(work, "run a program for each trial of a study: gnomon work --study S -- python train.py");
HANDED(notify, "post messages about studies that end and trials that fail to an address (webhooks)");
HANDED(export, "write a study to a file: the whole study, or its trials as JSON or CSV");
HANDED(import, "make a study of an export, or bring trials from JSON or CSV into a study");
