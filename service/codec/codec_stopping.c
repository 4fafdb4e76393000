/* A table says which rules have which member. */
#include "service/codec/codec_stopping.h"

#include "service/member/codec_write.h"

enum { EPOCHS_MAX = 1000000, TRIALS_MAX = 10000 };

/* In the order of enum stop_rule_kind, from STOP_RULE_NONE on. */
static const char *const rule_names[] = {"none", "median", "asha", "bos", "percentile", "patience", "hyperband", NULL};
enum {
    PLAIN = 1 << STOP_RULE_NONE | 1 << STOP_RULE_OWN,
    SHARE = 1 << STOP_RULE_MEDIAN | 1 << STOP_RULE_PERCENTILE,
    RUNGS = 1 << STOP_RULE_ASHA | 1 << STOP_RULE_HYPERBAND,
    PERCENTILE = 1 << STOP_RULE_PERCENTILE,
    PATIENCE = 1 << STOP_RULE_PATIENCE,
    JUDGED = SHARE | RUNGS | PATIENCE
};

static json_t *write_kind(const struct writing *out, const struct member *member)
{
    const struct stop_rule *rule = out->from;
    (void)member;
    return json_string(rule_names[rule->kind - STOP_RULE_NONE]);
}

static json_t *write_flag(const struct writing *out, const struct member *member)
{
    return *(const bool *)codec_at(out, member) ? json_true() : json_null();
}

_Static_assert(sizeof(size_t) == sizeof(int64_t), "a count that is not negative is read as an integer");
#define COUNT(member, least, most) AT(stop_rule, member), .read = codec_read_integer, .min = (least), .max = (most)
#define FLAG                       .read = codec_read_bool, .optional = true, .write = write_flag
static const struct {
    unsigned      rules; /* that have it */
    struct member member;
} rows[] = {
    {PLAIN | JUDGED, {.name = "rule", .required = true, .read = codec_read_known, .write = write_kind}},
    {PLAIN, {COUNT(epochs, 1, EPOCHS_MAX)}},
    {JUDGED, {COUNT(epochs, 2, EPOCHS_MAX)}},
    {PERCENTILE, {COUNT(percentile, 1, 99)}},
    {SHARE, {COUNT(warm_up, 0, EPOCHS_MAX)}},
    {SHARE, {COUNT(min_trials, 1, TRIALS_MAX)}},
    {PATIENCE, {COUNT(patience, 1, EPOCHS_MAX)}},
    {RUNGS, {COUNT(min_epochs, 1, EPOCHS_MAX)}},
    {RUNGS, {COUNT(reduction, 2, 100)}},
    {JUDGED, {AT(stop_rule, guard), FLAG}},
    {RUNGS, {AS(stop_rule, resumes, "resume"), FLAG}},
};
enum { ROWS = sizeof rows / sizeof *rows };

static void members_of(enum stop_rule_kind kind, struct member out[ROWS + 1])
{
    size_t len = 0;
    for (size_t i = 0; i < ROWS; i++)
        if ((rows[i].rules >> kind & 1) != 0)
            out[len++] = rows[i].member;
    out[len] = (struct member){.name = NULL};
}

/* The algorithm's own budget of epochs; 0: it has none. */
static size_t budget_of(const struct spec *spec)
{
    const struct problem problem = {.space = &spec->space, .options = spec->options};
    return spec->policy->epochs == NULL ? 0 : spec->policy->epochs(&problem);
}

static enum status check_epochs(struct reading *in, struct stop_rule *rule, const struct spec *spec)
{
    size_t budget = budget_of(spec);
    if (rule->epochs == 0 && budget == 0)
        return error_set(in->err, STATUS_INVALID, "missing_member", "/stopping/epochs", "is required");
    if (rule->epochs != 0 && budget != 0 && rule->epochs != budget)
        return error_set(in->err, STATUS_INVALID, "bad_combination", "/stopping/epochs",
                         "must be that of the algorithm, %zu", budget);
    rule->epochs = budget != 0 ? budget : rule->epochs;
    return STATUS_OK;
}

