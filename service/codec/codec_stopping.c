/* One table of members per rule. */
#include "service/codec/codec_stopping.h"

#include "service/codec/codec.h"

#include <stddef.h>
#include <string.h>

enum { EPOCHS_MAX = 1000000, TRIALS_MAX = 10000 };

static const char *const rule_names[] = {"none", "median", "asha", "bos", NULL};

struct stopping_form {
    const json_t *rule;
    int64_t       epochs, warm_up, min_trials, min_epochs, reduction;
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
static const struct member plain_members[] = {RULE, INTEGER(epochs, 1, EPOCHS_MAX), {.name = NULL}};
static const struct member median_members[] = {RULE,
                                               INTEGER(epochs, 2, EPOCHS_MAX),
                                               INTEGER(warm_up, 0, EPOCHS_MAX),
                                               INTEGER(min_trials, 1, TRIALS_MAX),
                                               {.name = NULL}};
static const struct member asha_members[] = {RULE,
                                             INTEGER(epochs, 2, EPOCHS_MAX),
                                             INTEGER(min_epochs, 1, EPOCHS_MAX),
                                             INTEGER(reduction, 2, 100),
                                             {.name = NULL}};
static const struct {
    enum stop_rule_kind  kind;
    const struct member *members;
} rules[] = {{STOP_RULE_NONE, plain_members},
             {STOP_RULE_MEDIAN, median_members},
             {STOP_RULE_ASHA, asha_members},
             {STOP_RULE_OWN, plain_members}};

/* 0: the algorithm has no budget of its own. */
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
    if (kind == STOP_RULE_OWN && spec->policy->judge == NULL)
        return error_set(in->err, STATUS_INVALID, "not_supported", "/stopping/rule", "bos needs the algorithm bo-bos");
    if (kind == STOP_RULE_MEDIAN && form->warm_up >= form->epochs)
        return error_set(in->err, STATUS_INVALID, "bad_combination", "/stopping/warm_up", "must be below epochs");
    if (kind == STOP_RULE_ASHA && form->min_epochs >= form->epochs)
        return error_set(in->err, STATUS_INVALID, "bad_combination", "/stopping/min_epochs", "must be below epochs");
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
    struct stopping_form form = {.min_trials = 5, .min_epochs = 1, .reduction = 3};
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
    spec->stopping = (struct stop_rule){.kind = kind,
                                        .epochs = (size_t)form.epochs,
                                        .warm_up = (size_t)form.warm_up,
                                        .min_trials = (size_t)form.min_trials,
                                        .min_epochs = (size_t)form.min_epochs,
                                        .reduction = (size_t)form.reduction};
    return STATUS_OK;
}

json_t *codec_stopping_json(const struct spec *spec)
{
    const struct stop_rule *stopping = &spec->stopping;
    json_int_t              epochs = (json_int_t)stopping->epochs;
    switch (stopping->kind) {
    case STOP_RULE_OFF:
        break;
    case STOP_RULE_NONE:
        return json_pack("{s:s, s:I}", "rule", "none", "epochs", epochs);
    case STOP_RULE_MEDIAN:
        return json_pack("{s:s, s:I, s:I, s:I}", "rule", "median", "epochs", epochs, "warm_up",
                         (json_int_t)stopping->warm_up, "min_trials", (json_int_t)stopping->min_trials);
    case STOP_RULE_ASHA:
        return json_pack("{s:s, s:I, s:I, s:I}", "rule", "asha", "epochs", epochs, "min_epochs",
                         (json_int_t)stopping->min_epochs, "reduction", (json_int_t)stopping->reduction);
    case STOP_RULE_OWN:
        return json_pack("{s:s, s:I}", "rule", "bos", "epochs", epochs);
    }
    return json_null();
}
