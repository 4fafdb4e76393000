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
-- Lists of operations, in their order.
DROP INDEX operation_by_study;
CREATE INDEX operation_by_study ON operation(study, created_ms, id);
CREATE INDEX operation_by_actor ON operation(actor, created_ms, id);
CREATE INDEX operation_by_age ON operation(created_ms, id);
