/* Every statement of the program, with the types of its parameters and results (db.h says the letters).
 * The SQL is the common subset of SQLite and PostgreSQL.  A test prepares every row and compares the counts. */
#ifndef GNOMON_DB_SQL_H
#define GNOMON_DB_SQL_H

// clang-format off
#define SQL_STUDY_COLUMNS                                                                                              \
    "id, name, state, reason, spec, labels, notes, budget, revision, version, total, queued, running, completed, "     \
    "failed, infeasible, abandoned, stopped, best_trial, best_value, created_ms, updated_ms, imported"
// clang-format on
#define SQL_STUDY_RESULTS "sssSsssiiiiiiiiiiiiDiii"
// clang-format off
#define SQL_TRIAL_COLUMNS                                                                                              \
    "number, state, point, row, worker, lease_ms, value, stddev, reason, external_id, policy, fallback, seen, "        \
    "observations, mean, sd, milliseconds, created_ms, finished_ms, diagnostics, outcome, lease, holder, "             \
    "taken_over"
// clang-format on
#define SQL_TRIAL_RESULTS "isBisiDDSSSSiiDDdiiSBisi"

// clang-format off
#define SQL_FEDERATION_COLUMNS                                                                                         \
    "id, name, state, reason, spec, features_sha256, version, registered, round, received, deadline_ms, epsilon, "     \
    "created_ms, updated_ms"
// clang-format on
#define SQL_FEDERATION_RESULTS "sssSssiiiiidii"
#define SQL_OPERATION_COLUMNS  "id, study, state, trials, revision, code, detail, created_ms, finished_ms, retry_after_s"
#define SQL_OPERATION_RESULTS  "sssBiSSiii"

