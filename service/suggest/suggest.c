/* suggest: what a worker does next.
 * Order: its own running trials (a retry is safe), those whose leases ran out and those that are queued, then those that
 * were stopped and that the study's rule goes on with, then the policy, which is asked when there is none of these; what
 * does not have the values that the request fixes is passed over.  One transaction writes all of it.  When
 * the policy is asked, the session's lock is held from the look at the log to the commit, so the trial number that keys
 * a proposal's randomness is the one it gets.  A policy that only draws is asked within the transaction. */
#include "service/app/app_transact.h"
#include "service/app/study_cache.h"
#include "service/base/workers.h"
#include "service/suggest/federation_host.h"
#include "service/store/rows.h"
#include "service/session/session.h"
#include "service/app/steady.h"
#include "service/suggest/suggest_ask.h"
#include "service/suggest/visits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A place may be free sooner than any lease ends. */
enum { ROOM_SECONDS = 5, OVERTAKEN_MAX = 4 };
static const char *const end_reasons[] = {[PLAN_NOT_WORTH] = "not_worth_it",
                                          [PLAN_FIXED_USED] = "search_space_exhausted",
                                          [PLAN_ALL_USED] = "search_space_exhausted",
                                          [PLAN_SPENT] = "budget_exhausted"};
enum { GROUP_MAX = 64 };
_Static_assert((int)GROUP_MAX <= (int)DB_TOGETHER_MAX, "a group is one commit");

enum status trial_may_be_given(const struct study *study, struct error *err)
{
    if (study->state == STUDY_ACTIVE)
        return STATUS_OK;
    enum status status = study_refuse(study, err);
    if (study->state != STUDY_COMPLETED && err != NULL)
        err->retry_after_seconds = TASK_ASK_AGAIN_SECONDS;
    return status;
}

/* Values of parameters are of the space that they were read with; a request that brings none may be done with any. */
static enum status check_space(const struct plan *plan, struct error *err)
{
    const struct study *study = &plan->task.study;
    bool                is_other = plan->fixed != NULL && plan->fixed_len != study->spec.space.params_len;
    if (!is_other && (!plan->knows_space || plan->space_revision == study->space_revision))
        return spec_check_context(&study->spec, plan->fixed, "/fixed", err);
    return error_set(err, STATUS_CONFLICT, "space_grew", is_other ? "/fixed" : "/space_revision",
                     "the study's space is that of revision %lld", (long long)study->space_revision);
}

/* ---- writing ---- */

static enum status add_trial(struct db_conn *conn, struct plan *plan, size_t i, struct error *err)
{
    struct trial *trial = &plan->fresh[i];
    bool          is_given = plan->part == NULL;
    trial->created_ms = plan->task.now_ms;
    trial->started_ms = is_given ? plan->task.now_ms : 0;
    trial->lease_ms = is_given ? plan->steady_ms + plan->task.study.rules.lease_ms : 0;
    trial->lease = is_given;
    const struct new_trial new = {.trial = trial,
                                  .kind = is_given ? "trial.suggested" : "trial.queued",
                                  .fixed = plan_fixed(plan, i),
                                  .note = plan->notes[i],
                                  .note_bytes = plan->note_bytes[i],
                                  .asked = plan->asked + i * plan->asked_len,
                                  .asked_len = plan->asked_len};
    enum status status = visits_check(conn, &plan->task, trial->point, "", err);
    if (status == STATUS_INVALID)
        return task_impossible(&plan->task, trial, err);
    TRY(status);
    TRY(task_add_trial(conn, &plan->task, &new, err));
    return task_say(conn, &plan->task, trial, is_given ? plan->said : plan->part->said, err);
}

/* A handed-out trial may come back: it fails, is given up, or its lease ends. */
static enum status all_handed_out(struct db_conn *conn, const struct plan *plan, struct error *err)
{
    struct next_lease lease;
    TRY(task_next_lease(conn, &plan->task, &lease, err));
    (void)error_set(err, STATUS_CONFLICT, "all_handed_out", "",
                    "every trial is handed out: %lld running, the lease of trial %lld expires first",
                    (long long)plan->task.study.trials[TRIAL_RUNNING], (long long)lease.trial);
    if (err != NULL) {
        err->retry_after_seconds = lease.seconds;
        err->lease_ends_ms = lease.ends_ms + steady_shift_ms(plan->task.app);
    }
    return STATUS_CONFLICT;
}

