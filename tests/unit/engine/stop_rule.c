/* Curves from the log, and the rules that compare them, on small cases worked out by hand. */
#include "engine/math/rng.h"
#include "engine/stopping/rank.h"
#include "engine/stopping/stop_rule.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

static struct arena  arena;
static struct curves curves;

static void begin(void)
{
    arena_init(&arena, 1 << 20);
    curves_init(&curves, &arena);
}

static void tell(enum event_kind kind, uint64_t trial, size_t step, double value)
{
    struct event event = {.kind = kind, .trial = trial, .step = step, .value = value};
    CU_ASSERT_FATAL(curves_tell(&curves, &event, NULL) == STATUS_OK);
}

/* A trial measured after each step, ended as the kind says. */
static void tell_curve(uint64_t trial, const double *values, size_t len, enum event_kind end)
{
    for (size_t i = 0; i < len; i++)
        tell(EVENT_MEASURED, trial, i + 1, values[i]);
    tell(end, trial, 0, values[len - 1]);
}

static struct verdict judge(const struct stop_rule *rule, uint64_t trial, size_t step, double value)
{
    static struct verdict    verdict;
    const struct measurement measurement = {.trial = trial, .step = step, .value = value};
    memset(&verdict, 0x5A, sizeof verdict);
    CU_ASSERT_FATAL(stop_rule_judge(rule, &curves, &measurement, &verdict, &arena, NULL) == STATUS_OK);
    CU_ASSERT(verdict.note_bytes == 0);
    return verdict;
}

static void test_curves(void)
{
    begin();
    tell(EVENT_SUGGESTED, 4, 0, 0);
    CU_ASSERT(curves_find(&curves, 4) == NULL && curves.len == 0);
    for (size_t i = 40; i-- > 0;)
        for (size_t step = 1; step <= 20 + i; step += 2)
            tell(EVENT_MEASURED, 3 + i, step, (double)(100 * i + step));
    tell(EVENT_MEASURED, 7, 3, -1); /* not after the last */
    CU_ASSERT(curves.len == 40);
    for (size_t i = 0; i < 40; i++) {
        const struct curve *curve = curves_find(&curves, 3 + i);
        CU_ASSERT_FATAL(curve != NULL);
        double sum = 0;
        CU_ASSERT_EQUAL(curve->len, (21 + i) / 2);
        for (size_t k = 0; k < curve->len; k++) {
            sum += (double)(100 * i + 2 * k + 1);
            CU_ASSERT(curve->steps[k] == (double)(2 * k + 1) && curve->sums[k] == sum);
        }
        CU_ASSERT(curve->state == CURVE_RUNNING);
    }
    const struct curve *curve = curves_find(&curves, 20);
    CU_ASSERT(curve_upto(curve, 0.5) == 0 && curve_upto(curve, 1) == 1 && curve_upto(curve, 4) == 2);
    CU_ASSERT(curve_upto(curve, 5) == 3 && curve_upto(curve, 1e9) == curve->len);
    static const struct {
        enum event_kind  kind;
        enum curve_state state;
    } ends[] = {{EVENT_OBSERVED, CURVE_COMPLETED},
                {EVENT_STOPPED, CURVE_STOPPED},
                {EVENT_FAILED, CURVE_GONE},
                {EVENT_INFEASIBLE, CURVE_GONE},
                {EVENT_ABANDONED, CURVE_GONE}};
    for (size_t i = 0; i < 5; i++) {
        tell(ends[i].kind, 3 + i, 0, 0.5);
        CU_ASSERT(curves_find(&curves, 3 + i)->state == ends[i].state);
    }
    tell(EVENT_OBSERVED, 4, 0, 0.5); /* a stopped trial that was observed all the same */
    CU_ASSERT(curves_find(&curves, 4)->state == CURVE_COMPLETED && curves_find(&curves, 2) == NULL);
    arena_fini(&arena);
}

/* Finals by least squares on where the curves were at step 2, the slope drawn towards 1 by one more miss of the finals'
 * variance: deviations -0.2, 0, 0.2 and -0.1, 0.02, 0.08 about 0.5 and 0.71. */
