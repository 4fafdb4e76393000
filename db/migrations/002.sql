-- What is known of each curator's ledger: the head after each of its lines, and which matrix was released with it.  A
-- ledger that was taken back to an earlier copy, or goes on twice, has another head somewhere.  Outlives the studies.
CREATE TABLE curator_ledger (
    curator_key TEXT NOT NULL, ledger TEXT NOT NULL, seq INTEGER NOT NULL, head TEXT NOT NULL,
    sha256 TEXT NOT NULL, -- of the matrix; '' for a line that was not seen with one
    PRIMARY KEY (curator_key, ledger, seq)
) STRICT, WITHOUT ROWID;
DROP TABLE candidates_release; -- another matrix of the same data is for the ledger to charge