/* As many trials run as may; one of them may end at any moment. */
static enum status no_room(struct db_conn *conn, const struct plan *plan, struct error *err)
{
    struct next_lease lease;
    TRY(task_next_lease(conn, &plan->task, &lease, err));
    (void)error_set(err, STATUS_CONFLICT, "parallelism_reached", "", "as many trials run as may at once: %lld",
                    (long long)plan->task.study.rules.parallelism);
    if (err != NULL)
        err->retry_after_seconds = lease.seconds < ROOM_SECONDS ? lease.seconds : ROOM_SECONDS;
    return STATUS_CONFLICT;
}

/* Running trials are waited for, since they may change the rule's finding, or end the study. */
static enum status nothing_by_rule(struct db_conn *conn, struct plan *plan, struct error *err)
{
    bool    is_final;
    int64_t held;
    TRY(task_count_held(conn, &plan->task, &held, err));
    plan->rule = task_over(&plan->task, &is_final);
    if (held > 0 && !is_final)
        return all_handed_out(conn, plan, err);
    plan->outcome = held == 0 ? PLAN_OVER : PLAN_OPEN;
    (void)error_set(err, held == 0 ? STATUS_BUSY : STATUS_CONFLICT, "study_ends", "",
                    "%s: nothing more is handed out, and the study is completed when its running trials end",
                    plan->rule);
    if (err != NULL)
        snprintf(err->reason, sizeof err->reason, "%s", plan->rule);
    if (err != NULL)
        err->next = study_next_stop;
    return err == NULL ? STATUS_CONFLICT : err->status;
}

/* Results come in while the policy thinks: they may spend the budget, or take what was queued. */
static enum status nothing_left(struct db_conn *conn, struct plan *plan, struct error *err)
{
    bool is_spent = task_allowance(&plan->task) == 0;
    if (plan->rule != NULL)
        return nothing_by_rule(conn, plan, err);
    if (task_room(&plan->task) == 0 && (!is_spent || plan->task.study.trials[TRIAL_QUEUED] > 0))
        return no_room(conn, plan, err);
    if (is_spent)
        plan->end = PLAN_SPENT;
    if (plan->end == PLAN_GOES_ON || (plan->end == PLAN_NOT_WORTH && plan->task.study.revision != plan->seen))
        return error_set(err, STATUS_BUSY, "busy", "", "other workers took what there was: ask again");
    if (plan->unfit > 0)
        return plan_fixed_conflict(err, plan->unfit, "is next and");
    bool others_are_free = plan->end == PLAN_FIXED_USED || !space_has_context(&plan->task.study.spec.space);
    if (plan->fixed != NULL && others_are_free && plan->end != PLAN_SPENT && plan->end != PLAN_NOT_WORTH)
        return error_set(err, STATUS_CONFLICT, "fixed_conflict", "/fixed",
                         "every point with these values has been used");
    if (plan->task.study.trials[TRIAL_RUNNING] > 0)
        return all_handed_out(conn, plan, err);
    plan->outcome = PLAN_OVER;
    return error_set(err, STATUS_BUSY, "busy", "", "the study is about to be completed: ask again");
}

static bool may_add(const struct plan *plan)
{
    return plan->rule == NULL && task_allowance(&plan->task) > 0 && task_room(&plan->task) > 0;
}

/* Whether nothing can be had, as far as a look can tell; with fixed values it does not know which queued trials fit. */
static bool has_none(const struct plan *plan)
{
    bool is_queue_shut =
        plan->fixed == NULL && task_room(&plan->task) == 0 && plan->waiting == plan->task.study.trials[TRIAL_QUEUED];
    return plan->out->len == 0 && !may_add(plan) && (plan->rule != NULL || plan->waiting == 0 || is_queue_shut);
}