static void test_forecast(void)
{
    static const double a[] = {0.1, 0.3, 0.5}, b[] = {0.3, 0.5, 0.6}, c[] = {0.4, 0.7, 0.7}, d[] = {0.1, 0.25};
    double              value = 0, sd = 0;
    begin();
    tell_curve(4, d, 2, EVENT_STOPPED);
    CU_ASSERT(!curves_forecast(&curves, 4, &value, &sd) && !curves_forecast(&curves, 9, &value, &sd));
    tell_curve(1, a, 3, EVENT_MEASURED);
    tell(EVENT_OBSERVED, 1, 0, 0.61);
    CU_ASSERT(curves_forecast(&curves, 4, &value,
                              &sd)); /* by one: as far as that still went, and as uncertain as half of it */
    CHECK_NEAR(value, 0.25 + 0.31, 1e-12);
    CHECK_NEAR(sd, 2 * sqrt(0.5) * 0.5 * 0.31, 1e-12);
    tell_curve(2, b, 3, EVENT_MEASURED);
    tell(EVENT_OBSERVED, 2, 0, 0.73);
    tell_curve(3, c, 3, EVENT_MEASURED);
    tell(EVENT_OBSERVED, 3, 0, 0.79);
    CU_ASSERT(curves_forecast(&curves, 4, &value, &sd));
    double one = 0.0168 / 3, slope = (0.036 + one) / (0.08 + one);
    CHECK_NEAR(value, 0.71 + slope * (0.25 - 0.5), 1e-12);
    CHECK_NEAR(sd, sqrt(0.0168 - 2 * slope * 0.036 + slope * slope * 0.08 + one), 1e-12);
    tell_curve(5, (const double[]){1e300, -1e300}, 2, EVENT_OBSERVED);
    CU_ASSERT(!curves_forecast(&curves, 4, &value, &sd)); /* beyond doubles */
    arena_fini(&arena);
}

static void test_curves_memory(void)
{
    struct event event = {.kind = EVENT_MEASURED, .trial = 1};
    enum status  status = STATUS_OK;
    arena_init(&arena, 5000);
    curves_init(&curves, &arena);
    for (event.step = 1; event.step < 2000 && status == STATUS_OK; event.step++)
        status = curves_tell(&curves, &event, NULL);
    CU_ASSERT(status == STATUS_NO_MEMORY && event.step > 20);
    event.trial = 2;
    for (status = STATUS_OK; status == STATUS_OK && event.trial < 1000; event.trial++)
        status = curves_tell(&curves, &event, NULL);
    CU_ASSERT(status == STATUS_NO_MEMORY);
    arena_fini(&arena);
}

static void test_none(void)
{
    const struct stop_rule rule = {.kind = STOP_RULE_NONE, .epochs = 5};
    begin();
    struct verdict verdict = judge(&rule, 1, 4, -1e300);
    CU_ASSERT(!verdict.stop && verdict.next_step == 0 && strcmp(verdict.reason, "no_rule") == 0);
    arena_fini(&arena);
}

/* Running means up to step 3: 0.4, 0.5, 0.7, 0.2; the stopped one does not count. */
static void test_median(void)
{
    static const double    a[] = {0.3, 0.4, 0.5, 0.9}, b[] = {0.5, 0.5, 0.5, 0.5}, c[] = {0.8, 0.7, 0.6, 0.1};
    static const double    d[] = {0.1, 0.2, 0.3, 0.4}, e[] = {0.95, 0.95};
    const struct stop_rule rule = {.kind = STOP_RULE_MEDIAN, .epochs = 4, .warm_up = 2, .min_trials = 3};
    begin();
    tell_curve(1, a, 4, EVENT_OBSERVED);
    tell_curve(2, b, 4, EVENT_OBSERVED);
    CU_ASSERT(strcmp(judge(&rule, 9, 3, -5).reason, "few_trials") == 0);
    tell_curve(4, e, 2, EVENT_STOPPED);
    CU_ASSERT(strcmp(judge(&rule, 9, 3, -5).reason, "few_trials") == 0);
    tell_curve(3, c, 4, EVENT_OBSERVED);
    CU_ASSERT(judge(&rule, 9, 3, 0.4999).stop && !judge(&rule, 9, 3, 0.5).stop);
    tell_curve(5, d, 4, EVENT_OBSERVED);
    CU_ASSERT(judge(&rule, 9, 3, 0.4499).stop && !judge(&rule, 9, 3, 0.4501).stop);
    struct verdict verdict = judge(&rule, 9, 3, 0.25);
    CU_ASSERT(strcmp(verdict.reason, "below_median") == 0 && verdict.next_step == 0);
    verdict = judge(&rule, 9, 1, 0.01);
    CU_ASSERT(!verdict.stop && verdict.next_step == 2 && strcmp(verdict.reason, "warm_up") == 0);
    verdict = judge(&rule, 9, 2, 0.6);
    CU_ASSERT(!verdict.stop && verdict.next_step == 3 && strcmp(verdict.reason, "above_median") == 0);
    CU_ASSERT(judge(&rule, 9, 3, 0.6).next_step == 0);
    CU_ASSERT(strcmp(judge(&rule, 9, 4, -5).reason, "last_epoch") == 0 && !judge(&rule, 9, 4, -5).stop);
    tell(EVENT_MEASURED, 9, 1, 0.46); /* its best value so far counts, not the last */
    CU_ASSERT(!judge(&rule, 9, 3, 0.1).stop);
    arena_fini(&arena);
}

