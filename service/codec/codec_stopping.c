/* Each rule has a table of members. */
#include "service/codec/codec_stopping.h"

#include "service/member/codec.h"

#include <stddef.h>
#include <string.h>

enum { EPOCHS_MAX = 1000000, TRIALS_MAX = 10000 };

static const char *const rule_names[] = {"none", "median", "asha", "bos", "percentile", "patience", "hyperband", NULL};

struct stopping_form {
    const json_t *rule;
    int64_t       epochs, warm_up, min_trials, min_epochs, reduction, percentile, patience;
    bool          guard, resume;
};
#define INTEGER(member, low, high)                                                                                   \
    {                                                                                                                \
        .name = #member, .read = codec_read_integer, .offset = offsetof(struct stopping_form, member), .min = (low), \
        .max = (high)                                                                                                \
    }
#define RULE                                                                                                      \
    {                                                                                                             \
        .name = "rule", .required = true, .read = codec_read_kept, .offset = offsetof(struct stopping_form, rule) \
    }
#define FLAG(member)                                                                               \
    {                                                                                              \
        .name = #member, .read = codec_read_bool, .offset = offsetof(struct stopping_form, member) \
    }
static const struct member plain_members[] = {RULE, INTEGER(epochs, 1, EPOCHS_MAX), {.name = NULL}};
static const struct member median_members[] = {RULE,
                                               INTEGER(epochs, 2, EPOCHS_MAX),
                                               INTEGER(warm_up, 0, EPOCHS_MAX),
                                               INTEGER(min_trials, 1, TRIALS_MAX),
                                               FLAG(guard),
                                               {.name = NULL}};
static const struct member percentile_members[] = {RULE,
                                                   INTEGER(epochs, 2, EPOCHS_MAX),
                                                   INTEGER(percentile, 1, 99),
                                                   INTEGER(warm_up, 0, EPOCHS_MAX),
                                                   INTEGER(min_trials, 1, TRIALS_MAX),
                                                   FLAG(guard),
                                                   {.name = NULL}};
static const struct member patience_members[] = {
    RULE, INTEGER(epochs, 2, EPOCHS_MAX), INTEGER(patience, 1, EPOCHS_MAX), FLAG(guard), {.name = NULL}};
static const struct member rungs_members[] = {RULE,
                                              INTEGER(epochs, 2, EPOCHS_MAX),
                                              INTEGER(min_epochs, 1, EPOCHS_MAX),
                                              INTEGER(reduction, 2, 100),
                                              FLAG(guard),
                                              FLAG(resume),
                                              {.name = NULL}};
static const struct {
    enum stop_rule_kind  kind;
    const struct member *members;
} rules[] = {{STOP_RULE_NONE, plain_members},
             {STOP_RULE_MEDIAN, median_members},
             {STOP_RULE_ASHA, rungs_members},
             {STOP_RULE_OWN, plain_members},
             {STOP_RULE_PERCENTILE, percentile_members},
             {STOP_RULE_PATIENCE, patience_members},
             {STOP_RULE_HYPERBAND, rungs_members}};
enum { RULES = sizeof rules / sizeof *rules };

/* The algorithm's own budget of epochs; 0: it has none. */
static int64_t budget_of(const struct spec *spec)
{
    const struct problem problem = {.space = &spec->space, .options = spec->options};
    return spec->policy->epochs == NULL ? 0 : (int64_t)spec->policy->epochs(&problem);
}

static enum status check_epochs(struct reading *in, struct stopping_form *form, const struct spec *spec)
{
    int64_t budget = budget_of(spec);
    if (form->epochs == 0 && budget == 0)
        return error_set(in->err, STATUS_INVALID, "missing_member", "/stopping/epochs", "is required");
    if (form->epochs != 0 && budget != 0 && form->epochs != budget)
        return error_set(in->err, STATUS_INVALID, "bad_combination", "/stopping/epochs",
                         "must be that of the algorithm, %lld", (long long)budget);
    form->epochs = budget != 0 ? budget : form->epochs;
    return STATUS_OK;
}

