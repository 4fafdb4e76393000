-- Names that changed on the wire, in what is stored as JSON.
UPDATE trial SET diagnostics = json_remove(json_set(diagnostics, '$.fit_ms', json_extract(diagnostics, '$.fit_milliseconds'),
    '$.acquisition', replace(json_extract(diagnostics, '$.acquisition'), 'scalarised', 'scalarized')), '$.fit_milliseconds')
    WHERE diagnostics IS NOT NULL;
UPDATE study_spec SET spec = json_remove(json_set(spec, '$.algorithm.seat', json_extract(spec, '$.algorithm.agent')),
    '$.algorithm.agent') WHERE json_extract(spec, '$.algorithm.agent') IS NOT NULL;
-- How many studies and trials are in each state, for who asks often.
CREATE TABLE tally (
    thing TEXT NOT NULL, state TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (thing, state)
) STRICT, WITHOUT ROWID;
INSERT INTO tally(thing, state, count) SELECT 'study', state, count(*) FROM study GROUP BY state;
INSERT INTO tally(thing, state, count) SELECT 'trial', state, count(*) FROM trial GROUP BY state;
CREATE TRIGGER study_comes AFTER INSERT ON study BEGIN
    INSERT INTO tally(thing, state, count) VALUES ('study', NEW.state, 1)
        ON CONFLICT (thing, state) DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER study_moves AFTER UPDATE OF state ON study WHEN OLD.state <> NEW.state BEGIN
    UPDATE tally SET count = count - 1 WHERE thing = 'study' AND state = OLD.state;
    INSERT INTO tally(thing, state, count) VALUES ('study', NEW.state, 1)
        ON CONFLICT (thing, state) DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER study_goes AFTER DELETE ON study BEGIN
    UPDATE tally SET count = count - 1 WHERE thing = 'study' AND state = OLD.state;
END;
CREATE TRIGGER trial_comes AFTER INSERT ON trial BEGIN
    INSERT INTO tally(thing, state, count) VALUES ('trial', NEW.state, 1)
        ON CONFLICT (thing, state) DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER trial_moves AFTER UPDATE OF state ON trial WHEN OLD.state <> NEW.state BEGIN
    UPDATE tally SET count = count - 1 WHERE thing = 'trial' AND state = OLD.state;
    INSERT INTO tally(thing, state, count) VALUES ('trial', NEW.state, 1)
        ON CONFLICT (thing, state) DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER trial_goes AFTER DELETE ON trial BEGIN
    UPDATE tally SET count = count - 1 WHERE thing = 'trial' AND state = OLD.state;
END;
-- What is said of a trial besides its result (JSON texts and a text; NULL: nothing); when its present lease began; which
-- line of the log ended it; when its result was last corrected or retracted; whether it came with an import.
ALTER TABLE trial ADD COLUMN labels TEXT;
ALTER TABLE trial ADD COLUMN metadata TEXT;
ALTER TABLE trial ADD COLUMN notes TEXT;
ALTER TABLE trial ADD COLUMN artifacts TEXT;
ALTER TABLE trial ADD COLUMN duration_seconds REAL;
ALTER TABLE trial ADD COLUMN started_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trial ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trial ADD COLUMN corrected_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trial ADD COLUMN imported INTEGER NOT NULL DEFAULT 0;
UPDATE trial SET ended = e.revision FROM (SELECT study, trial, max(revision) AS revision FROM event WHERE kind IN
    ('trial.observed', 'trial.failed', 'trial.infeasible', 'trial.abandoned', 'trial.stopped') GROUP BY study, trial) AS e
    WHERE e.study = trial.study AND e.trial = trial.number AND trial.state NOT IN ('queued', 'running');
UPDATE trial SET started_ms = e.at_ms FROM (SELECT study, trial, max(at_ms) AS at_ms FROM event WHERE kind IN
    ('trial.suggested', 'trial.started', 'trial.handed_over') GROUP BY study, trial) AS e
    WHERE e.study = trial.study AND e.trial = trial.number AND trial.lease > 0 AND trial.state <> 'queued';