/* Rungs 2, 6, 18 of 20 epochs. */
static void test_asha(void)
{
    const struct stop_rule rule = {.kind = STOP_RULE_ASHA, .epochs = 20, .min_epochs = 2, .reduction = 3};
    begin();
    CU_ASSERT(strcmp(judge(&rule, 1, 1, 0.1).reason, "between_rungs") == 0 && judge(&rule, 1, 1, 0.1).next_step == 2);
    CU_ASSERT(strcmp(judge(&rule, 1, 2, 0.1).reason, "in_top") == 0 && judge(&rule, 1, 2, 0.1).next_step == 6);
    for (uint64_t trial = 1; trial <= 5; trial++) {
        tell(EVENT_MEASURED, trial, 1, 9);
        tell(EVENT_MEASURED, trial, 2, 0.1 * (double)trial);
    }
    tell(EVENT_STOPPED, 1, 0, 0.1);
    tell(EVENT_FAILED, 5, 0, 0); /* what it reached before, it reached */
    CU_ASSERT(judge(&rule, 6, 2, 0.39).stop && judge(&rule, 6, 2, 0.41).stop == false);
    CU_ASSERT(!judge(&rule, 6, 2, 0.4).stop); /* a tie with the second of two */
    CU_ASSERT(strcmp(judge(&rule, 6, 2, 0.39).reason, "below_top") == 0 && judge(&rule, 6, 2, 0.39).next_step == 0);
    CU_ASSERT(judge(&rule, 6, 4, 0.39).stop);  /* the first measurement behind the rung */
    CU_ASSERT(!judge(&rule, 5, 4, 0.01).stop); /* it passed the rung before */
    tell(EVENT_MEASURED, 4, 7, 0.45);
    CU_ASSERT(judge(&rule, 5, 6, 0.44).stop && !judge(&rule, 5, 6, 0.46).stop);
    CU_ASSERT(judge(&rule, 7, 19, 0.41).stop); /* passes the first of its three rungs, not the second */
    CU_ASSERT(judge(&rule, 7, 19, 0.47).next_step == 0 && !judge(&rule, 7, 19, 0.47).stop);
    CU_ASSERT(strcmp(judge(&rule, 7, 20, 0.0).reason, "last_epoch") == 0);
    arena_fini(&arena);
}

/* Running means up to step 2: 0.2, 0.4, 0.6, 0.8; a fifth of the way from the worst to the best is 0.32. */
static void test_percentile(void)
{
    const struct stop_rule rule = {.kind = STOP_RULE_PERCENTILE, .epochs = 4, .min_trials = 1, .percentile = 20};
    begin();
    for (uint64_t trial = 1; trial <= 4; trial++)
        tell_curve(trial, (const double[]){0.2 * (double)trial, 0.2 * (double)trial}, 2, EVENT_OBSERVED);
    CU_ASSERT(judge(&rule, 9, 2, 0.31).stop && !judge(&rule, 9, 2, 0.33).stop);
    CU_ASSERT(strcmp(judge(&rule, 9, 2, 0.31).reason, "below_percentile") == 0);
    CU_ASSERT(strcmp(judge(&rule, 9, 2, 0.33).reason, "above_percentile") == 0);
    arena_fini(&arena);
}

static void test_patience(void)
{
    const struct stop_rule rule = {.kind = STOP_RULE_PATIENCE, .epochs = 20, .patience = 3};
    begin();
    tell_curve(9, (const double[]){0.1, 0.3, 0.2}, 3, EVENT_MEASURED);
    CU_ASSERT(strcmp(judge(&rule, 9, 4, 0.3).reason, "improving") == 0 && judge(&rule, 9, 4, 0.3).next_step == 5);
    struct verdict verdict = judge(&rule, 9, 5, 0.3); /* the same is not better; nothing is completed */
    CU_ASSERT(!verdict.stop && strcmp(verdict.reason, "above_best") == 0 && verdict.next_step == 6);
    tell_curve(1, (const double[]){0.3}, 1, EVENT_OBSERVED);
    CU_ASSERT(!judge(&rule, 9, 5, 0.2).stop); /* as good as the best completed one */
    tell_curve(2, (const double[]){0.4}, 1, EVENT_OBSERVED);
    CU_ASSERT(judge(&rule, 9, 5, 0.2).stop && strcmp(judge(&rule, 9, 5, 0.2).reason, "no_improvement") == 0);
    verdict = judge(&rule, 9, 5, 0.31);
    CU_ASSERT(!verdict.stop && strcmp(verdict.reason, "improving") == 0 && verdict.next_step == 8);
    CU_ASSERT(!judge(&rule, 8, 5, 0.2).stop); /* its first measurement */
    arena_fini(&arena);
}

