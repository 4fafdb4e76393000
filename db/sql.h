/* Every statement of the program: its parameters (a letter each, db.h), its row, its text.
 * A row is a list of columns: the text of a SELECT, the struct that db_next fills and the filling are made of the same
 * list; where the text is written by hand, it is compared with the list when the statement is prepared.
 * `none` stands for no rows.  The SQL is the common subset of SQLite and PostgreSQL, with $ for the parameter after the
 * last one.  A test prepares every statement and compares it with the lists.
 * A join with study || '' goes by its key: PostgreSQL may take t.study = e.study for t.study = $1, and read all rows of the
 * study for each line, while it knows nothing of the table; coalesce(c, '') is a column whose own index is not to be taken.
 * Of WITHOUT ROWID tables SQLite reads a row before it looks at further columns of an index. */
#ifndef GNOMON_DB_SQL_H
#define GNOMON_DB_SQL_H

#include "db/members.h"

/* F(column, letter) is the first column of a row, N each one after it.  Letters: i int64_t, d double, s text, b blob;
 * upper case: may be NULL, which is 0, NaN, NULL, and no bytes. */
// clang-format off
#define ROW_STUDY_TOLD(F, N)                                                                                           \
    F(id, s) STUDY_SAID(N) N(state, s) N(reason, S) N(rules, s) STUDY_TALLY(N) N(revision, i) N(version, i)                          \
    N(total, i) N(queued, i) N(running, i) N(completed, i) N(failed, i) N(infeasible, i) N(abandoned, i)               \
    N(stopped, i) N(best_trial, i) N(best_value, D) STUDY_KEPT(N) N(imported, i)          \
    N(space_revision, i) N(retracted, i)
/* The study with the columns that an export leaves out. */
#define ROW_STUDY(F, N) ROW_STUDY_TOLD(F, N) N(project, s) STUDY_OWNED(N)
#define ROW_SPEC(F, N) F(spec, s)
#define ROW_TRIAL(F, N)                                                                                                \
    F(number, i) N(state, s) N(point, B) N(row, i) N(worker, s) N(lease_ms, i) TRIAL_TOLD(N)                               \
    N(algorithm, S) N(fallback, S) N(seen, i) N(observations, i) N(model_mean, D) N(model_stddev, D)                   \
    N(model_stddev_observed, D) N(milliseconds, d)                                                                     \
    N(created_ms, i) N(finished_ms, i) N(diagnostics, S) N(outcome, B) N(lease, i) N(holder, s) N(taken_over, i)       \
    TRIAL_ANNOTATIONS(N) N(started_ms, i) N(ended, i) N(corrected_ms, i) N(imported, i)
/* The trial with the columns that nobody is shown. */
#define ROW_TRIAL_WHOLE(F, N) ROW_TRIAL(F, N) N(note, B) N(feasible, i) N(asked, B)
#define ROW_TRIAL_POINT(F, N) F(number, i) N(point, B)
#define ROW_TRIAL_PLACE(F, N) F(number, i) N(point, B) N(asked, B)
#define ROW_SPARKLINE(F, N) F(points, s)
#define ROW_HIDDEN(F, N) F(id, s) N(total, i)
#define ROW_TRIAL_OUTCOME(F, N) F(number, i) N(point, B) N(outcome, B) N(feasible, i)
#define ROW_TRIAL_LEASE(F, N) F(number, i) N(lease_ms, i)
#define ROW_TRIAL_NUMBER(F, N) F(number, i)
#define ROW_TRIAL_REASON(F, N) F(number, i) N(reason, S)
#define ROW_TRIAL_NOTE(F, N) F(number, i) N(note, b)
#define ROW_HISTORY(F, N) F(seq, i) N(trial, i) N(at_ms, i) N(value, d) N(feasible, i)
#define ROW_OPERATION(F, N)                                                                                            \
    F(id, s) N(study, s) N(state, s) N(trials, B) N(revision, i) N(code, S) N(detail, S) N(created_ms, i)              \
    N(finished_ms, i) N(retry_after_seconds, i) N(worker, s) N(count, i) N(is_same, i)
#define ROW_OPERATION_LEFT(F, N)                                                                                       \
    F(id, s) N(study, s) N(actor, s) N(count, i) N(worker, s) N(fixed, B) N(deadline_ms, i) N(said, S)    \
    N(project, s) N(attempt, i)
#define ROW_EVENT(F, N) F(seq, i) N(at_ms, i) EVENT_MEMBERS(N)
#define ROW_LINE(F, N)  ROW_EVENT(F, N) N(project, s) N(salt, B) N(erased, B) N(bound, B)
#define ROW_WORDS(F, N) F(seq, i) N(detail, s) N(salt, B)
#define ROW_GAP(F, N)   F(last, i) N(digests, b)
#define ROW_GONE(F, N)  F(last, i) N(times, i)
#define ROW_SEQ(F, N)   F(seq, i)
#define ROW_CHAIN(F, N) F(first_seq, i) N(first_head, b) N(seq, i) N(head, b) N(at_ms, i) N(total, b) N(newest, i)
#define ROW_REPLAY(F, N)                                                                                               \
    F(seq, i) N(revision, i) N(kind, s) N(trial, i) N(point, B) N(row, i) N(value, D) N(stddev, D) N(note, B)          \
    N(outcome, B) N(step, I) N(measured, D) N(measured_outcome, B) N(measured_note, B) N(detail, S) N(state, S)      \
    N(ended, I)
/* Events that the program made: a suggestion, or with a step its verdict on a measurement, or that a trial goes on. */
#define ROW_MADE(F, N)                                                                                                 \
    F(revision, i) N(trial, i) N(point, B) N(row, i) N(algorithm, S) N(fallback, S) N(seen, i) N(model_mean, D)        \
    N(model_stddev, D) N(note, B) N(asked, B) N(step, I) N(measured, D) N(measured_outcome, B) N(stop, I) N(reason, S)  \
    N(next_step, I) N(measured_note, B) N(measured_seen, I) N(diagnostics, S) N(kind, s)
#define ROW_NOISE(F, N) F(has_stddev, i) N(has_repeats, i)
#define ROW_BEST(F, N) F(number, i) N(value, D)
#define ROW_VERDICT(F, N) F(value, d) N(outcome, B) N(stop, i) N(reason, s) N(next_step, i)
#define ROW_STEP(F, N) F(step, i)
#define ROW_MEASUREMENT(F, N) F(step, i) N(value, d) N(outcome, B) N(at_ms, i)
#define ROW_MEASURED(F, N)                                                                                             \
    F(revision, i) N(trial, i) N(lease, i) N(step, i) N(value, d) N(at_ms, i) N(stop, i) N(reason, s) N(next_step, i)  \
    N(note, B) N(seen, i) N(outcome, B)
#define ROW_BASELINE(F, N) F(state, s) N(ended, i) N(outcome, B)
#define ROW_CORRECTION(F, N)                                                                                           \
    F(revision, i) N(trial, i) N(ended, i) N(state, s) TRIAL_RESULT(N) N(outcome, B) N(at_ms, i) N(actor, s) N(why, S)
#define ROW_TRANSFER_SOURCE(F, N)                                                                                      \
    F(position, i) N(source, S) N(name, s) N(revision, i) N(skipped, i) N(matrix, s) N(points, b) N(data, b)
#define ROW_TOKEN(F, N) F(id, s) N(hash, b) N(scope, s) TOKEN_GIVEN(N) TOKEN_BOUND(N) TOKEN_KEPT(N) N(project, s) N(previous_hash, B)
#define ROW_PROJECT(F, N) F(id, s) PROJECT_GIVEN(N) PROJECT_KEPT(N) N(version, i) PROJECT_LIMITS(N) PROJECT_USED(N)
#define ROW_USED(F, N) F(used_studies, i) N(used_trials, i) N(used_extra, i)
/* The project of a resource. */
#define ROW_HOME(F, N) F(project, s)
#define ROW_ID(F, N) F(id, s)
#define ROW_STEADY(F, N) F(boot, s) N(offset_ms, i) N(noted_ms, i) N(noted_wall_ms, i)
#define ROW_WITNESS(F, N) F(store, s) N(counter, i) N(lines, i)
/* Rows that gnomon check reads: findings; and data with its digest, in consecutive pieces. */
#define ROW_FINDING(F, N) F(finding, s)
#define ROW_DIGESTED(F, N) F(name, s) N(sha256, s) N(data, b)
#define ROW_KEPT_REPLY(F, N) F(fingerprint, s) N(status, i) N(reply, s) N(location, S) N(etag, S)
#define ROW_CANDIDATES(F, N) F(manifest, s) N(sha256, s) N(bytes, i) N(received_bytes, i) N(complete, i) N(attempt, i)
#define ROW_PIECE(F, N) F(start, i) N(data, b)
#define ROW_REFUSAL(F, N) F(at_ms, i)
#define ROW_LEDGER_LINE(F, N) F(seq, i) N(head, s) N(sha256, s)
#define ROW_GAME_TOLD(F, N) F(id, s) GAME_GIVEN(N) N(state, s) N(reason, S) N(budget, i) GAME_KEPT(N)
#define ROW_GAME(F, N) ROW_GAME_TOLD(F, N) N(spec, s)
#define ROW_PLAY(F, N) F(round, i) N(agent, i) N(point, B) N(row, i) N(payoff, D) N(at_ms, i)
#define ROW_FEDERATION(F, N)                                                                                           \
    F(id, s) FEDERATION_GIVEN(N) N(state, s) N(spec, s) FEDERATION_KEPT(N) N(version, i) N(round, i)                   \
    FEDERATION_OPEN(N) N(epsilon, d)
#define ROW_FEATURES(F, N) F(features, b) N(features_sha256, s)
#define ROW_AGENT(F, N) F(seat, i) N(name, s) N(token, s) N(study, S) N(created_ms, i)
#define ROW_MESSAGE(F, N) F(seat, i) N(data, b)
#define ROW_BLOB(F, N) F(data, b)
/* A broadcast of a round to a study that is an agent of a federation. */
#define ROW_RECEIVED(F, N) F(round, i) N(npy, b)
#define ROW_ROUND(F, N)                                                                                                \
    F(round, i) N(messages, i) N(mechanism, s) N(sha256, s) N(epsilon, D) N(total, D) N(at_ms, i)
#define ROW_PLOT(F, N)                                                                                                 \
    F(number, i) N(state, s) N(point, B) N(holder, s) N(value, D) N(feasible, i) N(outcome, B) N(model_mean, D)        \
    N(model_stddev, D) N(model_stddev_observed, D) N(started_ms, i) N(finished_ms, i) N(lease, i)
#define ROW_PLOT_POINT(F, N) F(trial, i) N(lease, i) N(step, i) N(value, d) N(outcome, B)
#define ROW_CURVE_POINT(F, N) F(trial, i) N(state, s) N(step, i) N(value, d) N(outcome, B)
#define ROW_COUNT(F, N) F(count, i)
#define ROW_TALLY(F, N) F(thing, s) N(state, s) N(count, i)
#define ROW_GROWN(F, N) F(revision, i) N(detail, s)
#define ROW_DETAIL(F, N) F(detail, S)
#define ROW_IMPORT(F, N) F(study, S) N(game, S) N(source, s) N(bytes, i)