ALTER TABLE study ADD COLUMN retracted INTEGER NOT NULL DEFAULT 0;
-- What the result of a trial was until the line revision of the log corrected or retracted it; ended: the line that had
-- brought it.
CREATE TABLE correction (
    study TEXT NOT NULL REFERENCES study(id) ON DELETE CASCADE, trial INTEGER NOT NULL, revision INTEGER NOT NULL,
    ended INTEGER NOT NULL, state TEXT NOT NULL, value REAL, stddev REAL, reason TEXT, outcome BLOB,
    at_ms INTEGER NOT NULL, actor TEXT NOT NULL, why TEXT, PRIMARY KEY (study, trial, revision)
) STRICT, WITHOUT ROWID;
-- An asynchronous suggestion's own words for its trials: a JSON object.
ALTER TABLE operation ADD COLUMN said TEXT;
-- What a forecast said of the value, noise included; what the algorithm was asked (service/store/asked.h); what the
-- stopping rule had seen of the log when it judged a measurement (0: the line before it).
ALTER TABLE trial ADD COLUMN model_stddev_observed REAL;
ALTER TABLE trial ADD COLUMN asked BLOB;
ALTER TABLE measurement ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;
UPDATE trial SET diagnostics = json_insert(diagnostics, '$.kernel', NULL, '$.output', NULL) WHERE diagnostics IS NOT NULL;
-- Which exports were imported, by the digest of the file, and what they became.
CREATE TABLE import (
    sha256 TEXT PRIMARY KEY, study TEXT REFERENCES study(id) ON DELETE CASCADE,
    game TEXT REFERENCES game(id) ON DELETE CASCADE, source TEXT NOT NULL, bytes INTEGER NOT NULL, at_ms INTEGER NOT NULL,
    CHECK ((study IS NULL) <> (game IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX import_by_study ON import(study) WHERE study IS NOT NULL; -- for when one goes
CREATE INDEX import_by_game ON import(game) WHERE game IS NOT NULL;
-- What an imported agent of a federation was sent where it comes from.
CREATE TABLE received_round (
    study TEXT NOT NULL REFERENCES study(id) ON DELETE CASCADE, round INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (study, round)
) STRICT;
-- The revision at which the study's space grew last; 0: it is as it was created.
ALTER TABLE study ADD COLUMN space_revision INTEGER NOT NULL DEFAULT 0;
-- When each trial was last spoken of in the log.  Apart from trial, whose rows may hold an image.
CREATE TABLE trial_change (
    of_study TEXT NOT NULL REFERENCES study(id) ON DELETE CASCADE, of_trial INTEGER NOT NULL, changed_ms INTEGER NOT NULL,
    PRIMARY KEY (of_study, of_trial)
) STRICT, WITHOUT ROWID;
INSERT INTO trial_change(of_study, of_trial, changed_ms) SELECT study, trial, max(at_ms) FROM event
    WHERE trial > 0 AND study IN (SELECT id FROM study) GROUP BY study, trial;
-- The orders in which lists are read, and what of them is asked for.
CREATE INDEX trial_by_change ON trial_change(of_study, changed_ms, of_trial);
CREATE INDEX trial_by_value ON trial(study, value, number) WHERE value IS NOT NULL;
CREATE INDEX trial_by_finish ON trial(study, finished_ms, number) WHERE finished_ms > 0;
CREATE INDEX trial_by_worker ON trial(study, worker, number) WHERE worker <> '';
CREATE INDEX study_by_change ON study(updated_ms, id);
-- What the planner cannot know of an empty store, and nobody counts later: studies are large, and few of their trials wait
-- or run.  Without it every suggestion goes along all trials of its study.  The numbers: rows, and how many are alike in
-- the first columns of the index.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1(tbl, idx, stat) VALUES
    ('trial', 'trial', '1000000 10000 1'), ('trial', 'trial_by_state', '1000000 10000 100 1'),
    ('trial', 'trial_by_external_id', '1000000 10000 1'), ('trial', 'trial_by_row', '1000000 10000 2'),
    ('trial', 'trial_by_value', '1000000 10000 2 1'), ('trial', 'trial_by_finish', '1000000 10000 5 1'),
    ('trial', 'trial_by_worker', '1000000 10000 1000 1'),
    ('trial_change', 'trial_change', '1000000 10000 1'), ('trial_change', 'trial_by_change', '1000000 10000 5 1');
