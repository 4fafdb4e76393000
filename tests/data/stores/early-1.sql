-- The first schema.  Times are milliseconds since 1970, ids are made by the service, exact vectors are little-endian
-- doubles in blobs.  event is the log: never changed, never deleted (triggers).
CREATE TABLE study (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, state TEXT NOT NULL, reason TEXT, spec TEXT NOT NULL,
    labels TEXT NOT NULL, notes TEXT NOT NULL, budget INTEGER NOT NULL, revision INTEGER NOT NULL,
    version INTEGER NOT NULL, total INTEGER NOT NULL, queued INTEGER NOT NULL, running INTEGER NOT NULL,
    completed INTEGER NOT NULL, failed INTEGER NOT NULL, infeasible INTEGER NOT NULL, abandoned INTEGER NOT NULL,
    best_trial INTEGER NOT NULL, best_value REAL, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX study_by_age ON study(created_ms DESC, id DESC);

CREATE TABLE trial (
    study TEXT NOT NULL REFERENCES study(id) ON DELETE CASCADE, number INTEGER NOT NULL, state TEXT NOT NULL,
    point BLOB, row INTEGER NOT NULL, worker TEXT NOT NULL, lease_ms INTEGER NOT NULL,
    value REAL, stddev REAL, reason TEXT, external_id TEXT,
    policy TEXT, fallback TEXT, seen INTEGER NOT NULL, observations INTEGER NOT NULL, mean REAL, sd REAL,
    milliseconds REAL NOT NULL, note BLOB, created_ms INTEGER NOT NULL, finished_ms INTEGER NOT NULL,
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

CREATE TABLE token (
    id TEXT PRIMARY KEY, hash BLOB NOT NULL, name TEXT NOT NULL, scope TEXT NOT NULL, study TEXT,
    created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, revoked_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
    token TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, status INTEGER NOT NULL, reply TEXT NOT NULL,
    created_ms INTEGER NOT NULL, PRIMARY KEY (token, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency(created_ms);

CREATE TABLE candidates (
    study TEXT PRIMARY KEY REFERENCES study(id) ON DELETE CASCADE, manifest TEXT NOT NULL, sha256 TEXT NOT NULL,
    bytes INTEGER NOT NULL, received INTEGER NOT NULL, complete INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE candidates_piece (
    study TEXT NOT NULL REFERENCES candidates(study) ON DELETE CASCADE, start INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (study, start)
) STRICT;