/* name, columns */
#define ROW_LIST(X)                                                                                                    \
    X(study, ROW_STUDY) X(study_told, ROW_STUDY_TOLD) X(game_told, ROW_GAME_TOLD) X(received, ROW_RECEIVED) X(spec, ROW_SPEC) X(trial, ROW_TRIAL) X(trial_point, ROW_TRIAL_POINT)                          \
    X(trial_place, ROW_TRIAL_PLACE) X(trial_outcome, ROW_TRIAL_OUTCOME) X(hidden, ROW_HIDDEN) X(sparkline, ROW_SPARKLINE) X(trial_lease, ROW_TRIAL_LEASE)                                                                                    \
    X(trial_number, ROW_TRIAL_NUMBER) X(trial_reason, ROW_TRIAL_REASON) X(trial_note, ROW_TRIAL_NOTE) X(history, ROW_HISTORY)                            \
    X(operation, ROW_OPERATION) X(operation_left, ROW_OPERATION_LEFT) X(event, ROW_EVENT) X(line, ROW_LINE) X(words, ROW_WORDS) X(chain, ROW_CHAIN) X(gap, ROW_GAP) X(gone, ROW_GONE) X(seq, ROW_SEQ) X(replay, ROW_REPLAY) X(made, ROW_MADE) X(noise, ROW_NOISE)        \
    X(verdict, ROW_VERDICT) X(best, ROW_BEST) X(step, ROW_STEP) X(measurement, ROW_MEASUREMENT)                                          \
    X(baseline, ROW_BASELINE) X(trial_whole, ROW_TRIAL_WHOLE) X(measured, ROW_MEASURED) X(correction, ROW_CORRECTION)                                                          \
    X(transfer_source, ROW_TRANSFER_SOURCE) X(token, ROW_TOKEN) X(project, ROW_PROJECT) X(used, ROW_USED) X(home, ROW_HOME)                                                       \
    X(id, ROW_ID) X(steady, ROW_STEADY) X(witness, ROW_WITNESS) X(finding, ROW_FINDING) X(digested, ROW_DIGESTED) X(kept_reply, ROW_KEPT_REPLY) X(candidates, ROW_CANDIDATES)                    \
    X(piece, ROW_PIECE) X(refusal, ROW_REFUSAL) X(ledger_line, ROW_LEDGER_LINE) X(game, ROW_GAME) X(play, ROW_PLAY)            \
    X(federation, ROW_FEDERATION) X(features, ROW_FEATURES) X(agent, ROW_AGENT) X(message, ROW_MESSAGE)                \
    X(blob, ROW_BLOB) X(round, ROW_ROUND) X(count, ROW_COUNT) X(tally, ROW_TALLY)                            \
    X(detail, ROW_DETAIL) X(grown, ROW_GROWN) X(import, ROW_IMPORT) X(plot, ROW_PLOT) X(curve_point, ROW_CURVE_POINT) X(plot_point, ROW_PLOT_POINT)

#define SQL_FIRST(column, letter) #column
#define SQL_NEXT(column, ...)     ", " #column
#define SQL_VALUE(column, ...)    ", $"
#define SQL_FIRST_VALUE(column, ...) "$1"
#define COLUMNS(row)              row(SQL_FIRST, SQL_NEXT)
#define SQL_LETTER(column, letter, ...) #letter
#define SQL_SET(column, ...)            ", " #column " = $"
#define SQL_UNSET(column, ...)          ", " #column " = NULL"
/* A page of trials, beginning behind a place.  Parameters: $1 study; what is asked for, '' or 0 being anything: $2 states,
 * $3 worker, $4 external_id, $5 changed since, $8 to $11 labels; the place: $6 number, and $12 what it is ordered by; $7 how
 * many. */
#define SQL_ANY_STATE    "($2 = '' OR replace($2, state, '') <> $2)"
#define SQL_ANY_WORKER   "($3 = '' OR worker = $3)"
#define SQL_ANY_EXTERNAL "($4 = '' OR external_id = $4)"
#define SQL_SINCE                                                                                                      \
    "($5 = 0 OR EXISTS (SELECT 1 FROM trial_change WHERE of_study = $1 AND of_trial = number AND changed_ms >= $5))"
#define SQL_LABELLED(label) "(" label " = '' OR replace(labels, " label ", '') <> labels)"
#define SQL_LABELS          SQL_LABELLED("$8") " AND " SQL_LABELLED("$9") " AND " SQL_LABELLED("$10") " AND " SQL_LABELLED("$11")
#define SQL_TRIALS(state, worker, external, place, order)                                                              \
    "SELECT " COLUMNS(ROW_TRIAL) " FROM trial WHERE study = $1 AND " state " AND " worker " AND " external " AND "     \
    SQL_SINCE " AND " SQL_LABELS " AND " place " AND row_check(trial trial) ORDER BY " order " LIMIT $7"
/* The best first: by value times $2, or, where that is 0, by the distance from the band $3 to $4, in halves: PostgreSQL takes no
 * infinite difference. */
#define SQL_WORTH                                                                                                      \
    "value * $2 DESC, CASE WHEN value < $3 THEN $3 / 2 - value / 2 WHEN value > $4 THEN value / 2 - $4 / 2 ELSE 0 END"
#define SQL_TRIALS_BY(place, order) SQL_TRIALS(SQL_ANY_STATE, SQL_ANY_WORKER, SQL_ANY_EXTERNAL, place, order)
#define SQL_TRIALS_BY_CHANGE(place, order)                                                                             \
    "SELECT " COLUMNS(ROW_TRIAL) " FROM trial_change CROSS JOIN trial WHERE of_study = $1 AND study = of_study AND "   \
    "number = of_trial AND " SQL_ANY_STATE " AND " SQL_ANY_WORKER " AND " SQL_ANY_EXTERNAL " AND changed_ms >= $5 "    \
    "AND " SQL_LABELS " AND " place " AND row_check(trial trial) ORDER BY " order " LIMIT $7"
/* A page of studies: $1 states, $2 name, $3 part of the name, $4 to $7 labels, $8 the one that may be seen, $9 changed
 * since; the place: $10 time, $11 id; $12 how many; $13 the project; $14 owner, $15 part of its name, for whoever may see all. */
#define SQL_STUDIES(place, order)                                                                                      \
    "SELECT " COLUMNS(ROW_STUDY) " FROM study WHERE project = $13 AND state <> 'importing' AND ($1 = '' OR replace($1, state, '') <> $1) AND ($2 = '' OR "        \
    "name = $2) AND ($3 = '' OR replace(lower(name), lower($3), '') <> lower(name)) AND " SQL_LABELLED("$4") " AND "   \
    SQL_LABELLED("$5") " AND " SQL_LABELLED("$6") " AND " SQL_LABELLED("$7") " AND ($8 = '' OR id = $8) AND "          \
    "updated_ms >= $9 AND ($14 || $15 = '' OR ($8 = '' AND ($14 = '' OR owner = $14) AND ($15 = '' OR "                \
    "replace(lower(owner), lower($15), '') <> lower(owner)))) AND " place " AND row_see(study study) ORDER BY " order " LIMIT $12"
#define SQL_OPERATION_COLUMNS                                                                                          \
    "id, study, state, trials, revision, code, detail, created_ms, finished_ms, retry_after_seconds, worker, count"
/* A page of operations: $2 states; the place: $3 time, $4 id; $5 how many. */
#define SQL_OPERATIONS(which)                                                                                          \
    "SELECT " SQL_OPERATION_COLUMNS ", 1 AS is_same FROM operation WHERE " which " AND ($2 = '' OR replace($2, state, '') "  \
    "<> $2) AND (created_ms, id) < ($3, $4) AND row_check(operation operation) ORDER BY created_ms DESC, id DESC LIMIT $5"
/* Where nobody looks at the specification. */
#define SQL_GAME_COLUMNS COLUMNS(ROW_GAME_TOLD) ", '' AS spec"

/* All lines about a study are of its project, so any of them tells it, even when the study is gone. */
#define SQL_IS_OF_PROJECT(study, wanted)                                                                               \
    "(" wanted " = '' OR (SELECT project FROM event WHERE study = " study " LIMIT 1) = " wanted ")"
/* The lines of the log that an operator sees. */
#define SQL_OF_SERVER "study IS NULL AND substr(kind, 1, instr(kind, '.')) IN ('token.', 'project.', 'store.')"
#define SQL_NONE_IN(table, wanted, more) "NOT EXISTS (SELECT 1 FROM " table " WHERE id = " wanted more ")"
/* The last line of a study or game, which has the number of its lines (service/app/event_log.h). */
#define SQL_LEAVES "kind IN ('study.deleted', 'game.deleted')"
/* The id of a line's resource: its study, or the first word of its detail. */
#define SQL_ABOUT "coalesce(e.study, substr(e.detail, 1, instr(e.detail || ' ', ' ') - 1))"
#define SQL_HOME(id)                                                                                                   \
    "SELECT project FROM study WHERE id = " id " UNION ALL SELECT project FROM federation WHERE id = " id              \
    " UNION ALL SELECT project FROM game WHERE id = " id
/* Lines of a kind, or of all kinds that begin with that word and a dot; and not before a time. */
#define EVENT_WANTED(kind, since)                                                                                      \
    " AND (" kind " = '' OR kind = " kind " OR substr(kind, 1, length(" kind ") + 1) = " kind " || '.') AND at_ms >= " \
    since " "
/* In a replay as of the revision $4: what a trial's result was then, and whether what was made of the log up to that
 * revision was not made of a result that was corrected since. */
#define SQL_THEN(column)                                                                                               \
    "CASE WHEN c.revision IS NULL THEN t." column " ELSE c." column " END AS " column
#define SQL_BELIEVED(revision)                                                                                         \
    "NOT EXISTS (SELECT 1 FROM correction b WHERE b.study = e.study AND b.ended <= " revision " AND b.revision > "     \
    revision " AND b.revision <= $4)"

