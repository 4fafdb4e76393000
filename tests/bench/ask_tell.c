/* An algorithm by ask and tell, for a program that has the function: prints a point a line, nan where a parameter does not
 * exist, and reads its value, which is minimised.  So a race costs no requests.
 *   ask_tell ALGORITHM SEED TRIALS PARAMETER...
 * PARAMETER  KIND:LOW:HIGH of double, log or int, or choice:COUNT, whose values are numbers from 0 on; then any number of
 *            conditions /PARENT=VALUE,... with the parent's number, from 0 on */
#include "engine/policy/session.h"
#include "engine/math/mat.h"
#include "engine/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMS_MAX = 64, VALUES_MAX = 512, OPTIONS_MAX = 32, EXIT_USAGE = 64 };

static struct param     params[PARAMS_MAX];
static struct condition conditions[PARAMS_MAX];
static double           values[VALUES_MAX];
static size_t           conditions_len, values_len;

static void refuse(const char *what)
{
    fprintf(stderr, "ask_tell: %s\n", what);
    exit(EXIT_USAGE);
}

static void must(enum status status, const struct error *err)
{
    if (status == STATUS_OK)
        return;
    fprintf(stderr, "ask_tell: %s %s: %s\n", err->code, err->path, err->text);
    exit(1);
}

/* text is behind the slash; where it ends. */
static char *read_condition(char *text, struct param *param)
{
    if (conditions_len == PARAMS_MAX)
        refuse("too many conditions");
    struct condition *condition = &conditions[conditions_len++];
    *condition = (struct condition){.parent = strtoul(text, &text, 10), .values = values + values_len};
    if (*text != '=')
        refuse("a condition is /PARENT=VALUE,...");
    do {
        if (values_len == VALUES_MAX)
            refuse("too many values of conditions");
        values[values_len++] = strtod(text + 1, &text);
        condition->values_len++;
    } while (*text == ',');
    param->when = condition - param->when_len++;
    return text;
}

static void read_param(char *text, struct param *param)
{
    char *end = strchr(text, ':');
    if (end == NULL)
        refuse("a parameter is KIND:LOW:HIGH or choice:COUNT");
    *end++ = '\0';
    double low = strtod(end, &end);
    *param = (struct param){.name = "x", .min = low};
    if (strcmp(text, "choice") == 0)
        *param = (struct param){.name = "x",
                                .kind = PARAM_CATEGORICAL,
                                .max = low - 1,
                                .choices = low >= 1 && low <= VALUES_MAX ? (size_t)low : 0};
    else if (*end == ':')
        param->max = strtod(end + 1, &end);
    param->kind = strcmp(text, "int") == 0 ? PARAM_INT : param->kind;
    param->scale = strcmp(text, "log") == 0 ? SCALE_LOG : SCALE_LINEAR;
    while (*end == '/')
        end = read_condition(end + 1, param);
    if (*end != '\0')
        refuse("a parameter is KIND:LOW:HIGH or choice:COUNT, then /PARENT=VALUE,...");
}

/* Tells what it was told; false: there is nothing more to read. */
static bool one_trial(const struct policy *policy, struct session *session, uint64_t trial, size_t len)
{
    static struct proposal proposal;
    static double          point[PARAMS_MAX];
    struct error           err = {0};
    proposal.point = point;
    must(policy->ask(session, &(struct ask){.trial = trial}, &proposal, &err), &err);
    for (size_t i = 0; i < len; i++)
        printf("%.17g%c", point[i], i + 1 < len ? ' ' : '\n');
    fflush(stdout);
    struct event event = {.kind = EVENT_SUGGESTED,
                          .trial = trial,
                          .point = point,
                          .note = proposal.note,
                          .note_bytes = proposal.note_bytes};
    must(policy->tell(session, &event, &err), &err);
    double value;
    if (scanf("%lf", &value) != 1)
        return false;
    event = (struct event){.kind = EVENT_OBSERVED, .trial = trial, .point = point, .value = -value};
    must(policy->tell(session, &event, &err), &err);
    return true;
}

int main(int argc, char **argv)
{
    const struct policy *policy = argc < 2 ? NULL : policy_find(argv[1]);
    double               options[OPTIONS_MAX];
    struct error         err = {0};
    if (policy == NULL || argc < 5 || argc - 4 > PARAMS_MAX)
        refuse("ALGORITHM SEED TRIALS PARAMETER...");
    mat_use_one_thread();
    for (int i = 4; i < argc; i++)
        read_param(argv[i], &params[i - 4]);
    policy_defaults(policy, options);
    struct space   space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = (size_t)argc - 4};
    struct problem problem = {
        .space = &space, .options = options, .seed = strtoull(argv[2], NULL, 10), .memory_bytes = 256 << 20};
    struct session *session;
    must(space_init(&space, &err), &err);
    must(session_open(policy, &problem, &session, &err), &err);
    uint64_t trial = 1, trials = strtoull(argv[3], NULL, 10);
    while (trial <= trials && one_trial(policy, session, trial, space.params_len))
        trial++;
    session_close(session);
    return trial > trials ? 0 : 1;
}