/* Rungs 1 and 3 of 9 epochs: of 5.5 parts of the trials 3 are compared from the first on, 1.5 from the second on, 1 never. */
static void test_hyperband(void)
{
    const struct stop_rule rule = {.kind = STOP_RULE_HYPERBAND, .epochs = 9, .min_epochs = 1, .reduction = 3};
    size_t                 counts[3] = {0};
    begin();
    for (uint64_t trial = 1; trial <= 5500; trial++) {
        struct verdict verdict = judge(&rule, trial, 1, 0.5);
        bool           is_first = strcmp(verdict.reason, "in_top") == 0;
        CU_ASSERT(!verdict.stop && verdict.next_step == (is_first || verdict.next_step > 0 ? 3 : 0));
        counts[is_first ? 0 : verdict.next_step == 3 ? 1 : 2]++;
    }
    CHECK_NEAR((double)counts[0], 3000, 5);
    CHECK_NEAR((double)counts[1], 1500, 5);
    CHECK_NEAR((double)counts[2], 1000, 5);
    for (uint64_t trial = 1; trial <= 100; trial++) { /* only the first bracket's were ever seen at the second rung */
        if (strcmp(judge(&rule, trial, 1, 0.5).reason, "in_top") == 0)
            tell_curve(trial, (const double[]){0.5, 0.6, 0.7}, 3, EVENT_OBSERVED);
    }
    for (uint64_t trial = 101; trial <= 200; trial++) {
        struct verdict first = judge(&rule, trial, 1, 0.5), second = judge(&rule, trial, 3, 0.1);
        CU_ASSERT(second.stop == (strcmp(first.reason, "in_top") == 0));
    }
    arena_fini(&arena);
}

/* As it is reported: with the verdict's note.  Whether the trial was stopped. */
static bool report(const struct stop_rule *rule, uint64_t trial, const double *values, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const struct measurement measurement = {.trial = trial, .step = i + 1, .value = values[i]};
        static struct verdict    verdict;
        CU_ASSERT_FATAL(stop_rule_judge(rule, &curves, &measurement, &verdict, &arena, NULL) == STATUS_OK);
        struct event event = {.kind = EVENT_MEASURED,
                              .trial = trial,
                              .step = i + 1,
                              .value = values[i],
                              .note = verdict.note,
                              .note_bytes = verdict.note_bytes};
        CU_ASSERT_FATAL(curves_tell(&curves, &event, NULL) == STATUS_OK);
        if (verdict.stop)
            tell(EVENT_STOPPED, trial, 0, values[i]);
        if (verdict.stop)
            return true;
    }
    tell(EVENT_OBSERVED, trial, 0, values[len - 1]);
    return false;
}

/* Proposes a trial, whole if one is due. */
static bool propose(const struct stop_rule *rule, uint64_t trial)
{
    struct event event = {.kind = EVENT_SUGGESTED, .trial = trial};
    bool         is_due = stop_rule_is_due(rule, &curves);
    event.note = is_due ? CURVE_NOTE_WHOLE : NULL;
    event.note_bytes = is_due ? sizeof CURVE_NOTE_WHOLE : 0;
    CU_ASSERT_FATAL(curves_tell(&curves, &event, NULL) == STATUS_OK);
    return is_due;
}

/* Whether it was stopped; a whole one is not judged. */
static bool run(const struct stop_rule *rule, uint64_t trial, const double *values)
{
    bool is_whole = propose(rule, trial), stopped = report(rule, trial, values, 9);
    CU_ASSERT(curves_is_whole(&curves, trial) == is_whole && !(is_whole && stopped));
    return stopped;
}

/* Nine epochs each, and one of those that are stopped.  Of none, or worse, judged ones 0.8 are whole: 9 of 10, 9 of 11, and 9 of 12
 * are not enough.  Four better ones that were judged leave 0.3, where 18 of 57 are enough, and three 0.35, where they
 * are not. */