/* name, parameters, results, text */
// clang-format off
#define SQL_LIST(X)                                                                                                    \
    X(STUDY_ADD, "ssssssiii", "",                                                                                      \
      "INSERT INTO study(id, name, state, spec, labels, notes, budget, created_ms, updated_ms, revision, version, "    \
      "total, queued, running, completed, failed, infeasible, abandoned, stopped, best_trial) "                        \
      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)")                                  \
    X(STUDY_GET, "s", SQL_STUDY_RESULTS, "SELECT " SQL_STUDY_COLUMNS " FROM study WHERE id = $1")                      \
    X(STUDY_LIST, "sssissi", SQL_STUDY_RESULTS,                                                                        \
      "SELECT " SQL_STUDY_COLUMNS " FROM study "                                                                       \
      "WHERE ($1 = '' OR state = $1) AND ($2 = '' OR replace(lower(name), lower($2), '') <> lower(name)) "             \
      "AND ($3 = '' OR replace(labels, $3, '') <> labels) "                                                            \
      "AND ($4 = 0 OR created_ms < $4 OR (created_ms = $4 AND id < $5)) "                                              \
      "AND ($6 = '' OR id = $6) ORDER BY created_ms DESC, id DESC LIMIT $7")                                           \
    X(STUDY_EDIT, "sssisi", "",                                                                                        \
      "UPDATE study SET name = $2, labels = $3, budget = $4, notes = $5, version = version + 1, updated_ms = $6 "      \
      "WHERE id = $1")                                                                                                 \
    X(STUDY_STATE, "sssi", "",                                                                                         \
      "UPDATE study SET state = $2, reason = $3, version = version + 1, updated_ms = $4 WHERE id = $1")                \
    X(STUDY_COUNT, "siiiiiiiiiii", "",                                                                                 \
      "UPDATE study SET revision = $2, total = $3, queued = $4, running = $5, completed = $6, failed = $7, "           \
      "infeasible = $8, abandoned = $9, stopped = $10, updated_ms = $11, imported = $12 WHERE id = $1")                \
    X(STUDY_BEST, "sid", "", "UPDATE study SET best_trial = $2, best_value = $3 WHERE id = $1")                        \
    X(STUDY_DELETE, "s", "", "DELETE FROM study WHERE id = $1")                                                        \
    X(TRIAL_ADD, "sisbisisssiiDDdbis", "",                                                                             \
      "INSERT INTO trial(study, number, state, point, row, worker, lease_ms, external_id, policy, fallback, seen, "    \
      "observations, mean, sd, milliseconds, note, created_ms, finished_ms, diagnostics, lease, holder, taken_over) "  \
      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 0, $18, $7 > 0, $6, 0)")    \
    X(TRIAL_GET, "si", SQL_TRIAL_RESULTS, "SELECT " SQL_TRIAL_COLUMNS " FROM trial WHERE study = $1 AND number = $2")  \
    X(TRIAL_BY_EXTERNAL_ID, "ss", SQL_TRIAL_RESULTS,                                                                   \
      "SELECT " SQL_TRIAL_COLUMNS " FROM trial WHERE study = $1 AND external_id = $2")                                 \
    X(TRIAL_LIST, "sisi", SQL_TRIAL_RESULTS,                                                                           \
      "SELECT " SQL_TRIAL_COLUMNS " FROM trial WHERE study = $1 AND number > $2 AND ($3 = '' OR state = $3) "          \
      "ORDER BY number LIMIT $4")                                                                                      \
    X(TRIAL_QUEUED, "s", SQL_TRIAL_RESULTS,                                                                            \
      "SELECT " SQL_TRIAL_COLUMNS " FROM trial WHERE study = $1 AND state = 'queued' ORDER BY number")                 \
    X(TRIAL_OF_WORKER, "ssi", SQL_TRIAL_RESULTS,                                                                       \
      "SELECT " SQL_TRIAL_COLUMNS " FROM trial WHERE study = $1 AND state = 'running' AND worker = $2 "                \
      "AND lease_ms > $3 ORDER BY number")                                                                             \
    X(TRIAL_WAITING, "si", "B",                                                                                        \
      "SELECT point FROM trial WHERE study = $1 AND (state = 'queued' OR (state = 'running' AND lease_ms <= $2))")     \
    X(TRIAL_NEXT_LEASE, "s", "ii",                                                                                     \
      "SELECT number, lease_ms FROM trial WHERE study = $1 AND state = 'running' ORDER BY lease_ms, number LIMIT 1")   \
    X(TRIAL_EXPIRED, "sis", SQL_TRIAL_RESULTS,                                                                         \
      "SELECT " SQL_TRIAL_COLUMNS " FROM trial WHERE study = $1 AND state = 'running' AND lease_ms <= $2 "             \
      "ORDER BY CASE WHEN worker = $3 THEN 0 ELSE 1 END, number")                                                      \
    X(TRIAL_COUNT_EXPIRED, "si", "i",                                                                                  \
      "SELECT count(*) FROM trial WHERE study = $1 AND state = 'running' AND lease_ms <= $2")                          \
    X(TRIAL_START, "sisiii", "",                                                                                       \
      "UPDATE trial SET state = 'running', worker = $3, lease_ms = $4, lease = $5, holder = $3, "                      \
      "taken_over = $6 WHERE study = $1 AND number = $2")                                                              \
    X(TRIAL_RETRY, "si", "",                                                                                           \
      "UPDATE trial SET taken_over = CASE WHEN state = 'abandoned' AND lease > 0 THEN 1 ELSE taken_over END, "         \
      "state = 'queued', worker = '', holder = '', lease_ms = 0, reason = NULL, finished_ms = 0, "                     \
      "outcome = NULL WHERE study = $1 AND number = $2")                                                               \
    X(TRIAL_LEASE, "sii", "", "UPDATE trial SET lease_ms = $3 WHERE study = $1 AND number = $2")                       \
    X(TRIAL_FINISH, "sisDDssibi", "",                                                                                  \
      "UPDATE trial SET state = $3, value = $4, stddev = $5, reason = $6, external_id = coalesce(external_id, $7), "   \
      "finished_ms = $8, lease_ms = 0, outcome = $9, feasible = $10 WHERE study = $1 AND number = $2")                 \
    X(TRIAL_HISTORY, "sdii", "iiidD",                                                                                  \
      "SELECT revision, trial, at_ms, value, best FROM (SELECT e.revision, e.trial, e.at_ms, t.value, "                \
      "max(CASE WHEN t.feasible = 1 THEN t.value * $2 END) OVER (ORDER BY e.seq) AS best FROM event e JOIN trial t ON t.study = e.study AND "            \
      "t.number = e.trial WHERE e.study = $1 AND e.kind = 'trial.observed') AS h "                                     \
      "WHERE revision > $3 ORDER BY revision LIMIT $4")                                                                \
    X(TRIAL_FEASIBLE, "s", SQL_TRIAL_RESULTS,                                                                          \
      "SELECT " SQL_TRIAL_COLUMNS " FROM trial WHERE study = $1 AND state = 'completed' AND feasible = 1 "             \
      "ORDER BY number")                                                                                               \
    X(TRIAL_HAS_ROW, "si", "i", "SELECT number FROM trial WHERE study = $1 AND row = $2 LIMIT 1")                      \
    X(TRIAL_NEWEST_VISIT, "s", SQL_TRIAL_RESULTS,                                                                      \
      "SELECT " SQL_TRIAL_COLUMNS " FROM trial WHERE study = $1 AND state IN ('queued', 'running', 'completed') "      \
      "ORDER BY number DESC LIMIT 1")                                                                                  \
    X(OPERATION_ADD, "sssisbii", "",                                                                                   \
      "INSERT INTO operation(id, study, state, actor, count, worker, fixed, deadline_ms, revision, created_ms, "       \
      "finished_ms) VALUES ($1, $2, 'running', $3, $4, $5, $6, $7, 0, $8, 0)")                                         \
    X(OPERATION_GET, "s", SQL_OPERATION_RESULTS, "SELECT " SQL_OPERATION_COLUMNS " FROM operation WHERE id = $1")      \
    X(OPERATION_OF_WORKER, "ssb", SQL_OPERATION_RESULTS "i",                                                           \
      "SELECT " SQL_OPERATION_COLUMNS ", fixed IS $3 AS is_same FROM operation "                                       \
      "WHERE study = $1 AND state = 'running' AND worker = $2 ORDER BY is_same DESC, created_ms LIMIT 1")              \
    X(OPERATION_LEFT, "", "sssisBi",                                                                                   \
      "SELECT id, study, actor, count, worker, fixed, deadline_ms FROM operation WHERE state = 'running' "             \
      "ORDER BY created_ms DESC, id LIMIT 64")                                                                         \
    X(OPERATION_END, "ssbissii", "",                                                                                   \
      "UPDATE operation SET state = $2, trials = $3, revision = $4, code = $5, detail = $6, finished_ms = $7, "        \
      "retry_after_s = $8 WHERE id = $1 AND state = 'running'")                                                        \
    X(EVENT_ADD, "issiiss", "",                                                                                        \
      "INSERT INTO event(at_ms, kind, study, revision, trial, actor, detail) VALUES ($1, $2, $3, $4, $5, $6, $7)")     \
    X(EVENT_LIST, "ii", "iisSiisS",                                                                                    \
      "SELECT seq, at_ms, kind, study, revision, trial, actor, detail FROM event WHERE seq > $1 "                      \
      "ORDER BY seq LIMIT $2")                                                                                         \
    X(EVENT_OF_STUDY, "sii", "iisSiisS",                                                                               \
      "SELECT seq, at_ms, kind, study, revision, trial, actor, detail FROM event WHERE study = $1 AND seq > $2 "       \
      "ORDER BY seq LIMIT $3")                                                                                         \
    X(EVENT_REPLAY, "si", "iisiBiDDBBIDBS",                                                                            \
      "SELECT e.seq, e.revision, e.kind, e.trial, t.point, coalesce(t.row, -1), t.value, t.stddev, t.note, t.outcome, "\
      "m.step, m.value, m.note, e.detail FROM event e "                                                                \
      "LEFT JOIN trial t ON t.study = e.study AND t.number = e.trial "                                                 \
      "LEFT JOIN measurement m ON m.study = e.study AND m.revision = e.revision "                                      \
      "WHERE e.study = $1 AND e.seq > $2 AND (t.number IS NOT NULL OR e.kind = 'federation.received') "                \
      "ORDER BY e.seq")                                                                                                \
    X(MEASUREMENT_ADD, "siiidiiisib", "",                                                                              \
      "INSERT INTO measurement(study, trial, lease, step, value, revision, at_ms, stop, reason, next_step, note) "     \
      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)")                                                         \
    X(MEASUREMENT_GET, "siii", "disi",                                                                                 \
      "SELECT value, stop, reason, next_step FROM measurement "                                                        \
      "WHERE study = $1 AND trial = $2 AND lease = $3 AND step = $4")                                                  \
    X(MEASUREMENT_LAST, "sii", "i",                                                                                    \
      "SELECT coalesce(max(step), 0) FROM measurement WHERE study = $1 AND trial = $2 AND lease = $3")                 \
    X(MEASUREMENT_LIST, "sii", "idi",                                                                                  \
      "SELECT step, value, at_ms FROM measurement WHERE study = $1 AND trial = $2 AND lease = $3 ORDER BY step")       \
    X(META_ADD, "sissiisbb", "",                                                                                       \
      "INSERT INTO meta(study, position, source, name, revision, skipped, matrix, points, data) "                      \
      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)")                                                                   \
    X(META_LIST, "s", "iSsiisbb",                                                                                      \
      "SELECT position, source, name, revision, skipped, matrix, points, data FROM meta WHERE study = $1 "             \
      "ORDER BY position")                                                                                             \
    X(META_NOTES, "sii", "ib",                                                                                         \
      "SELECT number, note FROM trial WHERE study = $1 AND number > $2 AND length(note) > 0 ORDER BY number LIMIT $3") \
    X(TOKEN_ADD, "sbsssiis", "",                                                                                       \
      "INSERT INTO token(id, hash, name, scope, resource, created_ms, expires_ms, agent, revoked_ms) "                 \
      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0)")                                                                    \
    X(TOKEN_GET, "s", "sbssSiiis",                                                                                     \
      "SELECT id, hash, name, scope, resource, created_ms, expires_ms, revoked_ms, agent FROM token WHERE id = $1")    \
    X(TOKEN_LIST, "sisi", "sbssSiiis",                                                                                 \
      "SELECT id, hash, name, scope, resource, created_ms, expires_ms, revoked_ms, agent FROM token "                  \
      "WHERE ($1 = '' OR created_ms > $2 OR (created_ms = $2 AND id > $3)) ORDER BY created_ms, id LIMIT $4")          \
    X(TOKEN_IDS, "", "s", "SELECT id FROM token WHERE revoked_ms = 0")                                                 \
    X(TOKEN_REVOKE, "si", "", "UPDATE token SET revoked_ms = $2 WHERE id = $1 AND revoked_ms = 0")                     \
    X(STEADY_GET, "", "siii", "SELECT boot, offset_ms, noted_ms, noted_wall_ms FROM steady WHERE id = 1")              \
    X(STEADY_PUT, "siii", "",                                                                                          \
      "INSERT INTO steady(id, boot, offset_ms, noted_ms, noted_wall_ms) VALUES (1, $1, $2, $3, $4) "                   \
      "ON CONFLICT (id) DO UPDATE SET boot = excluded.boot, offset_ms = excluded.offset_ms, "                          \
      "noted_ms = excluded.noted_ms, noted_wall_ms = excluded.noted_wall_ms")                                          \
    X(IDEMPOTENCY_GET, "ssi", "sisSS",                                                                                 \
      "SELECT fingerprint, status, reply, location, etag FROM idempotency "                                            \
      "WHERE token = $1 AND key = $2 AND created_ms >= $3")                                                            \
    X(IDEMPOTENCY_ADD, "sssisssi", "",                                                                                 \
      "INSERT INTO idempotency(token, key, fingerprint, status, reply, location, etag, created_ms) "                   \
      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "                                                                       \
      "ON CONFLICT (token, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status, "          \
      "reply = excluded.reply, location = excluded.location, etag = excluded.etag, created_ms = excluded.created_ms")  \
    X(IDEMPOTENCY_PURGE, "ii", "",                                                                                     \
      "DELETE FROM idempotency WHERE (token, key) IN "                                                                 \
      "(SELECT token, key FROM idempotency WHERE created_ms < $1 ORDER BY created_ms LIMIT $2)")                       \
    X(CANDIDATES_ADD, "sssi", "",                                                                                      \
      "INSERT INTO candidates(study, manifest, sha256, bytes, received, complete, attempt) "                           \
      "VALUES ($1, $2, $3, $4, 0, 0, 0)")                                                                              \
    X(CANDIDATES_GET, "s", "ssiiii",                                                                                   \
      "SELECT manifest, sha256, bytes, received, complete, attempt FROM candidates WHERE study = $1")                  \
    X(CANDIDATES_RECEIVED, "sii", "", "UPDATE candidates SET received = $2, complete = $3 WHERE study = $1")           \
    X(CANDIDATES_RESTART, "s", "", "UPDATE candidates SET received = 0, attempt = attempt + 1 WHERE study = $1")       \
    X(CANDIDATES_PIECE_ADD, "sib", "", "INSERT INTO candidates_piece(study, start, data) VALUES ($1, $2, $3)")         \
    X(CANDIDATES_PIECES, "s", "ib", "SELECT start, data FROM candidates_piece WHERE study = $1 ORDER BY start")        \
    X(CANDIDATES_DROP, "s", "", "DELETE FROM candidates_piece WHERE study = $1")                                       \
    X(CANDIDATES_FORGET, "si", "", "DELETE FROM candidates WHERE study = $1 AND (sha256 = '' OR $2 = 1)")              \
    X(CANDIDATES_REFUSE, "si", "", "INSERT INTO candidates_refusal(study, at_ms) VALUES ($1, $2)")                     \
    X(CANDIDATES_REFUSALS, "si", "i",                                                                                  \
      "SELECT at_ms FROM candidates_refusal WHERE study = $1 ORDER BY at_ms DESC LIMIT $2")                            \
    X(CANDIDATES_UNLOCK, "s", "", "DELETE FROM candidates_refusal WHERE study = $1")                                   \
    X(CANDIDATES_RELEASE_GET, "ss", "s",                                                                               \
      "SELECT sha256 FROM candidates_release WHERE curator_key = $1 AND dataset_tag = $2")                             \
    X(GAME_ADD, "sssssiii", "",                                                                                        \
      "INSERT INTO game(id, name, state, reason, spec, budget, rounds, created_ms, updated_ms) "                       \
      "VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8)")                                                                    \
    X(GAME_GET, "s", "sssSiiiis",                                                                                      \
      "SELECT id, name, state, reason, budget, rounds, created_ms, updated_ms, spec FROM game WHERE id = $1")          \
    X(GAME_STATE, "s", "sssSiiii",                                                                                     \
      "SELECT id, name, state, reason, budget, rounds, created_ms, updated_ms FROM game WHERE id = $1")                \
    X(GAME_LIST, "issi", "sssSiiii",                                                                                   \
      "SELECT id, name, state, reason, budget, rounds, created_ms, updated_ms FROM game "                              \
      "WHERE ($1 = 0 OR created_ms < $1 OR (created_ms = $1 AND id < $2)) AND ($3 = '' OR id = $3) "                   \
      "ORDER BY created_ms DESC, id DESC LIMIT $4")                                                                    \
    X(GAME_SAVE, "sssii", "",                                                                                          \
      "UPDATE game SET state = $2, reason = $3, rounds = $4, updated_ms = $5 WHERE id = $1")                           \
    X(GAME_DELETE, "s", "", "DELETE FROM game WHERE id = $1")                                                          \
    X(PLAY_PUT, "siibiDi", "",                                                                                         \
      "INSERT INTO game_play(game, round, agent, point, row, payoff, at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7) "      \
      "ON CONFLICT (game, round, agent) DO UPDATE SET payoff = excluded.payoff")                                       \
    X(PLAY_LIST, "sii", "iiBiDi",                                                                                      \
      "SELECT round, agent, point, row, payoff, at_ms FROM game_play WHERE game = $1 AND round > $2 AND round <= $3 "  \
      "ORDER BY round, agent")                                                                                         \
    X(CANDIDATES_RELEASE_PUT, "sss", "",                                                                               \
      "INSERT INTO candidates_release(curator_key, dataset_tag, sha256) VALUES ($1, $2, $3) "                          \
      "ON CONFLICT (curator_key, dataset_tag) DO NOTHING")                                                             \
    X(FEDERATION_ADD, "ssssbsi", "",                                                                                   \
      "INSERT INTO federation(id, name, state, spec, features, features_sha256, created_ms, updated_ms, "              \
      "version, registered, round, received, deadline_ms, epsilon) VALUES ($1, $2, $3, $4, $5, $6, $7, $7, 1, "        \
      "0, 1, 0, 0, 0.0)")                                                                                              \
    X(FEDERATION_GET, "s", SQL_FEDERATION_RESULTS,                                                                     \
      "SELECT " SQL_FEDERATION_COLUMNS " FROM federation WHERE id = $1")                                               \
    X(FEDERATION_LIST, "sisi", SQL_FEDERATION_RESULTS,                                                                 \
      "SELECT " SQL_FEDERATION_COLUMNS " FROM federation WHERE ($1 = '' OR state = $1) AND ($2 = 0 OR created_ms < $2 OR (created_ms = " \
      "$2 AND id < $3)) ORDER BY created_ms DESC, id DESC LIMIT $4")                                                   \
    X(FEDERATION_FEATURES, "s", "bs",                                                                                  \
      "SELECT features, features_sha256 FROM federation WHERE id = $1")                                                \
    X(FEDERATION_STATE, "sssi", "",                                                                                    \
      "UPDATE federation SET state = $2, reason = $3, version = version + 1, updated_ms = $4 WHERE id = $1")           \
    X(FEDERATION_REGISTER, "sii", "",                                                                                  \
      "UPDATE federation SET registered = $2, version = version + 1, updated_ms = $3 WHERE id = $1")                   \
    X(FEDERATION_RECEIVED, "siii", "",                                                                                 \
      "UPDATE federation SET received = $2, deadline_ms = $3, version = version + 1, updated_ms = $4 WHERE id = $1")   \
    X(FEDERATION_ROUND, "siidi", "",                                                                                   \
      "UPDATE federation SET round = $3, received = 0, deadline_ms = 0, epsilon = $4, version = version + 1, "         \
      "updated_ms = $5 WHERE id = $1 AND round = $2")                                                                  \
    X(FEDERATION_DELETE, "s", "",                                                                                      \
      "DELETE FROM federation WHERE id = $1")                                                                          \
    X(FEDERATION_AGENT_ADD, "sisssi", "",                                                                              \
      "INSERT INTO federation_agent(federation, seat, name, token, study, created_ms) VALUES ($1, $2, $3, $4, "        \
      "$5, $6)")                                                                                                       \
    X(FEDERATION_AGENT_LIST, "sii", "issSi",                                                                           \
      "SELECT seat, name, token, study, created_ms FROM federation_agent WHERE federation = $1 AND seat > $2 "         \
      "ORDER BY seat LIMIT $3")                                                                                        \
    X(FEDERATION_AGENT_TOKEN, "sis", "",                                                                               \
      "UPDATE federation_agent SET token = $3 WHERE federation = $1 AND seat = $2")                                    \
    X(FEDERATION_AGENT_HOST, "sis", "",                                                                                \
      "UPDATE federation_agent SET study = $3 WHERE federation = $1 AND seat = $2 AND study IS NULL")                  \
    X(FEDERATION_HOSTED, "s", "i",                                                                                     \
      "SELECT count(*) FROM federation_agent a JOIN study s ON s.id = a.study WHERE a.federation = $1")                \
    X(FEDERATION_MESSAGE_ADD, "siibi", "",                                                                             \
      "INSERT INTO federation_message(federation, round, seat, data, at_ms) VALUES ($1, $2, $3, $4, $5)")              \
    X(FEDERATION_MESSAGE_GET, "sii", "b",                                                                              \
      "SELECT data FROM federation_message WHERE federation = $1 AND round = $2 AND seat = $3")                        \
    X(FEDERATION_MESSAGE_LIST, "si", "ib",                                                                             \
      "SELECT seat, data FROM federation_message WHERE federation = $1 AND round = $2 ORDER BY seat")                  \
    X(FEDERATION_MESSAGE_DROP, "s", "",                                                                                \
      "DELETE FROM federation_message WHERE federation = $1")                                                          \
    X(FEDERATION_LEDGER_ADD, "sisDDDsi", "",                                                                           \
      "INSERT INTO federation_ledger(federation, round, mechanism, epsilon, delta, total, sha256, at_ms) "             \
      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)")                                                                       \
    X(FEDERATION_LEDGER_COUNT, "s", "i",                                                                               \
      "SELECT count(*) FROM federation_ledger WHERE federation = $1")                                                  \
    X(FEDERATION_BROADCAST_ADD, "siibi", "",                                                                           \
      "INSERT INTO federation_broadcast(federation, round, messages, data, at_ms) VALUES ($1, $2, $3, $4, $5)")        \
    X(FEDERATION_BROADCAST_GET, "si", "b",                                                                             \
      "SELECT data FROM federation_broadcast WHERE federation = $1 AND round = $2")                                    \
    X(FEDERATION_ROUNDS, "sii", "iissDDi",                                                                             \
      "SELECT b.round, b.messages, l.mechanism, l.sha256, l.epsilon, l.total, b.at_ms FROM "                           \
      "federation_broadcast b JOIN federation_ledger l ON l.federation = b.federation AND l.round = b.round "          \
      "WHERE b.federation = $1 AND b.round > $2 ORDER BY b.round LIMIT $3")                                            \
    X(TOKEN_REVOKE_RESOURCE, "si", "",                                                                                 \
      "UPDATE token SET revoked_ms = $2 WHERE resource = $1 AND revoked_ms = 0")
// clang-format on

enum sql {
#define X(name, arguments, results, text) SQL_##name,
    SQL_LIST(X)
#undef X
        SQL_COUNT
};

#endif