/* A reader's look: whether a trial is there to claim or to be made.  Workers that ask in vain cost no transaction. */
static enum status look(struct db_conn *conn, void *arg, struct error *err)
{
    struct plan *plan = arg;
    bool         is_final;
    plan->out->len = 0;
    plan->task.now_ms = plan->task.app->now_ms();
    plan->steady_ms = steady_ms(plan->task.app);
    if (plan->fixed == NULL)
        plan->task.caller->space_of[0] = '\0';
    TRY(task_open(conn, &plan->task, err));
    TRY(check_space(plan, err));
    plan->out->study = plan->task.study;
    plan->out->revision = plan->task.study.revision;
    plan->out->steady_ms = plan->steady_ms;
    TRY(trial_may_be_given(&plan->task.study, err));
    if ((size_t)plan->count > trial_points_max(&plan->task.study.spec.space))
        return error_set(err, STATUS_INVALID, "out_of_range", "/count",
                         "at most %zu points of this size go into a reply",
                         trial_points_max(&plan->task.study.spec.space));
    plan->rule = task_over(&plan->task, &is_final);
    if (plan->rule == NULL)
        TRY(plan_count_waiting(conn, plan, err));
    TRY(plan_take_own(conn, plan, err));
    return has_none(plan) ? nothing_left(conn, plan, err) : STATUS_OK;
}

/* The number of trials to ask the policy for, when so many wait to be claimed. */
static int64_t wanted(const struct plan *plan, int64_t waiting)
{
    int64_t places = plan_missing(plan), room = task_room(&plan->task), most = task_allowance(&plan->task);
    int64_t count = (places < room ? places : room) - waiting;
    return plan->rule != NULL ? 0 : count < most ? count : most;
}

/* Proposes within the transaction, by a policy that needs next to no time for it. */
static enum status propose_within(struct db_conn *conn, struct plan *plan, struct error *err)
{
    int64_t count = wanted(plan, 0);
    if (count <= 0)
        return STATUS_OK;
    if (rules_ask_worth(&plan->task.study.rules)) // which takes some
        return error_set(err, STATUS_BUSY, "busy", "", "the study has got another rule: ask again");
    if (!*plan->is_group_told)
        TRY(session_catch_up_within(conn, plan->task.app, &plan->task.study, plan->live, &plan->is_telling, err));
    *plan->is_group_told = true;
    if (plan->live->space_revision != plan->task.study.space_revision) // the group is in two batches
        return error_set(err, STATUS_BUSY, "busy", "", "the space has grown meanwhile: ask again");
    return plan_propose(plan, count, err);
}

static enum status write(struct db_conn *conn, void *arg, struct error *err)
{
    struct plan *plan = arg;
    bool         is_final;
    plan->out->len = 0;
    plan->expired = 0;
    plan->added = 0;
    plan->outcome = PLAN_OPEN;
    plan->looked_at = 0;
    plan->task.now_ms = plan->task.app->now_ms();
    plan->steady_ms = steady_ms(plan->task.app); // leases begin when trials are given, not when they were asked for
    if (plan->is_group_told != NULL && plan->fixed == NULL && !plan->knows_space)
        plan->task.caller->space_of[0] = '\0'; // nothing was made for the space that was looked at
    TRY(task_open(conn, &plan->task, err));
    TRY(trial_may_be_given(&plan->task.study, err));
    int64_t before = plan->task.study.revision;
    bool    may_move =
        plan->task.study.spec.space.kind == SPACE_GRAPH; // the agent may stand elsewhere than the plan took it to
    if (plan->fresh_len > 0 && may_move && before != plan->live->revision)
        return error_set(err, STATUS_BUSY, "busy", "", "results came in while the plan was made: ask again");
    plan->rule = task_over(&plan->task, &is_final);
    TRY(plan_take_own(conn, plan, err));
    if (plan->rule == NULL)
        TRY(plan_take_waiting(conn, plan, err));
    if (plan->is_group_told != NULL)
        TRY(propose_within(conn, plan, err));
    if (plan->resumed_len > 0 && plan->out->len == 0 && before != plan->seen)
        plan->outcome = PLAN_OVERTAKEN;
    if (plan->outcome == PLAN_OVERTAKEN ||
        (plan->fresh_len > 0 && plan->fresh[0].number != plan->task.study.trials_total + 1))
        return error_set(err, STATUS_BUSY, "busy", "", "another request was faster");
    if (plan->resumed_len > 0 && plan->out->len == 0 && may_add(plan))
        TRY(plan_take_stopped(conn, plan, err));
    for (size_t i = 0; i < plan->fresh_len && plan_missing(plan) > 0 && may_add(plan); i++) {
        TRY(add_trial(conn, plan, i, err));
        plan->out->trials[plan->out->len++] = plan->fresh[i];
        plan->added++;
    }
    if (plan->out->len == 0)
        return nothing_left(conn, plan, err);
    plan->out->study = plan->task.study;
    plan->out->revision = plan->task.study.revision;
    plan->out->steady_ms = plan->steady_ms;
    if (plan->watch != NULL)
        TRY(plan->watch->end(conn, plan->watch->arg, plan->out, err));
    return plan->task.study.revision == before ? STATUS_OK : task_save(conn, &plan->task, err);
}