static void test_guard(void)
{
    static const double    level[9] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, worse[9] = {0.4};
    static const double    better[9] = {0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9};
    const struct stop_rule rule = {.kind = STOP_RULE_ASHA, .epochs = 9, .min_epochs = 1, .reduction = 9, .guard = true};
    begin();
    CU_ASSERT(propose(&rule, 1) && !propose(&rule, 2)); /* the first will take nine */
    CU_ASSERT(curves_find(&curves, 1) == NULL && !curves_is_whole(&curves, 2));
    tell(EVENT_HANDED_OVER, 1, 0, 0); /* begun anew, it stays whole */
    CU_ASSERT(curves_is_whole(&curves, 1) && strcmp(judge(&rule, 1, 1, 0.1).reason, "guarded") == 0);
    arena_fini(&arena);
    begin();
    CU_ASSERT(!run(&rule, 1, level) && run(&rule, 2, worse) && run(&rule, 3, worse));
    CU_ASSERT(!run(&rule, 4, worse) && curves_is_whole(&curves, 4));
    for (uint64_t trial = 5; trial <= 8; trial++)
        tell_curve(trial, better, 9, EVENT_OBSERVED);
    CU_ASSERT(!stop_rule_is_due(&rule, &curves));
    tell(EVENT_ABANDONED, 8, 0, 0);
    CU_ASSERT(stop_rule_is_due(&rule, &curves));
    arena_fini(&arena);
}

static void test_memory(void)
{
    const struct stop_rule   rule = {.kind = STOP_RULE_MEDIAN, .epochs = 4, .min_trials = 1};
    const struct measurement measurement = {.trial = 9, .step = 1, .value = 0.5};
    static struct verdict    verdict;
    struct arena             none;
    begin();
    tell(EVENT_MEASURED, 1, 1, 0.1);
    arena_init(&none, 1);
    CU_ASSERT(stop_rule_judge(&rule, &curves, &measurement, &verdict, &none, NULL) == STATUS_NO_MEMORY);
    arena_fini(&none);
    arena_fini(&arena);
}

/* 0: none. */
static uint64_t resume(const struct stop_rule *rule)
{
    const struct curve *curve;
    CU_ASSERT_FATAL(stop_rule_resume(rule, &curves, &curve, &arena, NULL) == STATUS_OK);
    return curve == NULL ? 0 : curve->trial;
}

/* Trials first .. last end at a step with values that begin with this one and fall by so much. */
static void tell_ends(uint64_t first, uint64_t last, size_t step, double value, double fall, enum event_kind end)
{
    for (uint64_t trial = first; trial <= last; trial++, value -= fall) {
        tell(EVENT_MEASURED, trial, step, value);
        tell(end, trial, 0, value);
    }
}

static void test_resume(void)
{
    const struct stop_rule rule = {.kind = STOP_RULE_ASHA, .epochs = 27, .min_epochs = 1, .reduction = 3};
    const struct stop_rule median = {.kind = STOP_RULE_MEDIAN, .epochs = 27, .min_trials = 1};
    begin();
    CU_ASSERT(resume(&rule) == 0);
    tell_ends(1, 1, 1, 0.9, 0.0, EVENT_OBSERVED);
    tell_ends(2, 5, 1, 0.8, 0.1, EVENT_STOPPED);
    CU_ASSERT(resume(&rule) == 0); /* one of five goes on, and did */
    tell(EVENT_MEASURED, 6, 1, 0.1);
    CU_ASSERT(resume(&rule) == 2 && resume(&median) == 0);
    tell(EVENT_SUGGESTED, 2, 0, 0);
    CU_ASSERT(resume(&rule) == 0 && curves_find(&curves, 2)->len == 1); /* two of six; it keeps its curve */
    CU_ASSERT(judge(&rule, 2, 2, 0.1).next_step == 3 && !judge(&rule, 2, 3, 0.1).stop);
    tell_ends(7, 9, 1, 0.2, 0.0, EVENT_STOPPED);
    CU_ASSERT(resume(&rule) == 3);
    tell(EVENT_FAILED, 3, 0, 0); /* that it failed makes no room */
    CU_ASSERT(resume(&rule) == 0);
    arena_fini(&arena);
}

/* The higher rung is first, though its trial is worse; a trial stands at its rung with the value it reached that with. */
static void test_resume_rungs(void)
{
    const struct stop_rule rule = {.kind = STOP_RULE_ASHA, .epochs = 27, .min_epochs = 1, .reduction = 3};
    begin();
    tell_ends(1, 3, 1, 0.9, 0.1, EVENT_STOPPED);
    CU_ASSERT(resume(&rule) == 1);
    tell_ends(4, 6, 3, 0.2, 0.1, EVENT_STOPPED);
    CU_ASSERT(resume(&rule) == 4);
    tell(EVENT_MEASURED, 5, 5, 0.99);
    CU_ASSERT(resume(&rule) == 4);
    tell_ends(7, 7, 9, 0.05, 0.0, EVENT_STOPPED); /* the last rung: the next one is the end */
    CU_ASSERT(resume(&rule) == 7);
    tell(EVENT_OBSERVED, 7, 0, 0.9);
    CU_ASSERT(resume(&rule) == 4);
    arena_fini(&arena);
}

