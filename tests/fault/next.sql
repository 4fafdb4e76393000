-- A migration that the product does not have, for the tests of migrations: what comes after its last schema.  A table that
-- others refer to is made anew, as SQLite wants it for what ALTER TABLE cannot do; every trial is written again.
DROP TRIGGER play_weighs; -- names the table that is made anew
CREATE TABLE game_next (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, state TEXT NOT NULL, reason TEXT, spec TEXT NOT NULL,
    budget INTEGER NOT NULL, rounds INTEGER NOT NULL, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,
    project TEXT NOT NULL DEFAULT 'prj_default' REFERENCES project(id),
    sum INTEGER NOT NULL DEFAULT 0, played INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO game_next SELECT g.*, (SELECT count(*) FROM game_play p WHERE p.game = g.id) FROM game g;
DROP TABLE game;
ALTER TABLE game_next RENAME TO game;
CREATE INDEX game_by_age ON game(project, created_ms DESC, id DESC);
ALTER TABLE trial ADD COLUMN cost REAL;
UPDATE trial SET cost = milliseconds * 0.001;
CREATE INDEX trial_by_cost ON trial(study, cost);