static enum status check_rule(struct reading *in, const struct stopping_form *form, enum stop_rule_kind kind,
                              const struct spec *spec)
{
    if (spec->space.kind != SPACE_PARAMETERS)
        return error_set(in->err, STATUS_INVALID, "wrong_space", "/stopping", "stopping is for parameter spaces");
    if (spec->metrics_len > 1)
        return error_set(in->err, STATUS_INVALID, "not_supported", "/stopping", "stopping takes one metric");
    if (metric_is_banded(&spec->metrics[spec->first]))
        return error_set(in->err, STATUS_INVALID, "not_supported", "/stopping",
                         "stopping compares what is larger: it takes no target and no range");
    if (kind == STOP_RULE_OWN && spec->policy->judge == NULL)
        return error_set(in->err, STATUS_INVALID, "not_supported", "/stopping/rule", "bos needs the algorithm bo-bos");
    if (form->warm_up >= form->epochs)
        return error_set(in->err, STATUS_INVALID, "bad_combination", "/stopping/warm_up", "must be below epochs");
    if ((kind == STOP_RULE_ASHA || kind == STOP_RULE_HYPERBAND) && form->min_epochs >= form->epochs)
        return error_set(in->err, STATUS_INVALID, "bad_combination", "/stopping/min_epochs", "must be below epochs");
    if (kind == STOP_RULE_PATIENCE && form->patience == 0)
        return error_set(in->err, STATUS_INVALID, "missing_member", "/stopping/patience", "is required");
    if (form->patience >= form->epochs)
        return error_set(in->err, STATUS_INVALID, "bad_combination", "/stopping/patience", "must be below epochs");
    return STATUS_OK;
}

/* A judge of its own keeps curves that nobody tells of it, and a context comes with a request. */
static enum status check_resume(struct reading *in, const struct stopping_form *form, const struct spec *spec)
{
    if (!form->resume)
        return STATUS_OK;
    if (spec->policy->judge != NULL)
        return error_set(in->err, STATUS_INVALID, "not_supported", "/stopping/resume",
                         "%s does not go on with a stopped trial", spec->policy->name);
    if (space_has_context(&spec->space))
        return error_set(in->err, STATUS_INVALID, "not_supported", "/stopping/resume",
                         "a stopped trial does not go on in another context");
    return STATUS_OK;
}

static enum status read_rule(struct reading *in, const json_t *json, int *rule)
{
    const struct member names = {.names = rule_names};
    if (!json_is_object(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", "/stopping", "must be an object");
    const json_t *value = json_object_get(json, "rule");
    if (value == NULL)
        return error_set(in->err, STATUS_INVALID, "missing_member", "/stopping/rule", "is required");
    return codec_read_choice(in, &names, value, "/stopping/rule", rule);
}

enum status codec_stopping(struct reading *in, const json_t *json, struct spec *spec)
{
    struct stopping_form form = {.min_trials = 5, .min_epochs = 1, .reduction = 3, .percentile = 25};
    int                  rule = 0;
    bool                 is_given = json != NULL && !json_is_null(json);
    if (!is_given && spec->policy->judge == NULL)
        return STATUS_OK;
    if (is_given) {
        TRY(read_rule(in, json, &rule));
        TRY(codec_read_object(in, rules[rule].members, json, "/stopping", &form));
    }
    enum stop_rule_kind kind = is_given ? rules[rule].kind : STOP_RULE_OWN;
    TRY(check_epochs(in, &form, spec));
    TRY(check_rule(in, &form, kind, spec));
    TRY(check_resume(in, &form, spec));
    spec->stopping = (struct stop_rule){.kind = kind,
                                        .epochs = (size_t)form.epochs,
                                        .warm_up = (size_t)form.warm_up,
                                        .min_trials = (size_t)form.min_trials,
                                        .min_epochs = (size_t)form.min_epochs,
                                        .reduction = (size_t)form.reduction,
                                        .percentile = (size_t)form.percentile,
                                        .patience = (size_t)form.patience,
                                        .guard = form.guard,
                                        .resumes = form.resume};
    return STATUS_OK;
}

static json_t *write_rule(const struct stopping_form *form, size_t rule)
{
    json_t *json = json_pack("{s:s}", "rule", rule_names[rule]);
    bool    is_whole = json != NULL;
    for (const struct member *member = rules[rule].members; member->name != NULL; member++) {
        const char *at = (const char *)form + member->offset;
        int64_t     integer = 0;
        if (member->read == codec_read_bool && *(const bool *)at)
            is_whole &= json_object_set_new(json, member->name, json_true()) == 0;
        if (member->read != codec_read_integer)
            continue;
        memcpy(&integer, at, sizeof integer);
        is_whole &= json_object_set_new(json, member->name, json_integer((json_int_t)integer)) == 0;
    }
    if (is_whole)
        return json;
    json_decref(json);
    return NULL;
}

json_t *codec_stopping_json(const struct spec *spec)
{
    const struct stop_rule    *stopping = &spec->stopping;
    const struct stopping_form form = {.epochs = (int64_t)stopping->epochs,
                                       .warm_up = (int64_t)stopping->warm_up,
                                       .min_trials = (int64_t)stopping->min_trials,
                                       .min_epochs = (int64_t)stopping->min_epochs,
                                       .reduction = (int64_t)stopping->reduction,
                                       .percentile = (int64_t)stopping->percentile,
                                       .patience = (int64_t)stopping->patience,
                                       .guard = stopping->guard,
                                       .resume = stopping->resumes};
    for (size_t rule = 0; rule < RULES; rule++)
        if (rules[rule].kind == stopping->kind)
            return write_rule(&form, rule);
    return json_null();
}
