-- Counts what must not be forgotten when an older copy of the store comes back: tokens that were revoked, debits of privacy,
-- and what is known of curators' ledgers.  The file beside the store (db/witness.h) says how far it had come, and which store
-- it was.
CREATE TABLE witness (
    id INTEGER PRIMARY KEY CHECK (id = 1), store TEXT NOT NULL, counter INTEGER NOT NULL
) STRICT;
INSERT INTO witness(id, store, counter) VALUES (1, lower(hex(randomblob(16))), 0);
CREATE TRIGGER revoking_is_witnessed AFTER UPDATE OF revoked_ms ON token WHEN OLD.revoked_ms <> NEW.revoked_ms
    BEGIN UPDATE witness SET counter = counter + 1; END;
CREATE TRIGGER debit_is_witnessed AFTER INSERT ON federation_ledger BEGIN UPDATE witness SET counter = counter + 1; END;
CREATE TRIGGER release_is_witnessed AFTER INSERT ON curator_ledger BEGIN UPDATE witness SET counter = counter + 1; END;
CREATE TRIGGER matrix_is_witnessed AFTER UPDATE ON curator_ledger BEGIN UPDATE witness SET counter = counter + 1; END;
-- Which trials of a study run, by the end of their leases: every suggestion asks which are over, and whose they are.  With what
-- it is asked for, so that those that run are not looked at one by one.
CREATE INDEX trial_by_lease ON trial(study, state, lease_ms, number, worker) WHERE state = 'running';
INSERT INTO sqlite_stat1(tbl, idx, stat) VALUES ('trial', 'trial_by_lease', '10000 100 100 2 1 1');
ANALYZE sqlite_schema; -- who migrates the store goes on with it, and reads these numbers only now
-- Lists of operations, in their order.
DROP INDEX operation_by_study;
CREATE INDEX operation_by_study ON operation(study, created_ms, id);
CREATE INDEX operation_by_actor ON operation(actor, created_ms, id);
CREATE INDEX operation_by_age ON operation(created_ms, id);
-- How a study is run may be edited, so it moves out of the specification.
ALTER TABLE study ADD COLUMN rules TEXT NOT NULL DEFAULT '{}'; -- JSON
UPDATE study SET rules = json_patch('{}', json_object(
    'budget', json(CASE WHEN budget > 0 THEN json_object('trials', budget) END),
    'stop_when', json((SELECT spec -> '$.stop_when' FROM study_spec WHERE study_spec.study = study.id)),
    'lease_seconds', json((SELECT spec -> '$.lease_seconds' FROM study_spec WHERE study_spec.study = study.id)),
    'shareable', json((SELECT spec -> '$.shareable' FROM study_spec WHERE study_spec.study = study.id))));
UPDATE study_spec SET spec = json_remove(spec, '$.stop_when', '$.lease_seconds', '$.shareable');
ALTER TABLE study DROP COLUMN budget;
-- What is counted for its rules: trials that ended since the best one, failures, failures in a row, all of them after the
-- line counted_from of the log; the cost; how long it was active until since_ms; when it is completed if no trial is
-- held: ends_ms on the steady clock; when its time is up: ends_at_ms by the wall clock as that stood when it last changed.
ALTER TABLE study ADD COLUMN since_best INTEGER NOT NULL DEFAULT 0;
ALTER TABLE study ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE study ADD COLUMN failures_in_a_row INTEGER NOT NULL DEFAULT 0;
ALTER TABLE study ADD COLUMN counted_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE study ADD COLUMN cost REAL NOT NULL DEFAULT 0;
ALTER TABLE study ADD COLUMN used_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE study ADD COLUMN since_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE study ADD COLUMN ends_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE study ADD COLUMN ends_at_ms INTEGER NOT NULL DEFAULT 0;
CREATE INDEX study_by_end ON study(ends_ms) WHERE ends_ms > 0;
CREATE INDEX study_by_name ON study(name, id);
UPDATE study SET counted_from = coalesce((SELECT max(revision) FROM event WHERE event.study = study.id AND
    kind = 'study.reopened'), 0);
UPDATE study SET since_best = (SELECT count(*) FROM trial WHERE trial.study = study.id AND imported = 0 AND
        trial.state IN ('completed', 'infeasible', 'stopped') AND ended > max(counted_from, coalesce((SELECT ended FROM trial
        WHERE trial.study = study.id AND number = best_trial), 0))),
    failures = (SELECT count(*) FROM trial WHERE trial.study = study.id AND imported = 0 AND trial.state = 'failed' AND
        ended > counted_from),
    failures_in_a_row = (SELECT count(*) FROM trial WHERE trial.study = study.id AND imported = 0 AND
        trial.state = 'failed' AND ended > max(counted_from, coalesce((SELECT max(ended) FROM trial WHERE
        trial.study = study.id AND imported = 0 AND trial.state IN ('completed', 'infeasible', 'stopped')), 0)));
-- What a reply that is kept for a repeat speaks of, so that it goes when that is deleted; status 0: it is gone.
ALTER TABLE idempotency ADD COLUMN subject TEXT NOT NULL DEFAULT '';
CREATE INDEX idempotency_by_subject ON idempotency(subject) WHERE subject <> '';
-- Of what is deleted the lines of the log stay, without their words.
DROP TRIGGER event_is_not_changed;
CREATE TRIGGER event_is_not_changed BEFORE UPDATE ON event WHEN NEW.detail IS NOT NULL OR NEW.seq <> OLD.seq OR
    NEW.at_ms <> OLD.at_ms OR NEW.kind <> OLD.kind OR NEW.study IS NOT OLD.study OR NEW.revision <> OLD.revision OR
    NEW.trial <> OLD.trial OR NEW.actor <> OLD.actor
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
-- The best so far, as lists of studies draw it: service/store/sparkline.h.
CREATE TABLE sparkline (
    study TEXT PRIMARY KEY REFERENCES study(id) ON DELETE CASCADE, points TEXT NOT NULL -- JSON
) STRICT;
INSERT INTO sparkline(study, points) WITH signed AS (
    SELECT study, number, ended, value, CASE max(value) OVER (PARTITION BY study) WHEN best_value THEN value ELSE -value END AS y
    FROM study JOIN trial ON trial.study = study.id WHERE best_trial > 0 AND trial.state = 'completed' AND feasible = 1
), improving AS (
    SELECT *, min(number) OVER (PARTITION BY study ORDER BY ended, number ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
        AS later FROM (SELECT *, max(y) OVER (PARTITION BY study ORDER BY ended, number ROWS BETWEEN UNBOUNDED PRECEDING AND
        1 PRECEDING) AS before FROM signed) WHERE before IS NULL OR y > before
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY study ORDER BY gain IS NULL DESC, is_last DESC, gain DESC) AS place FROM (
        SELECT *, y - lag(y) OVER numbers AS gain, lead(y) OVER numbers IS NULL AS is_last FROM improving
        WHERE later IS NULL OR number < later WINDOW numbers AS (PARTITION BY study ORDER BY number))
)
SELECT study, json_object('trial', json_group_array(number), 'value', json_group_array(json(format('%!.17g', value))))
    FROM (SELECT * FROM placed WHERE place <= 60 ORDER BY study, number) GROUP BY study;
