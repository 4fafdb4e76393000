/* Members of the resources, as stored and shown: lists, of which a line is one member.
 * X(column, letter, kind, shown, ...): the column of the row and the member of the struct have the first name (letters:
 * sql.h); the reply has it under the shown name, as that kind (service/member/codec_write.h); the rest is for the table that
 * reads and writes it (struct member of service/member/codec_read.h).  All else is made of the lists: rows, statements and
 * their bindings, structs, JSON in both directions, and so the comparison with openapi.yaml.
 * The order is that of replies.  GIVEN lists the members that a client gives a new resource.
 * A member that may be absent has its default in its line (.text, .fallback; none for a number that may be null), and the same
 * DEFAULT in its column, for rows and exports from before it.  A required member that is added later has a default, too. */
#ifndef GNOMON_DB_MEMBERS_H
#define GNOMON_DB_MEMBERS_H

// clang-format off
#define NAMED(X) X(name, s, TEXT, name, .required = true, .min = 1, .max = 200)

#define TOKEN_GIVEN(X) NAMED(X)
#define TOKEN_BOUND(X) X(resource, S, TEXT, resource, .nullable = true, .min = 20, .max = 20)
#define TOKEN_KEPT(X)                                                                                                  \
    X(agent, s, TEXT, agent, .nullable = true)                                                                         \
    X(parent, S, TEXT, created_by, .nullable = true)                                                                   \
    X(created_ms, i, TIME, created_at)                                                                                 \
    X(expires_ms, i, TIME, expires_at, .nullable = true)                                                               \
    X(previous_until_ms, i, TIME, overlap_ends_at, .nullable = true)                                                   \
    X(last_used_ms, i, TIME, last_used_at, .nullable = true)                                                           \
    X(revoked_ms, i, TIME, revoked_at, .nullable = true)

#define PROJECT_GIVEN(X) NAMED(X)
/* The limits of a project. */
#define PROJECT_LIMITS(X)                                                                                              \
    X(cpu_seconds_a_day, D, NUMBER, cpu_seconds_a_day, .nullable = true, .min = 1, .max = 1e9)                         \
    X(trials, D, NUMBER, trials, .nullable = true, .min = 1, .max = 1e12)                                              \
    X(bytes, D, NUMBER, bytes, .nullable = true, .min = 1, .max = 1e15)                                                \
    X(studies, D, NUMBER, studies, .nullable = true, .min = 1, .max = 1e9)                                             \
    X(requests_a_second, D, NUMBER, requests_a_second, .nullable = true, .min = 0.001, .max = 1e6)                     \
    X(burst, D, NUMBER, burst, .nullable = true, .min = 1, .max = 1e6)
#define PROJECT_USED(X) X(used_studies, i) X(used_trials, i) X(used_extra, i) X(used_day, i) X(used_cpu_ms, i)
#define PROJECT_KEPT(X)                                                                                                \
    X(created_ms, i, TIME, created_at)                                                                                 \
    X(updated_ms, i, TIME, updated_at)

/* The members of an event but its number and its time. */
#define EVENT_MEMBERS(X)                                                                                               \
    X(kind, s, TEXT, kind)                                                                                             \
    X(study, S, TEXT, study, .nullable = true)                                                                         \
    X(revision, i, INTEGER, revision, .nullable = true)                                                                \
    X(trial, i, INTEGER, trial, .nullable = true)                                                                      \
    X(actor, s, TEXT, actor)                                                                                           \
    X(detail, S, TEXT, detail, .nullable = true)

#define FEDERATION_GIVEN(X) NAMED(X)
#define FEDERATION_KEPT(X)                                                                                             \
    X(reason, S, TEXT, reason, .nullable = true)                                                                       \
    X(features_sha256, s, TEXT, features_sha256)                                                                       \
    X(registered, i, INTEGER, registered)