/* No trial is left to give and none is open: the study is over, unless something has happened to it since. */
static enum status complete(struct db_conn *conn, void *arg, struct error *err)
{
    struct plan        *plan = arg;
    const struct study *study = &plan->task.study;
    TRY(task_open(conn, &plan->task, err));
    int64_t before = study->revision;
    TRY(task_complete_if_spent(conn, &plan->task, err));
    bool is_spent = plan->end == PLAN_SPENT       ? task_allowance(&plan->task) == 0
                    : plan->end == PLAN_NOT_WORTH ? before == plan->seen
                                                  : plan->end != PLAN_GOES_ON;
    if (study->state == STUDY_ACTIVE && is_spent && study->trials[TRIAL_QUEUED] + study->trials[TRIAL_RUNNING] == 0)
        TRY(task_set_state(conn, &plan->task, STUDY_COMPLETED, end_reasons[plan->end], "study.completed", err));
    return study->revision == before ? STATUS_OK : task_save(conn, &plan->task, err);
}

static void count_given(const struct plan *plan)
{
    atomic_fetch_add(&plan->task.app->counters.leases_expired, plan->expired);
    atomic_fetch_add(&plan->task.app->counters.suggestions, (uint64_t)plan->added);
}

static enum status give(struct plan *plan, struct error *err)
{
    if (plan->watch != NULL)
        workers_end_job(); // a client may ask again as soon as the row of its operation has ended
    TRY(app_transact(plan->task.app, plan->task.caller, write, plan, err));
    count_given(plan);
    return STATUS_OK;
}

/* Whether nobody has had the session's lock since the last look. */
static bool is_seen(const struct plan *plan)
{
    return plan->looked_at > 0 && session_is_as_of(plan->task.app, plan->live, plan->looked_at);
}

/* Tells the session the log, after another look if it needs one. */
static enum status catch_up(struct plan *plan, db_fn look_again, struct error *err)
{
    struct task              *task = &plan->task;
    const struct session_look anew = {.fn = look_again, .arg = plan};
    return session_catch_up_with(task->app, task->caller, &task->study, plan->live, is_seen(plan) ? NULL : &anew, err);
}

/* Under the session's lock. */
static enum status suggest_locked(struct plan *plan, struct error *err)
{
    struct app *app = plan->task.app;
    TRY(catch_up(plan, look, err));
    int64_t count = wanted(plan, plan->waiting);
    if (count > 0 && plan->live->spec.federation != NULL)
        TRY(federation_host_sync(app, plan->task.caller, &plan->task.study, plan->live, err));
    plan->seen = plan->task.study.revision;
    if (count > 0)
        TRY(plan_ask_rule(plan, count, err));
    if (plan->resumed_len > 0)
        return give(plan, err);
    if (count > 0 && rules_ask_worth(&plan->task.study.rules))
        TRY(plan_ask_gain(plan, err));
    if (count > 0 && plan->end != PLAN_NOT_WORTH)
        TRY(plan_propose(plan, count, err));
    return give(plan, err);
}

/* Whether the log has everything that the session was told in planning. */
static bool is_logged(const struct plan *plan, enum status status)
{
    return status == STATUS_OK && !plan->task.caller->idempotency.replayed &&
           (plan->resumed_len > 0 ? plan->outcome == PLAN_RESUMED : plan->task.study.trials_total == plan->live->told);
}