/* A trial paused at a rung does not go on for where it stood at a lower one, nor keeps others from it. */
static void test_resume_highest(void)
{
    const struct stop_rule rule = {.kind = STOP_RULE_ASHA, .epochs = 27, .min_epochs = 1, .reduction = 3};
    begin();
    tell_curve(1, (const double[]){0.9, 0.9, 0.1}, 3, EVENT_STOPPED);
    tell_curve(2, (const double[]){0.8, 0.8, 0.5}, 3, EVENT_OBSERVED);
    tell_ends(3, 6, 1, 0.4, 0.1, EVENT_STOPPED);
    CU_ASSERT(resume(&rule) == 0);
    tell_ends(7, 9, 1, 0.05, 0.0, EVENT_STOPPED);
    CU_ASSERT(resume(&rule) == 3);
    arena_fini(&arena);
}

/* A hundred equal values: a third of them goes on, not all. */
static void test_resume_ties(void)
{
    const struct stop_rule rule = {.kind = STOP_RULE_ASHA, .epochs = 3, .min_epochs = 1, .reduction = 3};
    uint64_t               resumed = 0;
    begin();
    tell_ends(1, 100, 1, 0.5, 0.0, EVENT_STOPPED);
    for (uint64_t trial = resume(&rule); trial != 0 && resumed < 100; trial = resume(&rule)) {
        CU_ASSERT(trial == ++resumed);
        tell(EVENT_SUGGESTED, trial, 0, 0);
        if (trial % 2 == 0)
            tell(EVENT_OBSERVED, trial, 0, 0.1);
    }
    CU_ASSERT(resumed == 33);
    arena_fini(&arena);
}

/* Each bracket by itself: so many resumed as its own trials make room for, none below its first rung. */
static void test_resume_hyperband(void)
{
    const struct stop_rule rule = {.kind = STOP_RULE_HYPERBAND, .epochs = 9, .min_epochs = 1, .reduction = 3};
    size_t                 low = 0, high = 0, resumed[2] = {0};
    begin();
    for (uint64_t trial = 1; trial <= 60; trial++) {
        size_t next = strcmp(judge(&rule, trial, 1, 0.5).reason, "between_rungs") == 0 ? 3 : 1;
        bool   is_stopped = next == 1 || strcmp(judge(&rule, trial, 3, 0.5).reason, "between_rungs") != 0;
        tell(EVENT_MEASURED, trial, next, 1.0 / (double)trial);
        tell(is_stopped ? EVENT_STOPPED : EVENT_OBSERVED, trial, 0, 0.5);
        low += next == 1;
        high += next == 3 && is_stopped;
    }
    for (uint64_t trial = resume(&rule); trial != 0; trial = resume(&rule)) {
        resumed[curves_find(&curves, trial)->steps[0] == 3.0]++;
        tell(EVENT_SUGGESTED, trial, 0, 0);
    }
    CU_ASSERT(low > 2 && high > 2 && low + high < 60);
    CU_ASSERT(resumed[0] == low / 3 && resumed[1] == high / 3);
    arena_fini(&arena);
}

/* ---- several metrics ---- */

enum { SEVERAL = 3 };
static const enum metric_kind several[SEVERAL] = {METRIC_CONSTRAINT, METRIC_OBJECTIVE, METRIC_OBJECTIVE};

