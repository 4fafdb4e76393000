-- Begins with the state: an index that begins with the study is as good to PostgreSQL as the key when it looks a trial up by its
-- number, and goes along the whole study for each.
DROP INDEX trial_by_state;
CREATE INDEX trial_by_state ON trial(state, study, number);
INSERT INTO sqlite_stat1(tbl, idx, stat) VALUES ('trial', 'trial_by_state', '1000000 250000 1000 1');

-- Who works on an operation: the server, which time it is that somebody does, until when he has it if he is not heard of, and
-- how far he is.  What runs already is nobody's, so whoever looks first has it.
ALTER TABLE operation ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE operation ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0;
ALTER TABLE operation ADD COLUMN lease_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE operation ADD COLUMN progress BLOB;