/* Proposes under the session's lock.  A rule that chose trials to go on with chooses again when the log has gone on since. */
static enum status propose_alone(struct plan *plan, struct error *err)
{
    bool             plans = plan->task.study.spec.policy->plans_ahead, is_behind = plan->watch != NULL;
    enum session_use use = !plans ? SESSION_ALONE : is_behind ? SESSION_QUEUE : SESSION_PLAN;
    enum status      status = STATUS_BUSY;
    plan->is_group_told = NULL; // the group is over
    plan->outcome = PLAN_OVERTAKEN;
    for (int tries = 0; plan->outcome == PLAN_OVERTAKEN && tries < OVERTAKEN_MAX; tries++) {
        plan->fresh_len = plan->resumed_len = 0;
        plan->end = PLAN_GOES_ON; // a look may have set it
        plan->outcome = PLAN_OPEN;
        TRY(session_lock(plan->task.app, plan->task.caller, plan->task.id, use, &plan->live, err));
        status = suggest_locked(plan, err);
        if (plan->fresh_len + plan->resumed_len > 0 && !is_logged(plan, status)) // the session knows more than the log
            session_forget(plan->live);
        session_unlock(plan->task.app, plan->live);
    }
    return status;
}

/* ---- together ---- */

/* Whether the look found all that the request asked for. */
static bool is_done(const struct plan *plan)
{
    return plan->task.caller->idempotency.key == NULL && plan->watch == NULL && plan_missing(plan) == 0;
}

/* Whether the log has all that the session was told for these plans. */
static bool are_logged(struct plan *const *plans, size_t len)
{
    const struct plan *last = NULL;
    for (size_t i = 0; i < len; i++) {
        if ((plans[i]->fresh_len > 0 || plans[i]->is_telling) && plans[i]->status != STATUS_OK)
            return false;
        last = plans[i]->fresh_len > 0 ? plans[i] : last;
    }
    return last == NULL || is_logged(last, last->status);
}

/* Tells the session a long log before the transaction, not while others wait; likewise news where the last requests got
 * nothing: what a failed transaction has told is forgotten.  If that fails, each request finds out by itself. */
static bool is_ready(struct plan *const *plans, size_t len, struct live *live)
{
    struct error       why;
    const struct task *task = &plans[0]->task;
    bool               is_near = live->streams.session != NULL && !live->is_slack;
    plans[0]->live = live;
    if (is_near ||
        (is_seen(plans[0]) ? session_catch_up_with(task->app, task->caller, &task->study, live, NULL, &why)
                           : session_catch_up(task->app, task->caller, &task->study, live, &why)) == STATUS_OK)
        return true;
    for (size_t i = 0; i < len; i++)
        plans[i]->status = error_set(plans[i]->err, STATUS_BUSY, "busy", "", "the study could not be read: ask again");
    return false;
}

/* Makes the proposals of a group under the session's lock, in one commit. */
static void suggest_together(struct plan *const *plans, size_t len, struct live *live)
{
    struct app_work works[GROUP_MAX];
    bool            is_told = false, is_slack = false;
    if (!is_ready(plans, len, live))
        return;
    for (size_t i = 0; i < len; i++) {
        plans[i]->live = live;
        plans[i]->is_group_told = &is_told;
        works[i] =
            (struct app_work){.caller = plans[i]->task.caller, .fn = write, .arg = plans[i], .err = plans[i]->err};
    }
    app_transact_all(plans[0]->task.app, works, len);
    for (size_t i = 0; i < len; i++) {
        plans[i]->status = works[i].status;
        is_slack |= plans[i]->added == 0;
        if (plans[i]->status == STATUS_OK)
            count_given(plans[i]);
    }
    live->is_slack = is_slack; // some request got no new trial: the next ones look before they join
    if (!are_logged(plans, len))
        session_forget(live);
}

/* A proposal by drawing takes no longer than its commit, so requests that come meanwhile share one. */
static enum status propose_in_group(struct plan *plan, struct error *err)
{
    struct live *live;
    struct plan *plans[GROUP_MAX] = {plan}; // who leads is the first member
    size_t       len = 0;
    plan->err = err;
    TRY(session_join(plan->task.app, plan->task.id, &plan->member, &live, err));
    if (live != NULL) {
        struct session_member *members = session_members(plan->task.app, live, GROUP_MAX);
        for (struct session_member *member = members; member != NULL; member = member->next)
            plans[len++] = (struct plan *)member;
        suggest_together(plans, len, live);
        session_leave(plan->task.app, live, members);
    }
    return plan->status;
}

static bool is_short(const struct spec *spec)
{
    return spec->policy->only_draws && spec->federation == NULL && !spec->stopping.resumes;
}

