-- Projects: a project owns studies, federations, games, tokens, imports and operations, and nothing moves from one to another.
-- What there was before is in the default one, as is everything of who makes no other.
CREATE TABLE project (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, version INTEGER NOT NULL, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO project(id, name, version, created_ms, updated_ms) SELECT 'prj_default', 'default', 1, at_ms, at_ms FROM
    (SELECT coalesce(min(at_ms), 1000 * unixepoch()) AS at_ms FROM event);
ALTER TABLE study ADD COLUMN project TEXT NOT NULL DEFAULT 'prj_default' REFERENCES project(id);
ALTER TABLE federation ADD COLUMN project TEXT NOT NULL DEFAULT 'prj_default' REFERENCES project(id);
ALTER TABLE game ADD COLUMN project TEXT NOT NULL DEFAULT 'prj_default' REFERENCES project(id);
ALTER TABLE operation ADD COLUMN project TEXT NOT NULL DEFAULT 'prj_default';
ALTER TABLE token ADD COLUMN project TEXT NOT NULL DEFAULT 'prj_default'; -- '': it is an operator's
ALTER TABLE event ADD COLUMN project TEXT NOT NULL DEFAULT 'prj_default';
DROP TRIGGER event_is_not_changed;
CREATE TRIGGER event_is_not_changed BEFORE UPDATE ON event WHEN NEW.detail IS NOT NULL OR NEW.seq <> OLD.seq OR
    NEW.at_ms <> OLD.at_ms OR NEW.kind <> OLD.kind OR NEW.study IS NOT OLD.study OR NEW.revision <> OLD.revision OR
    NEW.trial <> OLD.trial OR NEW.actor <> OLD.actor OR NEW.project <> OLD.project
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
-- Lists are those of a project.  The default one has most of the log where there are others, so its pages are read from the
-- log itself.
DROP INDEX study_by_age;
DROP INDEX study_by_change;
DROP INDEX study_by_name;
CREATE INDEX study_by_age ON study(project, created_ms, id);
CREATE INDEX study_by_change ON study(project, updated_ms, id);
CREATE INDEX study_by_name ON study(project, name, id);
DROP INDEX federation_by_age;
CREATE INDEX federation_by_age ON federation(project, created_ms DESC, id DESC);
DROP INDEX game_by_age;
CREATE INDEX game_by_age ON game(project, created_ms DESC, id DESC);
DROP INDEX operation_by_age;
CREATE INDEX operation_by_age ON operation(project, created_ms, id);
CREATE INDEX token_by_age ON token(project, created_ms, id);
CREATE INDEX event_by_project ON event(project, seq) WHERE project <> 'prj_default';
CREATE INDEX event_of_none ON event(seq) WHERE study IS NULL; -- what an operator sees is among these
CREATE TABLE import_of_project (
    project TEXT NOT NULL, sha256 TEXT NOT NULL, study TEXT REFERENCES study(id) ON DELETE CASCADE,
    game TEXT REFERENCES game(id) ON DELETE CASCADE, source TEXT NOT NULL, bytes INTEGER NOT NULL, at_ms INTEGER NOT NULL,
    PRIMARY KEY (project, sha256), CHECK ((study IS NULL) <> (game IS NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO import_of_project(project, sha256, study, game, source, bytes, at_ms)
    SELECT 'prj_default', sha256, study, game, source, bytes, at_ms FROM import;
DROP TABLE import;
ALTER TABLE import_of_project RENAME TO import;
CREATE INDEX import_by_study ON import(study) WHERE study IS NOT NULL;
CREATE INDEX import_by_game ON import(game) WHERE game IS NOT NULL;
-- Which token made another (NULL: it was made on the machine): it goes when that one does.  What a token was before it was
-- rotated, and until when that is good, too; and when it was last used, written some time later.
ALTER TABLE token ADD COLUMN parent TEXT;
ALTER TABLE token ADD COLUMN previous_hash BLOB;
ALTER TABLE token ADD COLUMN previous_until_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE token ADD COLUMN last_used_ms INTEGER NOT NULL DEFAULT 0;
UPDATE token SET parent = e.actor FROM (SELECT detail, actor FROM event WHERE study IS NULL AND kind = 'token.created') AS e
    WHERE e.detail = token.id AND e.actor IN (SELECT id FROM token);
CREATE INDEX token_by_parent ON token(parent) WHERE parent IS NOT NULL;
CREATE TRIGGER rotating_is_witnessed AFTER UPDATE OF hash ON token BEGIN UPDATE witness SET counter = counter + 1; END;
-- What a project may have and use (NULL: any amount), and has: studies with federations and games, trials, and bytes beside the
-- 1,000 that a trial stands for: what is said of trials, large points, 200 for a measurement, specifications, matrices of
-- candidates, copies of earlier studies, features of federations.  A study's extra_bytes go when it goes.
ALTER TABLE project ADD COLUMN cpu_seconds_a_day REAL;
ALTER TABLE project ADD COLUMN trials REAL;
ALTER TABLE project ADD COLUMN bytes REAL;
ALTER TABLE project ADD COLUMN studies REAL;
ALTER TABLE project ADD COLUMN requests_a_second REAL;
ALTER TABLE project ADD COLUMN burst REAL;
ALTER TABLE project ADD COLUMN used_studies INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN used_trials INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN used_extra INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN used_day INTEGER NOT NULL DEFAULT 0; -- since 1970, UTC; what was computed then
ALTER TABLE project ADD COLUMN used_cpu_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE study ADD COLUMN extra_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE study SET extra_bytes =
    coalesce((SELECT length(spec) FROM study_spec WHERE study_spec.study = study.id), 0) +
    coalesce((SELECT sum(length(data)) FROM candidates_piece WHERE candidates_piece.study = study.id), 0) +
    coalesce((SELECT sum(length(points) + length(data)) FROM transfer_source WHERE transfer_source.study = study.id), 0) +
    coalesce((SELECT 200 * count(*) FROM measurement WHERE measurement.study = study.id), 0) +
    coalesce((SELECT sum(max(coalesce(length(point), 0) - 400, 0) + length(coalesce(labels, '')) + length(coalesce(metadata, ''))
        + length(coalesce(notes, '')) + length(coalesce(artifacts, ''))) FROM trial WHERE trial.study = study.id), 0);
UPDATE project SET used_studies = (SELECT count(*) FROM study) + (SELECT count(*) FROM federation) + (SELECT count(*) FROM game),
    used_trials = (SELECT coalesce(sum(total), 0) FROM study),
    used_extra = (SELECT coalesce(sum(extra_bytes), 0) FROM study) + (SELECT coalesce(sum(length(features)), 0) FROM federation);
CREATE TRIGGER study_is_counted AFTER INSERT ON study BEGIN
    UPDATE project SET used_studies = used_studies + 1, used_trials = used_trials + NEW.total,
        used_extra = used_extra + NEW.extra_bytes WHERE id = NEW.project;
END;
CREATE TRIGGER study_is_recounted AFTER UPDATE OF total, extra_bytes ON study
    WHEN NEW.total <> OLD.total OR NEW.extra_bytes <> OLD.extra_bytes BEGIN
    UPDATE project SET used_trials = used_trials + NEW.total - OLD.total,
        used_extra = used_extra + NEW.extra_bytes - OLD.extra_bytes WHERE id = NEW.project;
END;
CREATE TRIGGER study_is_discounted AFTER DELETE ON study BEGIN
    UPDATE project SET used_studies = used_studies - 1, used_trials = used_trials - OLD.total,
        used_extra = used_extra - OLD.extra_bytes WHERE id = OLD.project;
END;
CREATE TRIGGER federation_is_counted AFTER INSERT ON federation BEGIN
    UPDATE project SET used_studies = used_studies + 1, used_extra = used_extra + length(NEW.features) WHERE id = NEW.project;
END;
CREATE TRIGGER federation_is_discounted AFTER DELETE ON federation BEGIN
    UPDATE project SET used_studies = used_studies - 1, used_extra = used_extra - length(OLD.features) WHERE id = OLD.project;
END;
CREATE TRIGGER game_is_counted AFTER INSERT ON game BEGIN
    UPDATE project SET used_studies = used_studies + 1 WHERE id = NEW.project;
END;
CREATE TRIGGER game_is_discounted AFTER DELETE ON game BEGIN
    UPDATE project SET used_studies = used_studies - 1 WHERE id = OLD.project;
END;
CREATE TRIGGER spec_weighs AFTER INSERT ON study_spec BEGIN
    UPDATE study SET extra_bytes = extra_bytes + length(NEW.spec) WHERE id = NEW.study;
END;
CREATE TRIGGER piece_weighs AFTER INSERT ON candidates_piece BEGIN
    UPDATE study SET extra_bytes = extra_bytes + length(NEW.data) WHERE id = NEW.study;
END;
CREATE TRIGGER piece_weighed AFTER DELETE ON candidates_piece BEGIN
    UPDATE study SET extra_bytes = extra_bytes - length(OLD.data) WHERE id = OLD.study;
END;
CREATE TRIGGER source_weighs AFTER INSERT ON transfer_source BEGIN
    UPDATE study SET extra_bytes = extra_bytes + length(NEW.points) + length(NEW.data) WHERE id = NEW.study;
END;
CREATE TRIGGER measurement_weighs AFTER INSERT ON measurement BEGIN
    UPDATE study SET extra_bytes = extra_bytes + 200 WHERE id = NEW.study;
END;
CREATE TRIGGER trial_weighs AFTER INSERT ON trial WHEN length(NEW.point) > 400 OR
    coalesce(NEW.labels, NEW.metadata, NEW.notes, NEW.artifacts) IS NOT NULL BEGIN
    UPDATE study SET extra_bytes = extra_bytes + max(coalesce(length(NEW.point), 0) - 400, 0) +
        length(coalesce(NEW.labels, '')) + length(coalesce(NEW.metadata, '')) + length(coalesce(NEW.notes, '')) +
        length(coalesce(NEW.artifacts, '')) WHERE id = NEW.study;
END;
CREATE TRIGGER words_weigh AFTER UPDATE OF labels, metadata, notes, artifacts ON trial BEGIN
    UPDATE study SET extra_bytes = extra_bytes + length(coalesce(NEW.labels, '')) - length(coalesce(OLD.labels, '')) +
        length(coalesce(NEW.metadata, '')) - length(coalesce(OLD.metadata, '')) + length(coalesce(NEW.notes, '')) -
        length(coalesce(OLD.notes, '')) + length(coalesce(NEW.artifacts, '')) - length(coalesce(OLD.artifacts, ''))
        WHERE id = NEW.study;
END;
-- The log is a chain (db/chain.h).  Of a line: what its words are salted with, so that their digest does not tell them once they
-- are deleted; that digest, when they are; and what the rows of the store were when it was written.
ALTER TABLE event ADD COLUMN salt BLOB;
ALTER TABLE event ADD COLUMN erased BLOB;
ALTER TABLE event ADD COLUMN bound BLOB;
DROP TRIGGER event_is_not_changed;
DROP TRIGGER event_is_not_deleted;
UPDATE event SET salt = randomblob(16) WHERE detail IS NOT NULL;
CREATE TRIGGER event_is_not_changed BEFORE UPDATE ON event WHEN
    (NEW.detail IS NOT OLD.detail AND NEW.detail IS NOT NULL) OR (NEW.salt IS NOT OLD.salt AND NEW.salt IS NOT NULL) OR
    (NEW.erased IS NOT OLD.erased AND OLD.erased IS NOT NULL) OR (NEW.bound IS NOT OLD.bound AND OLD.bound IS NOT NULL) OR
    NEW.seq <> OLD.seq OR NEW.at_ms <> OLD.at_ms OR NEW.kind <> OLD.kind OR NEW.study IS NOT OLD.study OR
    NEW.revision <> OLD.revision OR NEW.trial <> OLD.trial OR NEW.actor <> OLD.actor OR NEW.project <> OLD.project
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
-- What the chain has come to: its head after line seq.  Lines up to first_seq may be gone: it goes on from first_head.
CREATE TABLE chain (
    id INTEGER PRIMARY KEY CHECK (id = 1), first_seq INTEGER NOT NULL, first_head BLOB NOT NULL, seq INTEGER NOT NULL,
    head BLOB NOT NULL, at_ms INTEGER NOT NULL, total BLOB NOT NULL -- of the rows that are bound to it: db/sum.h
) STRICT;
INSERT INTO chain(id, first_seq, first_head, seq, head, at_ms, total) SELECT 1, first, zeroblob(32), first, zeroblob(32), 0, x''
    FROM (SELECT coalesce(min(seq), 1) - 1 AS first FROM event);
CREATE TRIGGER event_is_not_deleted BEFORE DELETE ON event WHEN OLD.seq > (SELECT first_seq FROM chain)
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
-- Each row has a sum of its columns (db/sum.h), which the driver makes: of those that were there, when the migrations are done.
ALTER TABLE study ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE study_spec ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trial ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trial_change ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE measurement ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE correction ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE event ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE token ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE idempotency ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE candidates ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE candidates_piece ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE curator_ledger ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE federation ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE federation_agent ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE federation_message ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE federation_ledger ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE federation_broadcast ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE game ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE game_play ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE transfer_source ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE received_round ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE operation ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE import ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sparkline ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE steady ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE witness ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
DROP TRIGGER ledger_is_not_changed;
CREATE TRIGGER ledger_is_not_changed BEFORE UPDATE OF federation, round, mechanism, epsilon, delta, total, sha256, at_ms ON
    federation_ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
DROP TRIGGER broadcast_is_not_changed;
CREATE TRIGGER broadcast_is_not_changed BEFORE UPDATE OF federation, round, messages, data, at_ms ON federation_broadcast
    BEGIN SELECT RAISE(ABORT, 'a broadcast is not changed'); END;
DROP TRIGGER matrix_is_witnessed;
CREATE TRIGGER matrix_is_witnessed AFTER UPDATE OF sha256 ON curator_ledger
    BEGIN UPDATE witness SET counter = counter + 1; END;