static enum status check_rule(struct reading *in, const struct stop_rule *rule, const struct spec *spec)
{
    if (spec->space.kind != SPACE_PARAMETERS)
        return error_set(in->err, STATUS_INVALID, "wrong_space", "/stopping", "stopping is for parameter spaces");
    if (spec->metrics_len > 1 && !stop_rule_takes_several(rule->kind))
        return error_set(in->err, STATUS_INVALID, "not_supported", "/stopping/rule",
                         "%s compares a single metric: of several take asha, hyperband, median, percentile or none",
                         rule_names[rule->kind - STOP_RULE_NONE]);
    for (size_t k = 0; k < spec->metrics_len; k++)
        if (metric_is_banded(&spec->metrics[k]))
            return error_set(in->err, STATUS_INVALID, "not_supported", "/stopping",
                             "stopping compares what is larger: it takes no target and no range");
    if (rule->kind == STOP_RULE_OWN && spec->policy->judge == NULL)
        return error_set(in->err, STATUS_INVALID, "not_supported", "/stopping/rule", "bos needs the algorithm bo-bos");
    if (rule->warm_up >= rule->epochs)
        return error_set(in->err, STATUS_INVALID, "bad_combination", "/stopping/warm_up", "must be below epochs");
    if ((rule->kind == STOP_RULE_ASHA || rule->kind == STOP_RULE_HYPERBAND) && rule->min_epochs >= rule->epochs)
        return error_set(in->err, STATUS_INVALID, "bad_combination", "/stopping/min_epochs", "must be below epochs");
    if (rule->kind == STOP_RULE_PATIENCE && rule->patience == 0)
        return error_set(in->err, STATUS_INVALID, "missing_member", "/stopping/patience", "is required");
    if (rule->patience >= rule->epochs)
        return error_set(in->err, STATUS_INVALID, "bad_combination", "/stopping/patience", "must be below epochs");
    return STATUS_OK;
}

/* A judge of its own keeps curves that nobody tells of it, and a context comes with a request. */
static enum status check_resume(struct reading *in, const struct stop_rule *rule, const struct spec *spec)
{
    if (!rule->resumes)
        return STATUS_OK;
    if (spec->policy->judge != NULL)
        return error_set(in->err, STATUS_INVALID, "not_supported", "/stopping/resume",
                         "%s does not go on with a stopped trial", spec->policy->name);
    if (space_has_context(&spec->space))
        return error_set(in->err, STATUS_INVALID, "not_supported", "/stopping/resume",
                         "a stopped trial does not go on in another context");
    return STATUS_OK;
}

enum status codec_stopping(struct reading *in, const json_t *json, struct spec *spec)
{
    struct stop_rule rule = {.kind = STOP_RULE_OWN, .min_trials = 5, .min_epochs = 1, .reduction = 3, .percentile = 25};
    struct member    members[ROWS + 1];
    int              place = 0;
    bool             is_given = json != NULL && !json_is_null(json);
    if (!is_given && (spec->policy == NULL || spec->policy->judge == NULL))
        return STATUS_OK;
    if (is_given) {
        TRY(codec_read_word(in, json, "/stopping", "rule", rule_names, &place));
        rule.kind = (enum stop_rule_kind)(STOP_RULE_NONE + place);
        members_of(rule.kind, members);
        TRY(codec_read_object(in, members, json, "/stopping", &rule));
    }
    if (spec->policy == NULL) // its problem is told already
        return STATUS_OK;
    TRY(check_epochs(in, &rule, spec));
    TRY(check_rule(in, &rule, spec));
    TRY(check_resume(in, &rule, spec));
    spec->stopping = rule;
    return STATUS_OK;
}

json_t *codec_stopping_json(const struct spec *spec)
{
    struct member members[ROWS + 1];
    if (spec->stopping.kind == STOP_RULE_OFF)
        return json_null();
    members_of(spec->stopping.kind, members);
    return codec_write(members, &(struct writing){.from = &spec->stopping});
}