#define FEDERATION_OPEN(X)                                                                                            \
    X(received, i, INTEGER, received)                                                                                  \
    X(deadline_ms, i, STEADY, deadline_at, .nullable = true)                                                           \
    X(created_ms, i, TIME, created_at)                                                                                 \
    X(updated_ms, i, TIME, updated_at)

#define GAME_GIVEN(X) NAMED(X)
#define GAME_KEPT(X)                                                                                                   \
    X(rounds, i, INTEGER, rounds_closed)                                                                                   \
    X(created_ms, i, TIME, created_at)                                                                                 \
    X(updated_ms, i, TIME, updated_at)

/* Members of a trial that clients set with its result.  A number is of each metric, and of a trial only that has a value; a
 * REASON only of one without.  Each may be none: its column may be NULL.  Those of TRIAL_RESULT are columns of corrections, too,
 * and trying the trial again clears them. */
#define TRIAL_RESULT(X)                                                                                                \
    X(value, D, NUMBER, value, .min = -INFINITY, .max = INFINITY)                                                      \
    X(stddev, D, NUMBER, stddev, .max = INFINITY)                                                                      \
    X(reason, S, REASON, reason, .max = 1000)
#define TRIAL_TOLD(X) TRIAL_RESULT(X) X(external_id, S, TEXT, external_id, .min = 1, .max = 128)
/* Members of a trial besides its result, from which nothing is computed (service/codec/codec_annotations.h).  Each may be none: its
 * column may be NULL.  Trying the trial again keeps them, but for duration_seconds, which TRIAL_RETRY of sql.h clears. */
#define TRIAL_ANNOTATIONS(X)                                                                                                  \
    X(labels, S, TAGS, labels)                                                                                         \
    X(metadata, S, METADATA, metadata, .max = 16384)                                                                   \
    X(notes, S, TEXT, notes, .nullable = true, .max = 10000)                                                           \
    X(artifacts, S, ARTIFACTS, artifacts, .max = 100)                                                                  \
    X(duration_seconds, D, NUMBER, duration_seconds, .nullable = true, .max = INFINITY)

#define STUDY_LABELLED(X) X(labels, s, LABELS, labels, .text = "{}")
#define STUDY_NOTED(X)    X(notes, s, TEXT, notes, .text = "", .max = 10000)
#define STUDY_SAID(X)     NAMED(X) STUDY_LABELLED(X) STUDY_NOTED(X)
/* Counts for the study's rules; not shown as such. */
#define STUDY_TALLY(X)                                                                                                 \
    X(since_best, i) X(failures, i) X(failures_in_a_row, i) X(counted_from, i) X(cost, d)                                 \
    X(used_ms, i) X(since_ms, i) X(ends_ms, i) X(ends_at_ms, i)
/* The creator on this server, which an export leaves out: the token's id, and its name at that time. */
#define STUDY_OWNED(X)                                                                                                 \
    X(created_by, S, TEXT, created_by, .nullable = true)                                                               \
    X(owner, S, TEXT, owner, .nullable = true)
#define STUDY_KEPT(X)                                                                                                  \
    X(created_ms, i, TIME, created_at)                                                                                 \
    X(updated_ms, i, TIME, updated_at)
// clang-format on

#define MEMBER_TYPE_i int64_t
#define MEMBER_TYPE_I int64_t
#define MEMBER_TYPE_d double
#define MEMBER_TYPE_D double
#define MEMBER_TYPE_s const char *
#define MEMBER_TYPE_S const char *

/* The members of a struct; their values when nothing is said yet (only of a number is that not 0); and what they are in
 * another struct, so named: in an initialiser. */
#define DECLARE(column, letter, ...) MEMBER_TYPE_##letter column;
#define NONE(column, letter, ...)    NONE_##letter(column)
#define NONE_i(column)
#define NONE_s(column)
#define NONE_S(column)
#define NONE_d(column)
#define NONE_D(column)            .column = (double)NAN,
#define IS_NONE_s(value)          ((value) == NULL)
#define IS_NONE_D(value)          isnan(value)
#define TAKE(column, letter, ...) .column = from->column,

#endif