/* The front is {0, 1, 4}, of which 1 dominates two, 4 one; 2 is behind one, 3 behind three; 6 misses less than 5. */
static void test_rank(void)
{
    static const double   values[][SEVERAL] = {{1, 9, 1}, {NAN, 5, 5}, {0, 4, 4},  {2, 3, 3},
                                               {1, 3, 7}, {-2, 9, 9},  {-1, 0, 0}, {1, 9, 1}};
    static const size_t   expected[] = {1, 4, 0, 7, 2, 3, 6, 5};
    const struct rank_set set = {values[0], several, 8, SEVERAL};
    size_t                order[8];
    struct arena          none;
    begin();
    CU_ASSERT_FATAL(rank_order(&set, order, &arena, NULL) == STATUS_OK);
    for (size_t i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(order[i], expected[i]);
    CU_ASSERT(rank_dominates(&set, 5, 0) && !rank_dominates(&set, 0, 7) && !rank_dominates(&set, 0, 1));
    arena_init(&none, 1);
    CU_ASSERT(rank_order(&set, order, &none, NULL) == STATUS_NO_MEMORY);
    arena_fini(&none);
    arena_fini(&arena);
}

static void begin_several(void)
{
    arena_init(&arena, 1 << 20);
    CU_ASSERT_FATAL(curves_init_several(&curves, &arena, several, SEVERAL, NULL) == STATUS_OK);
}

/* A trial with these values after a step, and its end. */
static void tell_several(uint64_t trial, size_t step, double slack, double first, double second, enum event_kind end)
{
    const double values[] = {slack, first, second};
    struct event event = {.kind = EVENT_MEASURED, .trial = trial, .step = step, .value = first, .values = values};
    CU_ASSERT_FATAL(curves_tell(&curves, &event, NULL) == STATUS_OK);
    event.kind = end;
    if (end != EVENT_MEASURED)
        CU_ASSERT_FATAL(curves_tell(&curves, &event, NULL) == STATUS_OK);
}

static bool stops(const struct stop_rule *rule, uint64_t trial, size_t step, double slack, double first, double second)
{
    const double             values[] = {slack, first, second};
    static struct verdict    verdict;
    const struct measurement measurement = {.trial = trial, .step = step, .value = first, .values = values};
    CU_ASSERT_FATAL(stop_rule_judge(rule, &curves, &measurement, &verdict, &arena, NULL) == STATUS_OK);
    return verdict.stop;
}

/* A third of six goes on: by fronts, by how many it dominates, unless it misses the constraint; and later, by resuming. */
/* The order by one objective, two and three is that of all pairs compared, with few ties and with many. */
static void test_rank_counts(void)
{
    enum { N = 150, M = 4, CASES = 24 };
    static const enum metric_kind kinds[][M] = {
        {METRIC_OBJECTIVE, METRIC_CONSTRAINT, METRIC_CONSTRAINT, METRIC_CONSTRAINT},
        {METRIC_CONSTRAINT, METRIC_OBJECTIVE, METRIC_CONSTRAINT, METRIC_OBJECTIVE},
        {METRIC_OBJECTIVE, METRIC_OBJECTIVE, METRIC_OBJECTIVE, METRIC_CONSTRAINT},
    };
    struct rng rng = rng_at(2385, 0, RNG_TEST);
    for (size_t c = 0; c < CASES; c++) {
        double                values[N * M];
        size_t                order[N], behind[N] = {0}, ahead[N] = {0};
        const struct rank_set set = {values, kinds[c % 3], c == 0 ? 0 : N, M};
        for (size_t i = 0; i < N * M; i++) {
            bool is_constraint = kinds[c % 3][i % M] == METRIC_CONSTRAINT;
            values[i] = is_constraint ? 0.0 : floor(rng_uniform(&rng) * (c % 2 == 0 ? 9 : 900));
        }
        begin();
        CU_ASSERT_FATAL(rank_order(&set, order, &arena, NULL) == STATUS_OK);
        arena_fini(&arena);
        for (size_t i = 0; i < set.n; i++)
            for (size_t j = 0; j < set.n; j++) {
                behind[i] += rank_dominates(&set, j, i);
                ahead[i] += rank_dominates(&set, i, j);
            }
        for (size_t k = 1; k < set.n; k++) {
            size_t x = order[k - 1], y = order[k];
            CU_ASSERT(behind[x] != behind[y] ? behind[x] < behind[y]
                      : ahead[x] != ahead[y] ? ahead[x] > ahead[y]
                                             : x < y);
        }
    }
}

static void test_several_asha(void)
{
    const struct stop_rule rule = {.kind = STOP_RULE_ASHA, .epochs = 27, .min_epochs = 1, .reduction = 3};
    begin_several();
    CU_ASSERT(!stops(&rule, 1, 1, -1, 0, 0)); /* always one */
    tell_several(1, 1, 1, 5, 5, EVENT_MEASURED);
    tell_several(2, 1, 1, 4, 4, EVENT_STOPPED);
    tell_several(3, 1, 1, 9, 1, EVENT_STOPPED);
    tell_several(4, 1, -1, 9, 9, EVENT_STOPPED);
    CU_ASSERT(resume(&rule) == 0 && stops(&rule, 5, 1, 1, 3, 3));
    tell_several(5, 1, 1, 3, 3, EVENT_STOPPED);
    CU_ASSERT(!stops(&rule, 6, 1, 0, 4.5, 6) && stops(&rule, 6, 1, -0.1, 9, 9) && !stops(&rule, 6, 1, 1, 5, 5));
    tell_several(6, 1, 1, 2, 2, EVENT_STOPPED);
    CU_ASSERT(resume(&rule) == 3);
    tell(EVENT_SUGGESTED, 3, 0, 0);
    CU_ASSERT(resume(&rule) == 0);
    arena_fini(&arena);
}

/* The completed ones had 4 and 2 to spare after a step, and 2 and 0 in the end: who has 1 then will miss the bound. */
static void test_several_constraint(void)
{
    const struct stop_rule rule = {.kind = STOP_RULE_ASHA, .epochs = 27, .min_epochs = 1, .reduction = 3};
    begin_several();
    tell_several(1, 1, 4, 0.2, 0.2, EVENT_MEASURED);
    tell_several(1, 27, 2, 0.2, 0.2, EVENT_OBSERVED);
    tell_several(2, 1, 2, 0.1, 0.1, EVENT_MEASURED);
    tell_several(2, 27, 0, 0.1, 0.1, EVENT_OBSERVED);
    struct curve_line line = curves_line(&curves.of[0], 1.0);
    CHECK_NEAR(curve_line_final(&line, 1.0), -1.0, 1e-12);
    CU_ASSERT(stops(&rule, 3, 1, 1, 9, 9) && !stops(&rule, 3, 1, 2.5, 9, 9));
    arena_fini(&arena);
}

/* Half of the completed ones ahead: as far as they had come after the same step, not in the end. */
static void test_several_median(void)
{
    const struct stop_rule rule = {.kind = STOP_RULE_MEDIAN, .epochs = 9, .min_trials = 3};
    begin_several();
    for (uint64_t trial = 1; trial <= 4; trial++) {
        tell_several(trial, 2, 1, (double)trial, (double)trial, EVENT_MEASURED);
        tell_several(trial, 9, 1, 10, 10, EVENT_OBSERVED);
    }
    CU_ASSERT(stops(&rule, 5, 2, 1, 2.5, 2.5) && !stops(&rule, 5, 2, 1, 3.5, 3.5) && stops(&rule, 5, 2, -1, 9, 9));
    CU_ASSERT(!stops(&rule, 5, 1, 1, 0, 0)); /* nobody was measured then */
    arena_fini(&arena);
}

/* Two of six trials are whole, 18 of 55 epochs: enough for 0.3 where neither is on the front, not for 0.47 where both are. */
static void test_several_guard(void)
{
    const struct stop_rule rule = {.kind = STOP_RULE_ASHA, .epochs = 9, .min_epochs = 1, .reduction = 3, .guard = true};
    for (int is_best = 0; is_best <= 1; is_best++) {
        begin_several();
        for (uint64_t trial = 1; trial <= 6; trial++) {
            const struct event event = {.kind = EVENT_SUGGESTED,
                                        .trial = trial,
                                        .note = trial <= 2 ? CURVE_NOTE_WHOLE : NULL,
                                        .note_bytes = trial <= 2 ? sizeof CURVE_NOTE_WHOLE : 0};
            double             better = trial <= 2 && !is_best ? 1.0 : (double)(10 * trial);
            CU_ASSERT_FATAL(curves_tell(&curves, &event, NULL) == STATUS_OK);
            tell_several(trial, 9, 1, better, trial <= 2 && !is_best ? 1.0 : 100.0 - better, EVENT_OBSERVED);
        }
        CU_ASSERT_EQUAL(stop_rule_is_due(&rule, &curves), is_best);
        arena_fini(&arena);
    }
}

CU_TestInfo suite_stop_rule[] = {
    {"curves", test_curves},
    {"memory of curves", test_curves_memory},
    {"none", test_none},
    {"median", test_median},
    {"asha", test_asha},
    {"memory", test_memory},
    {"forecast", test_forecast},
    {"percentile", test_percentile},
    {"patience", test_patience},
    {"hyperband", test_hyperband},
    {"guard", test_guard},
    {"resume", test_resume},
    {"rungs", test_resume_rungs},
    {"ties", test_resume_ties},
    {"highest rung", test_resume_highest},
    {"brackets", test_resume_hyperband},
    {"order by several metrics", test_rank},
    {"order by several metrics, all pairs", test_rank_counts},
    {"several metrics: asha", test_several_asha},
    {"several metrics: a constraint", test_several_constraint},
    {"several metrics: median", test_several_median},
    {"several metrics: the guard", test_several_guard},
    CU_TEST_INFO_NULL,
};