/* name, parameters, row, text */
#define SQL_LIST(X)                                                                                                    \
    X(STUDY_SPEC_ADD, "ss", none, "INSERT INTO study_spec(study, spec) VALUES ($1, $2)")                               \
    X(STUDY_ADD, "sssis" STUDY_OWNED(SQL_LETTER) STUDY_SAID(SQL_LETTER), none,                                                                  \
      "INSERT INTO study(id, state, rules, created_ms, updated_ms, revision, version, total, queued, running, "       \
      "completed, failed, infeasible, abandoned, stopped, best_trial, project" STUDY_OWNED(SQL_NEXT) STUDY_SAID(SQL_NEXT) \
      ") VALUES ($1, $2, $3, $4, $4, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, $5" STUDY_OWNED(SQL_VALUE) STUDY_SAID(SQL_VALUE)                            \
      ")")                                                                                                             \
    X(STUDY_PUT, ROW_STUDY(SQL_LETTER, SQL_LETTER), none,                                                              \
      "INSERT INTO study(" COLUMNS(ROW_STUDY) ") VALUES (" ROW_STUDY(SQL_FIRST_VALUE, SQL_VALUE) ")")                  \
    X(STUDY_GET, "s", study, "SELECT " COLUMNS(ROW_STUDY) " FROM study WHERE id = $1 AND state <> 'importing' AND row_check(study study)")        \
    X(STUDY_SPEC, "s", spec, "SELECT " COLUMNS(ROW_SPEC) " FROM study_spec WHERE study = $1 AND row_check(study_spec study_spec)")                          \
    X(STUDIES_CREATED, "ssssssssiisisss", study, SQL_STUDIES("(created_ms, id) > ($10, $11)", "created_ms, id"))          \
    X(STUDIES_CREATED_DOWN, "ssssssssiisisss", study, SQL_STUDIES("(created_ms, id) < ($10, $11)", "created_ms DESC, id DESC"))\
    X(STUDIES_UPDATED, "ssssssssiisisss", study, SQL_STUDIES("(updated_ms, id) > ($10, $11)", "updated_ms, id"))          \
    X(STUDIES_UPDATED_DOWN, "ssssssssiisisss", study, SQL_STUDIES("(updated_ms, id) < ($10, $11)", "updated_ms DESC, id DESC"))\
    X(STUDY_EDIT, "ssi" STUDY_SAID(SQL_LETTER), none,                                                                  \
      "UPDATE study SET rules = $2, version = version + 1, updated_ms = $3" STUDY_SAID(SQL_SET)                       \
      " WHERE id = $1")                                                                                                \
    X(STUDY_STATE, "sssi", none,                                                                                       \
      "UPDATE study SET state = $2, reason = $3, version = version + 1, updated_ms = $4 WHERE id = $1")                \
    X(STUDY_WEIGHS, "si", none, "UPDATE study SET extra_bytes = extra_bytes + $2 WHERE id = $1")                        \
    X(PROJECT_WEIGHS, "si", none, "UPDATE project SET used_extra = used_extra + $2 WHERE id = $1")                      \
    X(STUDY_COUNT, "siiiiiiiiiiii" STUDY_TALLY(SQL_LETTER), none,                                                                               \
      "UPDATE study SET revision = $2, total = $3, queued = $4, running = $5, completed = $6, failed = $7, "           \
      "infeasible = $8, abandoned = $9, stopped = $10, updated_ms = $11, imported = $12, retracted = $13"                 \
      STUDY_TALLY(SQL_SET)                                                                                             \
      " WHERE id = $1")                                                                                                \
    X(STUDY_SINCE_BEST, "sii", trial_place,                                                                            \
      "SELECT " COLUMNS(ROW_TRIAL_PLACE) " FROM trial WHERE study = $1 AND imported = 0 AND state IN ('completed', 'infeasible', "\
      "'stopped') AND ended > $2 AND ended > coalesce((SELECT ended FROM trial WHERE study = $1 AND number = $3), 0)")  \
    X(STUDY_FAILURES_IN_A_ROW, "si", count,                                                                            \
      "SELECT count(*) AS count FROM trial WHERE study = $1 AND imported = 0 AND state = 'failed' AND ended > "        \
      "$2 AND ended > coalesce((SELECT max(ended) FROM trial WHERE study = $1 AND imported = 0 AND state IN "          \
      "('completed', 'infeasible', 'stopped')), 0)")                                                                   \
    X(TRIAL_REASONS, "si", trial_reason,                                                                               \
      "SELECT " COLUMNS(ROW_TRIAL_REASON) " FROM trial WHERE study = $1 AND state = 'failed' AND row_check(trial trial) ORDER BY number " \
      "DESC LIMIT $2")                                                                                                 \
    X(STUDY_BY_NAME, "ss", id, "SELECT id FROM study WHERE project = $2 AND name = $1 AND state <> 'importing' ORDER BY id LIMIT 2")                              \
    X(STUDY_DUE, "i", id,                                                                                              \
      "SELECT id FROM study WHERE ends_ms > 0 AND ends_ms <= $1 AND state = 'active' AND NOT EXISTS (SELECT 1 FROM "   \
      "trial WHERE trial.study = study.id AND trial.state = 'running' AND trial.lease_ms > $1) ORDER BY ends_ms "      \
      "LIMIT 100")                \
    X(STUDY_GROW, "sii", none,                                                                                         \
      "UPDATE study SET space_revision = $2, version = version + 1, updated_ms = $3 WHERE id = $1")                    \
    X(STUDY_SPEC_SET, "ss", none, "UPDATE study_spec SET spec = $2 WHERE study = $1")                                  \
    X(TRIAL_PLACES, "sii", trial_place,                                                                                \
      "SELECT " COLUMNS(ROW_TRIAL_PLACE) " FROM trial WHERE study = $1 AND number > $2 ORDER BY number LIMIT $3")      \
    X(TRIAL_PLACE_SET, "sibb", none, "UPDATE trial SET point = $3, asked = coalesce($4, asked) "       \
      "WHERE study = $1 AND number = $2")                    \
    X(TRIAL_OUTCOMES, "sii", trial_outcome,                                                                            \
      "SELECT " COLUMNS(ROW_TRIAL_OUTCOME) " FROM trial WHERE study = $1 AND number > $2 AND state = 'completed' "     \
      "ORDER BY number LIMIT $3")                                                                                      \
    X(TRIAL_WIDEN, "sb", none,                                                                                         \
      "UPDATE trial SET outcome = CAST(outcome || $2 AS BLOB) WHERE study = $1 AND outcome IS NOT NULL")               \
    X(CORRECTION_WIDEN, "sb", none,                                                                                    \
      "UPDATE correction SET outcome = CAST(outcome || $2 AS BLOB) WHERE study = $1 AND outcome IS NOT NULL")          \
    X(TRIAL_JUDGE, "sii", none, "UPDATE trial SET feasible = $3 WHERE study = $1 AND number = $2")                     \
    X(STUDY_BEST, "sid", none, "UPDATE study SET best_trial = $2, best_value = $3 WHERE id = $1")                      \
    X(TRIALS_AS_ENDED, "s", best,                                                                                      \
      "SELECT " COLUMNS(ROW_BEST) " FROM trial WHERE study = $1 AND state = 'completed' AND feasible = 1 AND row_check(trial trial) ORDER BY "    \
      "ended, number")                                                                                                 \
    X(SPARKLINE, "s", sparkline, "SELECT " COLUMNS(ROW_SPARKLINE) " FROM sparkline WHERE study = $1 AND row_check(sparkline sparkline)")                  \
    X(SPARKLINE_PUT, "ss", none,                                                                                       \
      "INSERT INTO sparkline(study, points) VALUES ($1, $2) ON CONFLICT(study) DO UPDATE SET points = excluded.points") \
    X(SPARKLINE_DELETE, "s", none, "DELETE FROM sparkline WHERE study = $1")                                           \
    X(SPACE_GROWN, "si", grown,                                                                                        \
      "SELECT " COLUMNS(ROW_GROWN) " FROM event WHERE study = $1 AND kind = 'space.grown' AND detail IS NOT NULL AND row_check(event event) ORDER BY seq DESC LIMIT $2") \
    X(STUDY_APPEAR, "ss", none, "UPDATE study SET state = $2 WHERE id = $1")                                           \
    X(STUDY_HIDDEN, "", hidden, "SELECT " COLUMNS(ROW_HIDDEN) " FROM study WHERE state = 'importing' LIMIT 1")         \
    X(TRIALS_DELETE, "si", none, "DELETE FROM trial WHERE study = $1 AND number > $2")                                 \
    X(MEASUREMENTS_DELETE, "si", none, "DELETE FROM measurement WHERE study = $1 AND trial > $2")                      \
    X(STUDY_DELETE, "s", none, "DELETE FROM study WHERE id = $1")                                                      \
    X(TRIAL_PLOT, "sii", plot,                                                                                         \
      "SELECT " COLUMNS(ROW_PLOT) " FROM trial WHERE study = $1 AND number >= $2 AND number <= $3 AND row_check(trial trial) ORDER BY number")    \
    X(PLOT_POINTS, "sii", plot_point,                                                                                  \
      "SELECT " COLUMNS(ROW_PLOT_POINT) " FROM measurement WHERE study = $1 AND trial >= $2 AND trial <= $3 AND row_check(measurement measurement) ORDER BY " \
      "trial, lease, step")                                                                                            \
    X(CURVE_POINTS, "si", curve_point,                                                                                 \
      "SELECT m.trial, t.state, m.step, m.value, m.outcome FROM measurement m JOIN trial t ON t.study = m.study || '' AND t.number = "  \
      "m.trial AND t.lease = m.lease WHERE m.study = $1 AND m.trial > $2 AND row_check(measurement m) AND row_check(trial t) ORDER BY m.trial, m.lease, m.step")           \
    X(TALLY, "", tally, "SELECT " COLUMNS(ROW_TALLY) " FROM tally")                                                    \
    X(TRIAL_ADD, "sisbisisssiidddbisidbibii" TRIAL_RESULT(SQL_LETTER), none,                                                   \
      "INSERT INTO trial(study, number, state, point, row, worker, lease_ms, external_id, algorithm, fallback, "       \
      "seen, observations, model_mean, model_stddev, milliseconds, note, created_ms, diagnostics, "                    \
      "lease, holder, taken_over, started_ms, imported, model_stddev_observed, asked, finished_ms, outcome, feasible, " \
      "ended" TRIAL_RESULT(SQL_NEXT) ") VALUES ($1, $2, $3, $4, $5, $6, "                                              \
      "$7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, "                                                       \
      "CASE WHEN $7 > 0 THEN 1 ELSE 0 END, $6, 0, "                                                                    \
      "CASE WHEN $7 > 0 THEN $17 ELSE 0 END, $19, $20, $21, $22, $23, $24, $25" TRIAL_RESULT(SQL_VALUE) ")")                    \
    X(TRIAL_SAY, TRIAL_ANNOTATIONS(SQL_LETTER) "si", none,                                                                    \
      "UPDATE trial SET ended = ended" TRIAL_ANNOTATIONS(SQL_SET) " WHERE study = $ AND number = $")                          \
    X(TRIAL_PUT, "s" ROW_TRIAL_WHOLE(SQL_LETTER, SQL_LETTER), none,                                                    \
      "INSERT INTO trial(study, " COLUMNS(ROW_TRIAL_WHOLE) ") VALUES ($1" ROW_TRIAL_WHOLE(SQL_VALUE, SQL_VALUE) ")")   \
    X(TRIAL_GET, "si", trial, "SELECT " COLUMNS(ROW_TRIAL) " FROM trial WHERE study = $1 AND number = $2 AND row_check(trial trial)")             \
    X(TRIAL_BY_EXTERNAL_ID, "ss", trial,                                                                               \
      "SELECT " COLUMNS(ROW_TRIAL) " FROM trial WHERE study = $1 AND external_id = $2 AND row_check(trial trial)")                                \
    X(TRIAL_LIST, "sisi", trial,                                                                                       \
      "SELECT " COLUMNS(ROW_TRIAL) " FROM trial WHERE study = $1 AND number > $2 AND ($3 = '' OR state = $3) "         \
      "AND row_check(trial trial) ORDER BY number LIMIT $4")                                                                                      \
    X(TRIAL_WHOLE, "s", trial_whole,                                                                                   \
      "SELECT " COLUMNS(ROW_TRIAL_WHOLE) " FROM trial WHERE study = $1 AND row_check(trial trial) ORDER BY number")                               \
    X(TRIALS_NUMBER, "ssssiiissss", trial,                                                                                 \
      SQL_TRIALS_BY("number > $6", "number"))                                                                          \
    X(TRIALS_OF_STATE, "ssssiiissss", trial,                                                                               \
      SQL_TRIALS("state = $2", SQL_ANY_WORKER, SQL_ANY_EXTERNAL, "number > $6", "number"))                             \
    X(TRIALS_OF_WORKER, "ssssiiissss", trial,                                                                              \
      SQL_TRIALS(SQL_ANY_STATE, "worker = $3 AND worker <> ''", SQL_ANY_EXTERNAL, "number > $6", "number"))                             \
    X(TRIALS_VALUE, "ssssiiissssd", trial,                                                                                 \
      SQL_TRIALS_BY("coalesce(state, '') = 'completed' AND value IS NOT NULL AND (value, number) > ($12, $6)", "value, number"))                              \
    X(TRIALS_FINISHED, "ssssiiissssd", trial,                                                                              \
      SQL_TRIALS_BY("finished_ms > 0 AND (finished_ms, number) > ($12, $6)", "finished_ms, number"))                    \
    X(TRIALS_UPDATED, "ssssiiissssd", trial,                                                                               \
      SQL_TRIALS_BY_CHANGE("(changed_ms, of_trial) > ($12, $6)", "changed_ms, of_trial"))                               \
    X(TRIALS_NUMBER_DOWN, "ssssiiissss", trial,                                                                            \
      SQL_TRIALS_BY("number < $6", "number DESC"))                                                                     \
    X(TRIALS_OF_STATE_DOWN, "ssssiiissss", trial,                                                                          \
      SQL_TRIALS("state = $2", SQL_ANY_WORKER, SQL_ANY_EXTERNAL, "number < $6", "number DESC"))                        \
    X(TRIALS_OF_WORKER_DOWN, "ssssiiissss", trial,                                                                         \
      SQL_TRIALS(SQL_ANY_STATE, "worker = $3 AND worker <> ''", SQL_ANY_EXTERNAL, "number < $6", "number DESC"))                        \
    X(TRIALS_VALUE_DOWN, "ssssiiissssd", trial,                                                                            \
      SQL_TRIALS_BY("coalesce(state, '') = 'completed' AND value IS NOT NULL AND (value, number) < ($12, $6)", "value DESC, number DESC"))                    \
    X(TRIALS_FINISHED_DOWN, "ssssiiissssd", trial,                                                                         \
      SQL_TRIALS_BY("finished_ms > 0 AND (finished_ms, number) < ($12, $6)", "finished_ms DESC, number DESC"))          \
    X(TRIALS_UPDATED_DOWN, "ssssiiissssd", trial,                                                                          \
      SQL_TRIALS_BY_CHANGE("(changed_ms, of_trial) < ($12, $6)", "changed_ms DESC, of_trial DESC"))                     \
    X(TRIALS_OF_EXTERNAL_ID, "ssssiiissss", trial,                                                                         \
      SQL_TRIALS(SQL_ANY_STATE, SQL_ANY_WORKER, "external_id = $4", "number > $6", "number"))                          \
    X(TRIAL_CHANGE, "sii", none,                                                                                       \
      "INSERT INTO trial_change(of_study, of_trial, changed_ms) VALUES ($1, $2, $3) ON CONFLICT (of_study, of_trial) " \
      "DO UPDATE SET changed_ms = excluded.changed_ms WHERE trial_change.changed_ms <> excluded.changed_ms")                                                                \
    X(TRIAL_CHANGED, "si", count,                                                                                      \
      "SELECT changed_ms AS count FROM trial_change WHERE of_study = $1 AND of_trial = $2")                            \
    X(TRIAL_QUEUED, "s", trial,                                                                                        \
      "SELECT " COLUMNS(ROW_TRIAL) " FROM trial WHERE study = $1 AND state = 'queued' ORDER BY number")                \
    X(TRIAL_OF_WORKER, "ssi", trial,                                                                                   \
      "SELECT " COLUMNS(ROW_TRIAL) " FROM trial WHERE study = $1 AND number IN (SELECT number FROM trial INDEXED BY "  \
      "trial_by_lease WHERE study = $1 AND state = 'running' AND coalesce(worker, '') = $2 AND lease_ms > $3) ORDER BY number") \
    X(TRIAL_WAITING, "si", trial_point,                                                                                \
      "SELECT " COLUMNS(ROW_TRIAL_POINT) " FROM trial WHERE study = $1 AND (state = 'queued' OR (state = "             \
      "'running' AND lease_ms <= $2))")                                                                                \
    X(TRIAL_NEXT_LEASE, "s", trial_lease,                                                                              \
      "SELECT " COLUMNS(ROW_TRIAL_LEASE) " FROM trial WHERE study = $1 AND state = 'running' ORDER BY lease_ms, "      \
      "number LIMIT 1")                                                                                                \
    X(TRIAL_EXPIRED, "sis", trial,                                                                                     \
      "SELECT " COLUMNS(ROW_TRIAL) " FROM trial WHERE study = $1 AND state = 'running' AND lease_ms <= $2 ORDER "      \
      "BY CASE WHEN worker = $3 THEN 0 ELSE 1 END, number")                                                            \
    X(TRIAL_COUNT_EXPIRED, "si", count,                                                                                \
      "SELECT count(*) AS count FROM trial WHERE study = $1 AND state = 'running' AND lease_ms <= $2")                 \
    X(TRIAL_START, "sisiiii", none,                                                                                    \
      "UPDATE trial SET state = 'running', worker = $3, lease_ms = $4, lease = $5, holder = $3, taken_over = $6, "     \
      "started_ms = $7 WHERE study = $1 AND number = $2")                                                              \
    X(TRIAL_RESUME, "sisiii", none,                                                                                    \
      "UPDATE trial SET state = 'running', worker = $3, lease_ms = $4, lease = lease + 1, holder = $3, taken_over = $5, " \
      "started_ms = $6, finished_ms = 0, imported = 0, outcome = NULL"                                                 \
      TRIAL_RESULT(SQL_UNSET) " WHERE study = $1 AND number = $2")                                                     \
    X(TRIAL_RETRY, "si", none,                                                                                         \
      "UPDATE trial SET taken_over = CASE WHEN state = 'abandoned' AND lease > 0 THEN 1 ELSE taken_over END, "         \
      "state = 'queued', worker = '', holder = '', lease_ms = 0, started_ms = 0, finished_ms = 0, "                    \
      "duration_seconds = NULL, outcome = NULL"                                                                        \
      TRIAL_RESULT(SQL_UNSET) " WHERE study = $1 AND number = $2")                                                     \
    X(TRIAL_LEASE, "sii", none, "UPDATE trial SET lease_ms = $3 WHERE study = $1 AND number = $2")                     \
    X(TRIAL_FINISH, "sissibii" TRIAL_RESULT(SQL_LETTER), none,                                                         \
      "UPDATE trial SET state = $3, external_id = coalesce(external_id, $4), finished_ms = $5, lease_ms = 0, "         \
      "outcome = $6, feasible = $7, ended = $8" TRIAL_RESULT(SQL_SET) " WHERE study = $1 AND number = $2")             \
    X(TRIAL_HISTORY, "sii", history,                                                                                   \
      "SELECT e.seq, e.trial, e.at_ms, t.value, t.feasible FROM event e JOIN trial t ON t.study = e.study || '' AND "        \
      "t.number = e.trial WHERE e.study = $1 AND e.seq > $2 AND e.kind IN ('trial.observed', 'trial.failed', "         \
      "'trial.infeasible', 'trial.abandoned', 'trial.stopped') AND e.revision = t.ended AND t.state = "  \
      "'completed' AND row_check(event e) AND row_check(trial t) ORDER BY e.seq LIMIT $3")                                                                                       \
    X(TRIAL_CORRECT, "sisbii" TRIAL_RESULT(SQL_LETTER), none,                                                          \
      "UPDATE trial SET state = $3, outcome = $4, feasible = $5, corrected_ms = $6" TRIAL_RESULT(SQL_SET)              \
      " WHERE study = $1 AND number = $2")                                                                             \
    X(TRIAL_BEST, "sddd", best,                                                                                          \
      "SELECT " COLUMNS(ROW_BEST) " FROM trial WHERE study = $1 AND state = 'completed' AND feasible = 1 ORDER BY "    \
      SQL_WORTH ", finished_ms, number LIMIT 1")                                                                  \
    X(CORRECTION_ADD, "siiiisss" TRIAL_RESULT(SQL_LETTER) "b", none,                                                   \
      "INSERT INTO correction(study, trial, revision, ended, at_ms, state, actor, why" TRIAL_RESULT(SQL_NEXT)          \
      ", outcome) VALUES ($1, $2, $3, $4, $5, $6, $7, $8" TRIAL_RESULT(SQL_VALUE) ", $)")                              \
    X(CORRECTIONS_OF_TRIAL, "si", correction,                                                                          \
      "SELECT " COLUMNS(ROW_CORRECTION) " FROM correction WHERE study = $1 AND trial = $2 AND row_check(correction correction) ORDER BY revision DESC")     \
    X(TRIAL_DIAGNOSED, "sii", detail,                                                                                  \
      "SELECT diagnostics AS detail FROM trial WHERE study = $1 AND number > $2 AND seen >= $3 AND seen >= (SELECT "   \
      "coalesce(max(revision), 0) FROM correction WHERE study = $1) ORDER BY number DESC")                             \
    X(TRIAL_FIRST_VALUES, "si", best,                                                                                  \
      "SELECT number, value FROM trial WHERE study = $1 AND state = 'completed' AND row_check(trial trial) ORDER BY number LIMIT $2")             \
    X(CORRECTION_LAST, "si", count,                                                                                    \
      "SELECT coalesce(max(revision), 0) AS count FROM correction WHERE study = $1 AND revision <= $2")                                   \
    X(BASELINE, "si", baseline,                                                                                        \
      "SELECT " SQL_THEN("state") ", " SQL_THEN("ended") ", " SQL_THEN("outcome") " FROM trial t LEFT JOIN correction c " \
      "ON c.study = t.study AND c.trial = t.number AND c.revision = (SELECT min(x.revision) FROM correction x WHERE "  \
      "x.study = t.study AND x.trial = t.number AND x.revision > $2) WHERE t.study = $1 AND t.number = 1")             \
    X(TRIAL_TOP, "sdddi", trial,                                                                                         \
      "SELECT " COLUMNS(ROW_TRIAL) " FROM trial WHERE study = $1 AND state = 'completed' AND feasible = 1 AND row_check(trial trial) ORDER BY "   \
      SQL_WORTH ", number LIMIT $5")                                                                              \
    X(TRIAL_NOISE, "s", noise,                                                                                         \
      "SELECT EXISTS (SELECT 1 FROM trial WHERE study = $1 AND state = 'completed' AND stddev > 0) AS has_stddev, "    \
      "EXISTS (SELECT 1 FROM trial WHERE study = $1 AND state = 'completed' GROUP BY point, row HAVING "               \
      "min(value) <> max(value)) AS has_repeats")                                                                      \
    X(TRIAL_COMPLETED, "s", trial,                                                                                     \
      "SELECT " COLUMNS(ROW_TRIAL) " FROM trial WHERE study = $1 AND state = 'completed' AND row_check(trial trial) ORDER BY number")             \
    X(TRIAL_FEASIBLE, "s", trial,                                                                                      \
      "SELECT " COLUMNS(ROW_TRIAL) " FROM trial WHERE study = $1 AND state = 'completed' AND feasible = 1 AND row_check(trial trial) ORDER "      \
      "BY number")                                                                                                     \
    X(TRIAL_HAS_ROW, "si", trial_number,                                                                               \
      "SELECT " COLUMNS(ROW_TRIAL_NUMBER) " FROM trial WHERE study = $1 AND row = $2 AND row >= 0 LIMIT 1")            \
    X(TRIAL_NEWEST_VISIT, "s", trial,                                                                                  \
      "SELECT " COLUMNS(ROW_TRIAL) " FROM trial WHERE study = $1 AND number > 0 AND coalesce(state, '') IN "           \
      "('queued', 'running', 'completed') ORDER BY number DESC LIMIT 1")                                               \
    X(OPERATION_ADD, "sssisbiiss", none,                                                                                  \
      "INSERT INTO operation(id, study, state, actor, count, worker, fixed, deadline_ms, revision, created_ms, "       \
      "finished_ms, said, project, attempt) VALUES ($1, $2, 'running', $3, $4, $5, $6, $7, 0, $8, 0, $9, $10, 1)")       \
    X(OPERATION_GET, "s", operation, "SELECT " SQL_OPERATION_COLUMNS ", 1 AS is_same FROM operation WHERE id = $1 AND row_check(operation operation)")    \
    X(OPERATION_OF_WORKER, "ssb", operation,                                                                           \
      "SELECT " SQL_OPERATION_COLUMNS ", fixed IS NOT DISTINCT FROM $3 AS is_same FROM operation WHERE study = $1 AND state = "          \
      "'running' AND worker = $2 ORDER BY is_same DESC, created_ms LIMIT 1")                                           \
    X(OPERATIONS_OF_STUDY, "ssisi", operation, SQL_OPERATIONS("study = $1"))                                    \
    X(OPERATIONS_OF_ACTOR, "ssisi", operation, SQL_OPERATIONS("actor = $1"))                                    \
    X(OPERATIONS_OF_PROJECT, "ssisi", operation, SQL_OPERATIONS("project = $1"))                                         \
    X(OPERATION_LEFT, "", operation_left,                                                                              \
      "SELECT " COLUMNS(ROW_OPERATION_LEFT) " FROM operation WHERE state = 'running' ORDER BY created_ms, id")         \
    X(OPERATION_ATTEMPT, "si", none, "UPDATE operation SET attempt = $2 WHERE id = $1")                                \
    X(OPERATION_END, "ssbissii", none,                                                                                  \
      "UPDATE operation SET state = $2, trials = $3, revision = $4, code = $5, detail = $6, finished_ms = $7, "        \
      "retry_after_seconds = $8 WHERE id = $1 AND state = 'running'")                                                                              \
    X(EVENT_ADD, "iis" EVENT_MEMBERS(SQL_LETTER) "bb", none,                                                                 \
      "INSERT INTO event(seq, at_ms, project" EVENT_MEMBERS(SQL_NEXT) ", salt, bound) VALUES ($1, $2, $3" EVENT_MEMBERS(SQL_VALUE) ", $, $)") \
    X(EVENT_WORDS, "s", words, "SELECT " COLUMNS(ROW_WORDS) " FROM event WHERE study = $1 AND detail IS NOT NULL")     \
    X(EVENT_BLANK, "ib", none, "UPDATE event SET erased = $2, salt = NULL, detail = NULL WHERE seq = $1")              \
    X(CHAIN_GET, "", chain,                                                                                            \
      "SELECT first_seq, first_head, seq, head, at_ms, total, (SELECT coalesce(max(seq), 0) FROM event) AS newest "    \
      "FROM chain WHERE id = 1")                                                                                       \
    X(CHAIN_LINES, "iii", line,                                                                                        \
      "SELECT " COLUMNS(ROW_LINE) " FROM event WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3")                    \
    X(CHAIN_BOUND, "", blob, "SELECT bound AS data FROM event WHERE bound IS NOT NULL ORDER BY seq DESC LIMIT 1")      \
    X(LOG_BOUND_ANEW, "", gone,                                                                                        \
      "SELECT coalesce(max(seq), 0) AS last, count(*) AS times FROM event WHERE kind = 'store.changed'")               \
    X(CHAIN_SET, "ibib", none, "UPDATE chain SET seq = $1, head = $2, at_ms = $3, total = $4 WHERE id = 1")            \
    X(CHAIN_GAP, "i", gap, "SELECT " COLUMNS(ROW_GAP) " FROM log_gap WHERE first = $1")                                \
    X(LOG_OVER, "iii", seq,                                                                                            \
      "SELECT " COLUMNS(ROW_SEQ) " FROM event e WHERE seq > $1 AND seq <= $2 AND at_ms < $3 AND kind <> "              \
      "'store.trimmed' AND " SQL_NONE_IN("study", SQL_ABOUT, "") " AND " SQL_NONE_IN("game", SQL_ABOUT, "") " AND "    \
      SQL_NONE_IN("federation", SQL_ABOUT, "") " AND " SQL_NONE_IN("token", SQL_ABOUT, " AND revoked_ms = 0") " AND "  \
      SQL_NONE_IN("project", SQL_ABOUT, "") " ORDER BY seq")                                                           \
    X(LOG_COUNT, "s", count, "SELECT count(*) AS count FROM event WHERE study = $1")                                   \
    X(LOG_STAYS, "si", none,                                                                                           \
      "UPDATE project SET used_extra = used_extra + $2 * (SELECT CAST(detail AS BIGINT) FROM event WHERE study = $1 "  \
      "AND " SQL_LEAVES " ORDER BY seq DESC LIMIT 1) WHERE id = (SELECT project FROM event WHERE study = $1 "          \
      "AND " SQL_LEAVES " AND detail IS NOT NULL ORDER BY seq DESC LIMIT 1)")                                          \
    X(LOG_GOES, "iii", none,                                                                                           \
      "UPDATE project SET used_extra = used_extra - $3 * (SELECT sum(CAST(detail AS BIGINT)) FROM event WHERE seq >= " \
      "$1 AND seq <= $2 AND " SQL_LEAVES " AND project = project.id) WHERE id IN (SELECT project FROM event "          \
      "WHERE seq >= $1 AND seq <= $2 AND " SQL_LEAVES " AND detail IS NOT NULL)")                                      \
    X(LOG_GAP_ADD, "iib", none, "INSERT INTO log_gap(first, last, digests) VALUES ($1, $2, $3)")                       \
    X(LOG_GONE, "ss", gone,                                                                                            \
      "SELECT " COLUMNS(ROW_GONE) " FROM log_gone WHERE project = $1 AND " SQL_NONE_IN("study", "$2", "") " AND "      \
      SQL_NONE_IN("game", "$2", ""))                                                                                   \
    X(LOG_GONE_ADD, "ii", none,                                                                                        \
      "INSERT INTO log_gone(project, last, times) SELECT * FROM (SELECT project, max(seq), 1 FROM event WHERE seq >= " \
      "$1 AND seq <= $2 GROUP BY project UNION ALL SELECT 'none', max(seq), 1 FROM event WHERE seq >= $1 AND seq <= "  \
      "$2 AND project <> 'none' AND " SQL_OF_SERVER " HAVING count(*) > 0) AS gone WHERE true ON CONFLICT (project) "  \
      "DO UPDATE SET last = CASE WHEN excluded.last > log_gone.last THEN excluded.last ELSE log_gone.last END, times " \
      "= log_gone.times + 1")                                                                                          \
    X(LOG_DROP, "ii", none, "DELETE FROM event WHERE seq >= $1 AND seq <= $2")                                         \
    X(EVENT_OF_DEFAULT, "isii", event,                                                                                 \
      "SELECT " COLUMNS(ROW_EVENT) " FROM event WHERE seq > $1 AND project = 'prj_default'"                \
      EVENT_WANTED("$2", "$3") "AND row_check(event event) ORDER BY seq LIMIT $4")                                                                \
    X(EVENT_OF_PROJECT, "isiis", event,                                                                                \
      "SELECT " COLUMNS(ROW_EVENT) " FROM event WHERE project = $5 AND project <> 'prj_default' AND seq > $1"          \
      EVENT_WANTED("$2", "$3") "AND row_check(event event) ORDER BY seq LIMIT $4")                                                                \
    X(EVENT_OF_SERVER, "isii", event,                                                                                  \
      "SELECT " COLUMNS(ROW_EVENT) " FROM event WHERE seq > $1 AND " SQL_OF_SERVER EVENT_WANTED("$2", "$3")            \
      "AND row_check(event event) ORDER BY seq LIMIT $4")                                                                                         \
    X(EVENT_OF_STUDY, "sisiis", event,                                                                                 \
      "SELECT " COLUMNS(ROW_EVENT) " FROM event WHERE study = $1 AND seq > $2 AND " SQL_IS_OF_PROJECT("$1", "$6")      \
      EVENT_WANTED("$3", "$4") "AND row_check(event event) ORDER BY seq LIMIT $5")                                                                                         \
    X(EVENT_LAST, "", count, "SELECT coalesce(max(seq), 0) AS count FROM event")                                       \
    X(EVENT_LAST_OF_STUDY, "ss", count,                                                                                \
      "SELECT coalesce(max(seq), 0) AS count FROM event WHERE study = $1 AND " SQL_IS_OF_PROJECT("$1", "$2"))            \
    X(EVENT_COUNT, "s", count, "SELECT count(*) AS count FROM event WHERE study = $1")                                 \
    X(EVENT_REPLAY, "siii", replay,                                                                                    \
      "SELECT e.seq, e.revision, e.kind, e.trial, t.point, coalesce(t.row, -1) AS row, " SQL_THEN("value") ", "        \
      SQL_THEN("stddev") ", CASE WHEN " SQL_BELIEVED("t.seen") " THEN t.note END AS note, " SQL_THEN("outcome")        \
      ", m.step, m.value AS measured, m.outcome AS measured_outcome, CASE WHEN " SQL_BELIEVED("m.revision - 1") " THEN m.note END AS measured_note, " \
      "e.detail, " SQL_THEN("state") ", " SQL_THEN("ended") " FROM event e LEFT JOIN trial t ON t.study = e.study || '' "    \
      "AND t.number = e.trial LEFT JOIN measurement m ON m.study = e.study || '' AND m.revision = e.revision LEFT JOIN "     \
      "correction c ON c.study = e.study AND c.trial = e.trial AND c.revision = (SELECT min(x.revision) FROM "         \
      "correction x WHERE x.study = e.study AND x.trial = e.trial AND x.revision > $4) WHERE e.study = $1 AND e.seq "  \
      "> $2 AND row_check(trial t) AND row_check(measurement m) AND row_check(correction c) AND e.revision <= $3 AND (t.number IS NOT NULL OR e.kind = 'federation.received') ORDER BY e.seq")         \
    X(TRIAL_MADE, "si", made,                                                                                          \
      "SELECT e.revision, e.trial, t.point, coalesce(t.row, -1) AS row, t.algorithm, t.fallback, t.seen, "             \
      "t.model_mean, t.model_stddev, t.note, t.asked, NULL AS step, NULL AS measured, NULL AS measured_outcome, NULL AS stop, NULL AS reason, " \
      "NULL AS next_step, NULL AS measured_note, NULL AS measured_seen, t.diagnostics, e.kind FROM event e JOIN trial t ON t.study = " \
      "e.study || '' AND t.number = e.trial WHERE e.study = $1 AND e.trial = $2 AND e.kind IN ('trial.suggested', "          \
      "'trial.queued', 'trial.added')")                                                                                \
    X(EVENT_MADE, "sii", made,                                                                                         \
      "SELECT e.revision, e.trial, t.point, coalesce(t.row, -1) AS row, t.algorithm, t.fallback, t.seen, "             \
      "t.model_mean, t.model_stddev, t.note, t.asked, m.step, m.value AS measured, m.outcome AS measured_outcome, m.stop, m.reason, m.next_step, " \
      "m.note AS measured_note, m.seen AS measured_seen, t.diagnostics, e.kind FROM event e JOIN trial t ON t.study = e.study || '' AND t.number "  \
      "= e.trial LEFT JOIN measurement m ON m.study = e.study || '' AND m.revision = e.revision WHERE e.study = $1 AND "     \
      "e.revision > $2 AND (e.kind IN ('trial.suggested', 'trial.resumed') OR m.step IS NOT NULL) ORDER BY e.seq LIMIT $3")                                                                                                \
    X(MEASUREMENT_ADD, "siiidiiisibib", none,                                                                           \
      "INSERT INTO measurement(study, trial, lease, step, value, revision, at_ms, stop, reason, next_step, note, "     \
      "seen, outcome) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)")                                                         \
    X(MEASUREMENT_KEEP, "sii", none,                                                                                   \
      "UPDATE measurement SET lease = lease + 1 WHERE study = $1 AND trial = $2 AND lease = $3")                       \
    X(MEASUREMENT_WHOLE, "s", measured,                                                                                \
      "SELECT " COLUMNS(ROW_MEASURED) " FROM measurement WHERE study = $1 AND row_check(measurement measurement) ORDER BY revision")                          \
    X(MEASUREMENT_PUT, "s" ROW_MEASURED(SQL_LETTER, SQL_LETTER), none,                                                 \
      "INSERT INTO measurement(study, " COLUMNS(ROW_MEASURED) ") VALUES ($1" ROW_MEASURED(SQL_VALUE, SQL_VALUE) ")")   \
    X(CORRECTION_WHOLE, "s", correction,                                                                               \
      "SELECT " COLUMNS(ROW_CORRECTION) " FROM correction WHERE study = $1 AND row_check(correction correction) ORDER BY revision")                         \
    X(CORRECTION_PUT, "s" ROW_CORRECTION(SQL_LETTER, SQL_LETTER), none,                                                \
      "INSERT INTO correction(study, " COLUMNS(ROW_CORRECTION) ") VALUES ($1" ROW_CORRECTION(SQL_VALUE, SQL_VALUE)     \
      ")")                                                                                                             \
    X(MEASUREMENT_GET, "siii", verdict,                                                                                \
      "SELECT " COLUMNS(ROW_VERDICT) " FROM measurement WHERE study = $1 AND trial = $2 AND lease = $3 AND step = "    \
      "$4")                                                                                                            \
    X(MEASUREMENT_LAST, "sii", step,                                                                                   \
      "SELECT coalesce(max(step), 0) AS step FROM measurement WHERE study = $1 AND trial = $2 AND lease = $3")         \
    X(MEASUREMENT_LIST, "sii", measurement,                                                                            \
      "SELECT " COLUMNS(ROW_MEASUREMENT) " FROM measurement WHERE study = $1 AND trial = $2 AND lease = $3 AND row_check(measurement measurement) ORDER "     \
      "BY step")                                                                                                       \
    X(TRANSFER_SOURCE_ADD, "sissiisbb", none,                                                                          \
      "INSERT INTO transfer_source(study, position, source, name, revision, skipped, matrix, points, data) VALUES "    \
      "($1, $2, $3, $4, $5, $6, $7, $8, $9)")                                                                          \
    X(TRANSFER_SOURCE_LIST, "s", transfer_source,                                                                      \
      "SELECT " COLUMNS(ROW_TRANSFER_SOURCE) " FROM transfer_source WHERE study = $1 AND row_check(transfer_source transfer_source) ORDER BY position")               \
    X(TRANSFER_NOTES, "sii", trial_note,                                                                               \
      "SELECT " COLUMNS(ROW_TRIAL_NOTE) " FROM trial WHERE study = $1 AND number > $2 AND length(note) > 0 ORDER "     \
      "BY number LIMIT $3")                                                                                            \
    X(NOTE_HEADS, "sii", trial_note, /* POLICY_NOTE_HEAD bytes of each */                                              \
      "SELECT number, substr(note, 1, 96) AS note FROM trial WHERE study = $1 AND number >= $2 AND number <= $3 AND "  \
      "length(note) > 0 ORDER BY number")                                                                              \
    X(HOME, "s", home, SQL_HOME("$1"))                                                                                 \
    X(PROJECT_ADD, "si" PROJECT_GIVEN(SQL_LETTER) PROJECT_LIMITS(SQL_LETTER), none,                                    \
      "INSERT INTO project(id, version, created_ms, updated_ms" PROJECT_GIVEN(SQL_NEXT) PROJECT_LIMITS(SQL_NEXT)       \
      ") VALUES ($1, 1, $2, $2" PROJECT_GIVEN(SQL_VALUE) PROJECT_LIMITS(SQL_VALUE) ")")                                \
    X(PROJECT_USED, "s", used, "SELECT " COLUMNS(ROW_USED) " FROM project WHERE id = $1")                              \
    X(PROJECT_COMPUTED, "sii", none, "UPDATE project SET used_cpu_ms = CASE WHEN used_day = $2 THEN used_cpu_ms ELSE 0 END + $3, used_day = $2 WHERE id = $1") \
    X(PROJECT_GET, "s", project, "SELECT " COLUMNS(ROW_PROJECT) " FROM project WHERE id = $1 AND row_check(project project)")                         \
    X(PROJECT_LIST, "sis", project,                                                                                    \
      "SELECT " COLUMNS(ROW_PROJECT) " FROM project WHERE id > $1 AND ($3 = '' OR id = $3) AND row_check(project project) ORDER BY id LIMIT $2")      \
    X(PROJECT_EDIT, "si" PROJECT_GIVEN(SQL_LETTER) PROJECT_LIMITS(SQL_LETTER), none,                                   \
      "UPDATE project SET version = version + 1, updated_ms = $2" PROJECT_GIVEN(SQL_SET) PROJECT_LIMITS(SQL_SET)       \
      " WHERE id = $1")                                                                                                \
    X(PROJECT_HOLDS, "s", count,                                                                                       \
      "SELECT CASE WHEN EXISTS (SELECT 1 FROM study WHERE project = $1) OR EXISTS (SELECT 1 FROM federation WHERE "    \
      "project = $1) OR EXISTS (SELECT 1 FROM game WHERE project = $1) THEN 1 ELSE 0 END AS count")                    \
    X(PROJECT_DELETE, "s", none, "DELETE FROM project WHERE id = $1")                                                  \
    X(TOKEN_REVOKE_PROJECT, "si", none, "UPDATE token SET revoked_ms = $2 WHERE project = $1 AND revoked_ms = 0")      \
    X(TOKEN_ADD, "sbssiisS" TOKEN_GIVEN(SQL_LETTER) TOKEN_BOUND(SQL_LETTER), none,                                     \
      "INSERT INTO token(id, hash, scope, agent, created_ms, expires_ms, revoked_ms, project, parent"                  \
      TOKEN_GIVEN(SQL_NEXT) TOKEN_BOUND(SQL_NEXT) ") VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8" TOKEN_GIVEN(SQL_VALUE) \
      TOKEN_BOUND(SQL_VALUE) ")")                                                                                      \
    X(TOKEN_GET, "s", token, "SELECT " COLUMNS(ROW_TOKEN) " FROM token WHERE id = $1 AND row_check(token token)")                                 \
    X(TOKEN_DOWN, "s", id,                                                                                             \
      "WITH RECURSIVE down(id) AS (SELECT id FROM token WHERE id = $1 UNION SELECT token.id FROM token JOIN down ON token.parent = down.id) "   \
      "SELECT id FROM token WHERE revoked_ms = 0 AND id IN (SELECT id FROM down) ORDER BY id")                         \
    X(TOKEN_ROTATE, "sbi", none,                                                                                       \
      "UPDATE token SET previous_hash = hash, previous_until_ms = $3, hash = $2 WHERE id = $1")                        \
    X(TOKEN_USED, "si", none, "UPDATE token SET last_used_ms = $2 WHERE id = $1 AND last_used_ms < $2")                \
    X(TOKEN_LIST_ALL, "sisi", token,                                                                                   \
      "SELECT " COLUMNS(ROW_TOKEN) " FROM token WHERE ($1 = '' OR created_ms > $2 OR (created_ms = $2 AND id > "       \
      "$3)) AND row_check(token token) ORDER BY created_ms, id LIMIT $4")                                                                         \
    X(TOKEN_LIST, "sisis", token,                                                                                      \
      "SELECT " COLUMNS(ROW_TOKEN) " FROM token WHERE project = $5 AND ($1 = '' OR created_ms > $2 OR (created_ms = $2 AND id > "       \
      "$3)) AND row_check(token token) ORDER BY created_ms, id LIMIT $4")                                                                         \
    X(TOKEN_ANY, "", id, "SELECT " COLUMNS(ROW_ID) " FROM token LIMIT 1")                                                \
    X(TOKEN_IDS, "", id, "SELECT " COLUMNS(ROW_ID) " FROM token WHERE revoked_ms = 0")                                 \
    X(TOKEN_REVOKE, "sis", none,                                                                                       \
      "UPDATE token SET revoked_ms = $2 WHERE id = $1 AND revoked_ms = 0 AND ($3 = '' OR project = $3)")                   \
    X(TOKEN_EXPIRING, "ii", count,                                                                                     \
      "SELECT count(*) AS count FROM token WHERE revoked_ms = 0 AND expires_ms > $1 AND expires_ms <= $2")             \
    X(STEADY_GET, "", steady, "SELECT " COLUMNS(ROW_STEADY) " FROM steady WHERE id = 1")                               \
    X(STEADY_PUT, "siii", none,                                                                                        \
      "INSERT INTO steady(id, boot, offset_ms, noted_ms, noted_wall_ms) VALUES (1, $1, $2, $3, $4) ON CONFLICT "       \
      "(id) DO UPDATE SET boot = excluded.boot, offset_ms = excluded.offset_ms, noted_ms = excluded.noted_ms, "        \
      "noted_wall_ms = excluded.noted_wall_ms")                                                                        \
    X(WITNESS_GET, "", witness,                                                                                        \
      "SELECT store, counter, (SELECT seq FROM chain) AS lines FROM witness WHERE id = 1")                             \
    X(WITNESS_ADVANCE, "i", none, "UPDATE witness SET counter = $1 WHERE id = 1 AND counter < $1")                     \
    X(CHECK_COUNTERS, "", finding,                                                                                     \
      "SELECT 'the counters of ' || s.id || ' are not those of its trials' AS finding FROM study s LEFT JOIN (SELECT "  \
      "study, count(*) AS total, "    \
      "count(CASE WHEN state = 'queued' THEN 1 END) AS queued, "    \
      "count(CASE WHEN state = 'running' THEN 1 END) AS running, "    \
      "count(CASE WHEN state = 'completed' THEN 1 END) AS completed, "    \
      "count(CASE WHEN state = 'failed' THEN 1 END) AS failed, "    \
      "count(CASE WHEN state = 'infeasible' THEN 1 END) AS infeasible, "    \
      "count(CASE WHEN state = 'abandoned' THEN 1 END) AS abandoned, "    \
      "count(CASE WHEN state = 'stopped' THEN 1 END) AS stopped, "    \
      "count(CASE WHEN state = 'retracted' THEN 1 END) AS retracted FROM trial GROUP BY "   \
      "study) t ON t.study = s.id WHERE s.state <> 'importing' AND (s.total <> coalesce(t.total, 0) OR s.queued <> "    \
      "coalesce(t.queued, 0) OR s.running <> "    \
      "coalesce(t.running, 0) OR s.completed <> "    \
      "coalesce(t.completed, 0) OR s.failed <> "    \
      "coalesce(t.failed, 0) OR s.infeasible <> "    \
      "coalesce(t.infeasible, 0) OR s.abandoned <> "    \
      "coalesce(t.abandoned, 0) OR s.stopped <> "    \
      "coalesce(t.stopped, 0) OR s.retracted <> "    \
      "coalesce(t.retracted, 0)) LIMIT 20")   \
    X(CHECK_NUMBERS, "", finding,                                                                                      \
      "SELECT 'the trials of ' || study || ' are not numbered from 1 on' AS finding FROM trial GROUP BY study HAVING "  \
      "min(number) <> 1 OR max(number) <> count(*) LIMIT 20")                                                          \
    X(CHECK_BEST, "", finding,                                                                                         \
      "SELECT 'the best trial of ' || s.id || ' is none of its completed ones' AS finding FROM study s LEFT JOIN "      \
      "trial t ON t.study = s.id AND t.number = s.best_trial AND t.state = 'completed' WHERE s.best_trial > 0 AND s.state <> 'importing' AND " \
      "(t.number IS NULL OR t.value <> s.best_value) LIMIT 20")                                                        \
    X(CHECK_REVISIONS, "", finding,                                                                                    \
      "SELECT 'the log of ' || s.id || ' is not its lines 1 to ' || s.revision AS finding FROM study s LEFT JOIN "      \
      "(SELECT study, count(DISTINCT revision) AS lines, max(revision) AS last FROM event WHERE revision > 0 GROUP "    \
      "BY study) e ON e.study = s.id WHERE s.state <> 'importing' AND (coalesce(e.lines, 0) <> s.revision OR "           \
      "coalesce(e.last, 0) <> s.revision) LIMIT 20")                                                                                                      \
    X(CHECK_EVENTS, "", finding,                                                                                       \
      "SELECT 'the log lacks ' || lacks || ' lines' AS finding FROM (SELECT max(seq) - min(seq) + 1 - count(*) - "      \
      "coalesce((SELECT sum(last - first + 1) FROM log_gap WHERE first > (SELECT min(seq) FROM event)), 0) AS lacks "  \
      "FROM event) AS counted WHERE lacks <> 0")                                                                       \
    X(CHECK_TALLY, "", finding,                                                                                        \
      "SELECT 'the tally of ' || thing || ' ' || state || ' is not their number' AS finding FROM (SELECT thing, "      \
      "state, count FROM tally UNION ALL SELECT 'study', state, -count(*) FROM study GROUP BY state UNION ALL SELECT "  \
      "'trial', state, -count(*) FROM trial GROUP BY state) AS counted GROUP BY thing, state HAVING sum(count) <> 0")   \
    X(CHECK_LEDGER, "", finding,                                                                                       \
      "SELECT 'line ' || round || ' of the ledger of ' || federation || ' does not follow from the one before' AS "     \
      "finding FROM (SELECT federation, round, epsilon, total, lag(round, 1, 0) OVER w AS before, lag(total, 1, 0.0) "  \
      "OVER w AS spent FROM federation_ledger WINDOW w AS (PARTITION BY federation ORDER BY round)) AS l WHERE round "  \
      "<> before + 1 OR abs(spent + epsilon - total) > 1e-9 * total LIMIT 20")                                         \
    X(CHECK_BUDGETS, "", finding,                                                                                      \
      "SELECT 'what ' || f.id || ' has spent is not what its ledger says' AS finding FROM federation f LEFT JOIN "      \
      "(SELECT federation, max(round) AS round, max(total) AS total FROM federation_ledger GROUP BY federation) l ON "  \
      "l.federation = f.id WHERE f.round <> coalesce(l.round, 0) + 1 OR f.epsilon < coalesce(l.total, 0.0) LIMIT 20")  \
    X(CHECK_BROADCASTS, "", digested,                                                                                  \
      "SELECT 'the broadcast of round ' || b.round || ' of ' || b.federation AS name, l.sha256, b.data FROM "           \
      "federation_broadcast b JOIN federation_ledger l ON l.federation = b.federation AND l.round = b.round")          \
    X(CHECK_FEATURES, "", digested,                                                                                    \
      "SELECT 'the features of ' || id AS name, features_sha256 AS sha256, features AS data FROM federation")          \
    X(CHECK_MATRICES, "", digested,                                                                                    \
      "SELECT 'the matrix of ' || c.study AS name, coalesce((SELECT detail FROM event e WHERE e.study = c.study AND "   \
      "kind = 'candidates.received' ORDER BY seq DESC LIMIT 1), '') AS sha256, p.data FROM candidates c LEFT JOIN "    \
      "candidates_piece p ON p.study = c.study WHERE c.complete = 1 ORDER BY c.study, p.start")                        \
    X(TOKEN_REVOKE_ALL, "i", none, "UPDATE token SET revoked_ms = $1 WHERE revoked_ms = 0")                             \
    X(IDEMPOTENCY_GET, "ssi", kept_reply,                                                                              \
      "SELECT " COLUMNS(ROW_KEPT_REPLY) " FROM idempotency WHERE token = $1 AND key = $2 AND created_ms >= $3 AND row_check(idempotency idempotency)")        \
    X(IDEMPOTENCY_ADD, "sssisssis", none,                                                                              \
      "INSERT INTO idempotency(token, key, fingerprint, status, reply, location, etag, created_ms, subject) VALUES "   \
      "($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (token, key) DO UPDATE SET fingerprint = "                     \
      "excluded.fingerprint, status = excluded.status, reply = excluded.reply, location = excluded.location, etag = "  \
      "excluded.etag, created_ms = excluded.created_ms, subject = excluded.subject")                                   \
    X(IDEMPOTENCY_BLANK, "s", none,                                                                                    \
      "UPDATE idempotency SET status = 0, reply = '', location = NULL, etag = NULL WHERE subject = $1 AND subject <> "  \
      "''")                                                                                                            \
    X(IDEMPOTENCY_TRIM, "si", none,                                                                                    \
      "UPDATE idempotency SET status = -1, reply = '', location = NULL, etag = NULL WHERE token = $1 AND reply <> '' " \
      "AND key IN (SELECT key FROM (SELECT key, sum(length(reply)) OVER (ORDER BY created_ms DESC, key) AS bytes "     \
      "FROM idempotency WHERE token = $1) AS newest WHERE bytes > $2)")                                                \
    X(IDEMPOTENCY_PURGE, "ii", none,                                                                                   \
      "DELETE FROM idempotency WHERE (token, key) IN (SELECT token, key FROM idempotency WHERE created_ms < $1 "       \
      "ORDER BY created_ms LIMIT $2)")                                                                                 \
    X(CANDIDATES_ADD, "sssi", none,                                                                                    \
      "INSERT INTO candidates(study, manifest, sha256, bytes, received_bytes, complete, attempt) VALUES ($1, $2, $3, " \
      "$4, 0, 0, 0)")                                                                                                  \
    X(CANDIDATES_GET, "s", candidates, "SELECT " COLUMNS(ROW_CANDIDATES) " FROM candidates WHERE study = $1 AND row_check(candidates candidates)")          \
    X(CANDIDATES_RECEIVED, "sii", none, "UPDATE candidates SET received_bytes = $2, complete = $3 WHERE study = $1")   \
    X(CANDIDATES_RESTART, "s", none,                                                                                   \
      "UPDATE candidates SET received_bytes = 0, attempt = attempt + 1 WHERE study = $1")                              \
    X(CANDIDATES_PIECE_ADD, "sib", none, "INSERT INTO candidates_piece(study, start, data) VALUES ($1, $2, $3)")       \
    X(CANDIDATES_PIECES, "s", piece,                                                                                   \
      "SELECT " COLUMNS(ROW_PIECE) " FROM candidates_piece WHERE study = $1 ORDER BY start")                           \
    X(CANDIDATES_KNOWN, "s", detail,                                                                                   \
      "SELECT " COLUMNS(ROW_DETAIL) " FROM event WHERE study = $1 AND kind = 'candidates.received' ORDER BY seq DESC " \
      "LIMIT 1")                                                                                                       \
    X(CANDIDATES_DROP, "s", none, "DELETE FROM candidates_piece WHERE study = $1")                                     \
    X(CANDIDATES_FORGET, "si", none, "DELETE FROM candidates WHERE study = $1 AND (sha256 = '' OR $2 = 1)")            \
    X(CANDIDATES_REFUSE, "si", none, "INSERT INTO candidates_refusal(study, at_ms) VALUES ($1, $2)")                   \
    X(CANDIDATES_REFUSALS, "si", refusal,                                                                              \
      "SELECT " COLUMNS(ROW_REFUSAL) " FROM candidates_refusal WHERE study = $1 ORDER BY at_ms DESC LIMIT $2")         \
    X(CANDIDATES_UNLOCK, "s", none, "DELETE FROM candidates_refusal WHERE study = $1")                                 \
    X(CURATOR_LEDGER, "ss", ledger_line,                                                                               \
      "SELECT " COLUMNS(ROW_LEDGER_LINE) " FROM curator_ledger WHERE curator_key = $1 AND ledger = $2 AND row_check(curator_ledger curator_ledger) ORDER BY seq")   \
    X(CURATOR_LEDGERS, "s", count,                                                                                     \
      "SELECT count(DISTINCT ledger) AS count FROM curator_ledger WHERE curator_key = $1")                             \
    X(GAME_ADD, "sssiis" GAME_GIVEN(SQL_LETTER), none,                                                                 \
      "INSERT INTO game(id, state, spec, budget, rounds, created_ms, updated_ms, project" GAME_GIVEN(SQL_NEXT)         \
      ") VALUES ($1, $2, $3, $4, 0, $5, $5, $6" GAME_GIVEN(SQL_VALUE) ")")                                                 \
    X(GAME_GET, "s", game, "SELECT " COLUMNS(ROW_GAME) " FROM game WHERE id = $1 AND row_see(game game)")                                     \
    X(GAME_STATE, "s", game, "SELECT " SQL_GAME_COLUMNS " FROM game WHERE id = $1 AND row_see(game game)")                                    \
    X(GAME_LIST, "issis", game,                                                                                        \
      "SELECT " SQL_GAME_COLUMNS " FROM game WHERE ($1 = 0 OR created_ms < $1 OR (created_ms = $1 AND id < $2)) "      \
      "AND ($3 = '' OR id = $3) AND project = $5 AND row_see(game game) ORDER BY created_ms DESC, id DESC LIMIT $4")                                           \
    X(GAME_SAVE, "sssii", none,                                                                                        \
      "UPDATE game SET state = $2, reason = $3, rounds = $4, updated_ms = $5 WHERE id = $1")                           \
    X(GAME_DELETE, "s", none, "DELETE FROM game WHERE id = $1")                                                        \
    X(PLAY_PUT, "siibidi", none,                                                                                       \
      "INSERT INTO game_play(game, round, agent, point, row, payoff, at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7) "      \
      "ON CONFLICT (game, round, agent) DO UPDATE SET payoff = excluded.payoff")                                       \
    X(PLAY_LIST, "sii", play,                                                                                          \
      "SELECT " COLUMNS(ROW_PLAY) " FROM game_play WHERE game = $1 AND round > $2 AND round <= $3 AND row_check(game_play game_play) ORDER BY round, "    \
      "agent")                                                                                                         \
    X(CURATOR_LEDGER_PUT, "ssiss", none,                                                                               \
      "INSERT INTO curator_ledger(curator_key, ledger, seq, head, sha256) VALUES ($1, $2, $3, $4, $5) ON CONFLICT "    \
      "(curator_key, ledger, seq) DO UPDATE SET sha256 = excluded.sha256 WHERE excluded.sha256 <> ''")                 \
    X(FEDERATION_ADD, "sssbsis" FEDERATION_GIVEN(SQL_LETTER), none,                                                    \
      "INSERT INTO federation(id, state, spec, features, features_sha256, created_ms, updated_ms, version, "           \
      "registered, round, received, deadline_ms, epsilon, project" FEDERATION_GIVEN(SQL_NEXT)                          \
      ") VALUES ($1, $2, $3, $4, $5, $6, $6, 1, 0, 1, 0, 0, 0.0, $7" FEDERATION_GIVEN(SQL_VALUE) ")")                      \
    X(FEDERATION_GET, "s", federation, "SELECT " COLUMNS(ROW_FEDERATION) " FROM federation WHERE id = $1 AND row_see(federation federation)")             \
    X(FEDERATIONS_OF_STATE, "s", federation,                                                                           \
      "SELECT " COLUMNS(ROW_FEDERATION) " FROM federation WHERE $1 = '' OR state = $1")                                          \
    X(FEDERATION_LIST, "sisis", federation,                                                                            \
      "SELECT " COLUMNS(ROW_FEDERATION) " FROM federation WHERE ($1 = '' OR state = $1) AND ($2 = 0 OR created_ms "    \
      "< $2 OR (created_ms = $2 AND id < $3)) AND project = $5 AND row_see(federation federation) ORDER BY created_ms DESC, id DESC LIMIT $4")            \
    X(FEDERATION_FEATURES, "s", features, "SELECT " COLUMNS(ROW_FEATURES) " FROM federation WHERE id = $1 AND row_check(federation federation)")            \
    X(FEDERATION_STATE, "sssi", none,                                                                                  \
      "UPDATE federation SET state = $2, reason = $3, version = version + 1, updated_ms = $4 WHERE id = $1")           \
    X(FEDERATION_REGISTER, "sii", none,                                                                                \
      "UPDATE federation SET registered = $2, version = version + 1, updated_ms = $3 WHERE id = $1")                   \
    X(FEDERATION_RECEIVED, "siii", none,                                                                               \
      "UPDATE federation SET received = $2, deadline_ms = $3, version = version + 1, updated_ms = $4 WHERE id = $1")   \
    X(FEDERATION_ROUND, "siidi", none,                                                                                 \
      "UPDATE federation SET round = $3, received = 0, deadline_ms = 0, epsilon = $4, version = version + 1, "         \
      "updated_ms = $5 WHERE id = $1 AND round = $2")                                                                  \
    X(FEDERATION_DELETE, "s", none, "DELETE FROM federation WHERE id = $1")                                            \
    X(FEDERATION_AGENT_ADD, "sisssi", none,                                                                            \
      "INSERT INTO federation_agent(federation, seat, name, token, study, created_ms) VALUES ($1, $2, $3, $4, $5, "    \
      "$6)")                                                                                                           \
    X(FEDERATION_AGENT_LIST, "sii", agent,                                                                             \
      "SELECT " COLUMNS(ROW_AGENT) " FROM federation_agent WHERE federation = $1 AND seat > $2 AND row_check(federation_agent federation_agent) ORDER BY seat "         \
      "LIMIT $3")                                                                                                      \
    X(FEDERATION_AGENT_TOKEN, "sis", none,                                                                             \
      "UPDATE federation_agent SET token = $3 WHERE federation = $1 AND seat = $2")                                    \
    X(FEDERATION_AGENT_HOST, "sis", none,                                                                              \
      "UPDATE federation_agent SET study = $3 WHERE federation = $1 AND seat = $2 AND study IS NULL AND NOT EXISTS "   \
      "(SELECT 1 FROM token t WHERE t.id = federation_agent.token AND t.revoked_ms = 0)")                              \
    X(FEDERATION_HOSTED, "s", count,                                                                                   \
      "SELECT count(*) AS count FROM federation_agent a JOIN study s ON s.id = a.study WHERE a.federation = $1")       \
    X(FEDERATION_MESSAGE_ADD, "siibi", none,                                                                           \
      "INSERT INTO federation_message(federation, round, seat, data, at_ms) VALUES ($1, $2, $3, $4, $5)")              \
    X(FEDERATION_MESSAGE_GET, "sii", blob,                                                                             \
      "SELECT " COLUMNS(ROW_BLOB) " FROM federation_message WHERE federation = $1 AND round = $2 AND seat = $3")       \
    X(FEDERATION_MESSAGE_LIST, "si", message,                                                                          \
      "SELECT " COLUMNS(ROW_MESSAGE) " FROM federation_message WHERE federation = $1 AND round = $2 ORDER BY seat")    \
    X(FEDERATION_MESSAGE_DROP, "si", none, "DELETE FROM federation_message WHERE federation = $1 AND round >= $2")     \
    X(FEDERATION_LEDGER_ADD, "sisdddsi", none,                                                                         \
      "INSERT INTO federation_ledger(federation, round, mechanism, epsilon, delta, total, sha256, at_ms) VALUES "      \
      "($1, $2, $3, $4, $5, $6, $7, $8)")                                                                              \
    X(FEDERATION_BROADCAST_ADD, "siibi", none,                                                                         \
      "INSERT INTO federation_broadcast(federation, round, messages, data, at_ms) VALUES ($1, $2, $3, $4, $5)")        \
    X(FEDERATION_BROADCAST_GET, "si", blob,                                                                            \
      "SELECT " COLUMNS(ROW_BLOB) " FROM federation_broadcast WHERE federation = $1 AND round = $2 AND row_check(federation_broadcast federation_broadcast)")                   \
    X(RECEIVED_ROUND_ADD, "sib", none, "INSERT INTO received_round(study, round, data) VALUES ($1, $2, $3)")           \
    X(RECEIVED_ROUND, "ssi", blob,                                                                                     \
      "SELECT data FROM received_round WHERE study = $1 AND round = $3 UNION ALL SELECT data FROM "                    \
      "federation_broadcast WHERE federation = $2 AND round = $3 AND (SELECT project FROM federation WHERE id = $2) = " \
      "(SELECT project FROM study WHERE id = $1) LIMIT 1")                                             \
    X(FEDERATION_IS_HOST, "sis", count,                                                                                \
      "SELECT count(*) AS count FROM federation_agent WHERE federation = $1 AND seat = $2 AND study = $3")             \
    X(IMPORT_ADD, "sSSsiis", none,                                                                                     \
      "INSERT INTO import(sha256, study, game, source, bytes, at_ms, project) VALUES ($1, $2, $3, $4, $5, $6, $7)")                \
    X(IMPORT_GET, "ss", import,                                                                                        \
      "SELECT " COLUMNS(ROW_IMPORT) " FROM import WHERE project = $2 AND sha256 = $1 AND row_check(import import)")                        \
    X(FEDERATION_ROUNDS, "sii", round,                                                                                 \
      "SELECT b.round, b.messages, l.mechanism, l.sha256, l.epsilon, l.total, b.at_ms FROM federation_broadcast b "    \
      "JOIN federation_ledger l ON l.federation = b.federation AND l.round = b.round WHERE b.federation = $1 AND "     \
      "b.round > $2 AND row_check(federation_broadcast b) AND row_check(federation_ledger l) ORDER BY b.round LIMIT $3")                                                                        \
    X(TOKEN_REVOKE_RESOURCE, "si", none, "UPDATE token SET revoked_ms = $2 WHERE resource = $1 AND revoked_ms = 0")
// clang-format on

enum sql {
#define X(name, parameters, row, text) SQL_##name,
    SQL_LIST(X)
#undef X
        SQL_COUNT
};

#endif