/* A plan ahead within a request has a time limit of its own; an asynchronous one takes as long as it needs. */
static void set_deadlines(struct plan *plan)
{
    const struct app *app = plan->task.app;
    bool              is_behind = plan->watch != NULL;
    int64_t           now_ms = app->monotonic_ms(), own_ms = plan->deadline_ms;
    if (own_ms == 0 && plan->task.study.spec.policy->plans_ahead && !is_behind)
        own_ms = SUGGEST_PLAN_MS;
    if (own_ms > 0)
        plan->until_ms = now_ms + own_ms;
    if (plan->task.study.spec.policy->plans_ahead)
        plan->task.caller->until_ms = is_behind ? 0 : app_until(app, plan->until_ms);
    else if (is_behind)
        plan->task.caller->until_ms = app_until(app, now_ms);
}

/* Forgets the work of an earlier call, but not what is asked for. */
static void begin_work(struct plan *plan, struct app *app, struct caller *caller, const char *study)
{
    size_t asked_bytes = offsetof(struct plan, task);
    memset((char *)plan + asked_bytes, 0, sizeof *plan - asked_bytes);
    plan->task = task_of(app, caller, study);
    plan->gain.expected = NAN;
}

static enum status begin(struct plan *plan, bool looks, struct error *err)
{
    struct suggest_reply *out = plan->out;
    *out = (struct suggest_reply){.trials = ARENA_NEW(plan->task.caller->arena, struct trial, (size_t)plan->count)};
    if (out->trials == NULL)
        return error_no_memory(err);
    TRY(caller_sees(plan->task.caller, "study", plan->task.id, err));
    TRY(app_replay(plan->task.app, plan->task.caller, err));
    if (plan->task.caller->idempotency.replayed)
        return STATUS_OK;
    if (!looks)
        return STATUS_OK;
    plan->looked_at = session_moment(plan->task.app);
    return db_read(plan->task.app->db, look, plan, err);
}

/* Whether the look of a group will do, as far as is known without; most often nothing is queued, and no lease over. */
static bool joins_at_once(struct plan *plan)
{
    struct caller    *caller = plan->task.caller;
    struct arena_mark before = arena_mark(caller->arena);
    bool              is_plain = plan->watch == NULL && plan->fixed == NULL && !plan->knows_space && plan->count == 1 &&
                    session_is_there(plan->task.app, plan->task.id);
    if (!is_plain || !task_recall(&plan->task))
        return false;
    caller->space_of[0] = '\0'; // nothing of the request was read with it
    bool is_joining = is_short(&plan->task.study.spec);
    if (!is_joining)
        arena_release(caller->arena, before); // the look has it again, and it counts
    return is_joining;
}

/* Asks the policy, since no trial was there to hand out, or it is gone: together with others who only draw, and alone where
 * that came too late for what they saw. */
static enum status obtain(struct plan *plan, bool is_joining, struct error *err)
{
    const struct study *study = &plan->task.study; // of which a plan that joins at once knows the specification alone
    bool                is_shared = is_short(&study->spec) && plan->watch == NULL && !rules_ask_worth(&study->rules);
    set_deadlines(plan);
    if (!is_joining) {
        int64_t     count = wanted(plan, plan->waiting);
        enum status status = count > 0 ? plan_announce(plan, count, err) : give(plan, err);
        if (count > 0 ? status != STATUS_OK : status != STATUS_BUSY || plan->outcome == PLAN_OVER)
            return status;
    }
    if (is_joining || is_shared) {
        enum status status = propose_in_group(plan, err);
        if (status != STATUS_BUSY || strcmp(err->code, "busy") != 0 || plan->outcome == PLAN_OVER)
            return status;
    }
    return propose_alone(plan, err);
}

enum status trial_may_suggest(struct app *app, struct caller *caller, const char *id, struct plan *plan,
                              struct error *err)
{
    struct suggest_reply reply;
    begin_work(plan, app, caller, id);
    plan->out = &reply;
    enum status status = begin(plan, true, err);
    return plan->outcome == PLAN_OVER ? STATUS_OK : status; // who tries finds it completed
}

