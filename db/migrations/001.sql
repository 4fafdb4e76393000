-- The first schema.  It was released, so this file stays as it is: what changes the schema is the next one, 002.sql.
-- Times are milliseconds since 1970 on the wall clock, but for those that decide something (lease_ms, deadline_ms, and
-- when a key or a refusal came), which are of the clock that the table steady keeps.  ids are made by the service, exact
-- vectors are little-endian doubles in blobs.  event is the log: never changed, never deleted (triggers).
CREATE TABLE steady (
    id INTEGER PRIMARY KEY CHECK (id = 1), boot TEXT NOT NULL, offset_ms INTEGER NOT NULL,
    noted_ms INTEGER NOT NULL, noted_wall_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE study (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, state TEXT NOT NULL, reason TEXT,
    labels TEXT NOT NULL, notes TEXT NOT NULL, budget INTEGER NOT NULL, revision INTEGER NOT NULL,
    version INTEGER NOT NULL, total INTEGER NOT NULL, queued INTEGER NOT NULL, running INTEGER NOT NULL,
    completed INTEGER NOT NULL, failed INTEGER NOT NULL, infeasible INTEGER NOT NULL, abandoned INTEGER NOT NULL,
    stopped INTEGER NOT NULL, best_trial INTEGER NOT NULL, best_value REAL, created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    imported INTEGER NOT NULL DEFAULT 0 -- trials whose results came from elsewhere: they do not count against the budget
) STRICT, WITHOUT ROWID;
CREATE INDEX study_by_age ON study(created_ms DESC, id DESC);
-- Apart from the rest: SQLite copies the row that it compares an id with, and a specification may be a megabyte.
CREATE TABLE study_spec (
    study TEXT PRIMARY KEY REFERENCES study(id) ON DELETE CASCADE, spec TEXT NOT NULL
) STRICT;

CREATE TABLE trial (
    study TEXT NOT NULL REFERENCES study(id) ON DELETE CASCADE, number INTEGER NOT NULL, state TEXT NOT NULL,
    point BLOB, row INTEGER NOT NULL, worker TEXT NOT NULL, lease_ms INTEGER NOT NULL,
    value REAL, stddev REAL, reason TEXT, external_id TEXT,
    algorithm TEXT, fallback TEXT, seen INTEGER NOT NULL, observations INTEGER NOT NULL, model_mean REAL,
    model_stddev REAL, milliseconds REAL NOT NULL, note BLOB, created_ms INTEGER NOT NULL, finished_ms INTEGER NOT NULL,
    outcome BLOB, feasible INTEGER NOT NULL DEFAULT 0,
    diagnostics TEXT, -- JSON
    -- how many leases it has had; whose the last one is or was; whether one was taken from a worker that may live
    lease INTEGER NOT NULL, holder TEXT NOT NULL, taken_over INTEGER NOT NULL,
    PRIMARY KEY (study, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX trial_by_state ON trial(study, state, number);
CREATE UNIQUE INDEX trial_by_external_id ON trial(study, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX trial_by_row ON trial(study, row) WHERE row >= 0;

CREATE TABLE event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, study TEXT,
    revision INTEGER NOT NULL, trial INTEGER NOT NULL, actor TEXT NOT NULL, detail TEXT
) STRICT;
CREATE INDEX event_by_study ON event(study, seq);
CREATE TRIGGER event_is_not_changed BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER event_is_not_deleted BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;

CREATE TABLE operation (
    id TEXT PRIMARY KEY, study TEXT NOT NULL REFERENCES study(id) ON DELETE CASCADE, state TEXT NOT NULL,
    actor TEXT NOT NULL, count INTEGER NOT NULL, worker TEXT NOT NULL, fixed BLOB, deadline_ms INTEGER NOT NULL,
    trials BLOB, revision INTEGER NOT NULL, code TEXT, detail TEXT, created_ms INTEGER NOT NULL,
    finished_ms INTEGER NOT NULL,
    retry_after_seconds INTEGER NOT NULL DEFAULT 0 -- of a failure: when the same request may be made again; 0: it need not be
) STRICT, WITHOUT ROWID;
CREATE INDEX operation_by_state ON operation(state, study);
CREATE INDEX operation_by_study ON operation(study); -- for when a study goes

-- What was measured of running trials; a trial's curve is what came under its last lease.  note: what the rule wants to
-- find again.
CREATE TABLE measurement (
    study TEXT NOT NULL REFERENCES study(id) ON DELETE CASCADE, trial INTEGER NOT NULL, lease INTEGER NOT NULL,
    step INTEGER NOT NULL, value REAL NOT NULL, revision INTEGER NOT NULL, at_ms INTEGER NOT NULL, stop INTEGER NOT NULL,
    reason TEXT NOT NULL, next_step INTEGER NOT NULL, note BLOB,
    PRIMARY KEY (study, trial, lease, step)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX measurement_by_revision ON measurement(study, revision);

-- Earlier studies that a study learns from, as they were when it was created.  source is no reference: that study may go.
CREATE TABLE transfer_source (
    study TEXT NOT NULL REFERENCES study(id) ON DELETE CASCADE, position INTEGER NOT NULL, source TEXT, name TEXT NOT NULL,
    revision INTEGER NOT NULL, skipped INTEGER NOT NULL, matrix TEXT NOT NULL, points BLOB NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (study, position)
) STRICT;

CREATE TABLE token (
    id TEXT PRIMARY KEY, hash BLOB NOT NULL, name TEXT NOT NULL, scope TEXT NOT NULL, resource TEXT,
    agent TEXT NOT NULL, created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, revoked_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
    token TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, status INTEGER NOT NULL, reply TEXT NOT NULL,
    location TEXT, etag TEXT, created_ms INTEGER NOT NULL, PRIMARY KEY (token, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency(created_ms);

CREATE TABLE candidates (
    study TEXT PRIMARY KEY REFERENCES study(id) ON DELETE CASCADE, manifest TEXT NOT NULL, sha256 TEXT NOT NULL,
    bytes INTEGER NOT NULL, received_bytes INTEGER NOT NULL, complete INTEGER NOT NULL, attempt INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE candidates_piece (
    study TEXT NOT NULL REFERENCES candidates(study) ON DELETE CASCADE, start INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (study, start)
) STRICT;
CREATE TABLE candidates_refusal (
    study TEXT NOT NULL REFERENCES study(id) ON DELETE CASCADE, at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX candidates_refusal_by_study ON candidates_refusal(study, at_ms);
-- What is known of each curator's ledger: the head after each of its lines, and which matrix was released with it.  A
-- ledger that was taken back to an earlier copy, or goes on twice, has another head somewhere.  Outlives the studies.
CREATE TABLE curator_ledger (
    curator_key TEXT NOT NULL, ledger TEXT NOT NULL, seq INTEGER NOT NULL, head TEXT NOT NULL,
    sha256 TEXT NOT NULL, -- of the matrix; '' for a line that was not seen with one
    PRIMARY KEY (curator_key, ledger, seq)
) STRICT, WITHOUT ROWID;

-- The broadcast of a round exists only with its line in the ledger, which is never changed and outlives the federation
-- (epsilon of this broadcast, total with it; NULL: no privacy was promised).
CREATE TABLE federation (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, state TEXT NOT NULL, reason TEXT, spec TEXT NOT NULL,
    features BLOB NOT NULL, features_sha256 TEXT NOT NULL, version INTEGER NOT NULL, registered INTEGER NOT NULL,
    round INTEGER NOT NULL, received INTEGER NOT NULL, deadline_ms INTEGER NOT NULL, epsilon REAL NOT NULL,
    created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX federation_by_age ON federation(created_ms DESC, id DESC);
CREATE TABLE federation_agent (
    federation TEXT NOT NULL REFERENCES federation(id) ON DELETE CASCADE, seat INTEGER NOT NULL, name TEXT NOT NULL,
    token TEXT NOT NULL, study TEXT, created_ms INTEGER NOT NULL, PRIMARY KEY (federation, seat)
) STRICT, WITHOUT ROWID;
CREATE TABLE federation_message (
    federation TEXT NOT NULL REFERENCES federation(id) ON DELETE CASCADE, round INTEGER NOT NULL,
    seat INTEGER NOT NULL, data BLOB NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (federation, round, seat)
) STRICT;
CREATE TABLE federation_ledger (
    federation TEXT NOT NULL, round INTEGER NOT NULL, mechanism TEXT NOT NULL, epsilon REAL,
    delta REAL, total REAL, sha256 TEXT NOT NULL, at_ms INTEGER NOT NULL,
    PRIMARY KEY (federation, round)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER ledger_is_not_changed BEFORE UPDATE ON federation_ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_is_not_deleted BEFORE DELETE ON federation_ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TABLE federation_broadcast (
    federation TEXT NOT NULL REFERENCES federation(id) ON DELETE CASCADE, round INTEGER NOT NULL,
    messages INTEGER NOT NULL, data BLOB NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (federation, round),
    FOREIGN KEY (federation, round) REFERENCES federation_ledger(federation, round)
) STRICT;
CREATE TRIGGER broadcast_is_not_changed BEFORE UPDATE ON federation_broadcast
    BEGIN SELECT RAISE(ABORT, 'a broadcast is not changed'); END;

-- A game, and what every agent did in every round; rounds counts those that are complete.
CREATE TABLE game (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, state TEXT NOT NULL, reason TEXT, spec TEXT NOT NULL,
    budget INTEGER NOT NULL, rounds INTEGER NOT NULL, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX game_by_age ON game(created_ms DESC, id DESC);
CREATE TABLE game_play (
    game TEXT NOT NULL REFERENCES game(id) ON DELETE CASCADE, round INTEGER NOT NULL, agent INTEGER NOT NULL,
    point BLOB, row INTEGER NOT NULL, payoff REAL, at_ms INTEGER NOT NULL, PRIMARY KEY (game, round, agent)
) STRICT, WITHOUT ROWID;
