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