enum status trial_suggest(struct app *app, struct caller *caller, const char *id, struct plan *plan,
                          struct suggest_reply *out, struct error *err)
{
    begin_work(plan, app, caller, id);
    plan->out = out;
    bool        is_joining = joins_at_once(plan); // then it looks for the first time with its group
    enum status status = begin(plan, !is_joining, err);
    if (status == STATUS_OK && (caller->idempotency.replayed || is_done(plan)))
        return STATUS_OK;
    if (status == STATUS_OK)
        status = obtain(plan, is_joining, err);
    if (status != STATUS_OK && plan->outcome == PLAN_OVER) {
        TRY(db_transact(app->db, complete, plan, err));
        if (plan->task.study.state == STUDY_COMPLETED)
            status = study_refuse(&plan->task.study, err);
    }
    study_cache_forget(app, id);
    return status;
}

/* ---- again ---- */

struct given {
    struct task           task;
    const int64_t        *numbers;
    struct suggest_reply *out;
};

static enum status read_given(struct db_conn *conn, void *arg, struct error *err)
{
    struct given         *given = arg;
    struct suggest_reply *out = given->out;
    TRY(task_open(conn, &given->task, err));
    out->study = given->task.study;
    out->revision = out->study.revision;
    out->steady_ms = steady_ms(given->task.app);
    out->trials = ARENA_NEW(given->task.caller->arena, struct trial, out->len + 1);
    if (out->trials == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < out->len; i++)
        TRY(rows_trial_get(conn, &given->task, given->numbers[i], &out->trials[i], err));
    return STATUS_OK;
}

enum status trial_given(struct app *app, struct caller *caller, const char *study, const int64_t *numbers,
                        struct suggest_reply *out, struct error *err)
{
    struct given given = {.task = task_of(app, caller, study), .numbers = numbers, .out = out};
    return db_read(app->db, read_given, &given, err);
}

/* ---- queueing parts of points ---- */

static enum status look_at_queue(struct db_conn *conn, void *arg, struct error *err)
{
    struct plan *plan = arg;
    plan->task.now_ms = plan->task.app->now_ms();
    TRY(task_open(conn, &plan->task, err));
    bool is_open = plan->task.study.state == STUDY_ACTIVE || plan->task.study.state == STUDY_PAUSED;
    return is_open ? STATUS_OK : study_refuse(&plan->task.study, err);
}

static enum status write_queue(struct db_conn *conn, void *arg, struct error *err)
{
    struct plan *plan = arg;
    TRY(look_at_queue(conn, arg, err));
    if (plan->fresh[0].number != plan->task.study.trials_total + 1)
        return error_set(err, STATUS_BUSY, "busy", "", "another request was faster");
    for (size_t i = 0; i < plan->fresh_len; i++)
        TRY(add_trial(conn, plan, i, err));
    *plan->queued =
        (struct trial_page){.trials = plan->fresh, .len = plan->fresh_len}; // kept for a repeat with the rest
    return task_save(conn, &plan->task, err);
}

static enum status queue_locked(struct plan *plan, struct error *err)
{
    struct app *app = plan->task.app;
    TRY(catch_up(plan, look_at_queue, err));
    if (plan->live->spec.federation != NULL)
        TRY(federation_host_sync(app, plan->task.caller, &plan->task.study, plan->live, err));
    TRY(plan_propose_part(plan, err));
    return app_transact(app, plan->task.caller, write_queue, plan, err);
}

enum status trial_queue_part(struct app *app, struct caller *caller, const char *id, const struct queue_part *part,
                             struct trial_page *out, struct error *err)
{
    struct plan plan = {
        .task = task_of(app, caller, id), .count = (int64_t)part->len, .worker = "", .part = part, .queued = out};
    TRY(caller_sees(caller, "study", id, err));
    TRY(app_replay(app, caller, err));
    if (caller->idempotency.replayed)
        return STATUS_OK;
    plan.looked_at = session_moment(app);
    TRY(db_read(app->db, look_at_queue, &plan, err));
    TRY(plan_announce(&plan, (int64_t)part->len, err));
    TRY(session_lock(app, caller, id, SESSION_ALONE, &plan.live, err));
    enum status status = queue_locked(&plan, err);
    if (plan.fresh_len > 0 && (status != STATUS_OK || caller->idempotency.replayed))
        session_forget(plan.live);
    session_unlock(app, plan.live);
    study_cache_forget(app, id);
    return status;
}
