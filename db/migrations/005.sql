-- Lines of the log go when they are old and nothing is left of what they are about (db/chain.h).  Their digests stay, 32 bytes
-- each, so that the chain can be followed through them, and a head that was written down before can still be compared.
CREATE TABLE log_gap (
    first INTEGER PRIMARY KEY, last INTEGER NOT NULL, digests BLOB NOT NULL, sum INTEGER NOT NULL DEFAULT 0,
    CHECK (length(digests) = 32 * (last - first + 1))
) STRICT;
-- Whose lines went, up to which one and how often, so that who follows the log learns that he was away for too long.  'none':
-- what operators see.
CREATE TABLE log_gone (
    project TEXT PRIMARY KEY, last INTEGER NOT NULL, times INTEGER NOT NULL, sum INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
DROP TRIGGER event_is_not_deleted;
CREATE TRIGGER event_is_not_deleted BEFORE DELETE ON event WHEN OLD.seq > (SELECT first_seq FROM chain) AND
    OLD.seq > coalesce((SELECT last FROM log_gap WHERE first <= OLD.seq ORDER BY first DESC LIMIT 1), 0)
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
