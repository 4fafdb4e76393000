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
