-- A proof may be partial: the tests of the work did not build or load without it, or have no names.
DROP TRIGGER proofs_reopened;
CREATE TABLE proofs_new (
    n         INTEGER PRIMARY KEY,
    feature   INTEGER NOT NULL REFERENCES features (n) ON DELETE CASCADE,
    criterion TEXT    NOT NULL,
    text      TEXT    NOT NULL, -- of the criterion at that time: other words are another criterion
    kind      TEXT    NOT NULL CHECK (kind IN ('test', 'partial', 'verdict', 'person', 'none')),
    task      TEXT    NOT NULL, -- its ID, which outlives its row where another branch lacks the task; '' where a person says it
    attempt   TEXT    NOT NULL,
    author    TEXT    NOT NULL, -- the verifier or the person; '' for a test
    gate      TEXT    NOT NULL, -- the command that was seen to fail and to pass
    shown     TEXT    NOT NULL, -- what failed without the work, or what the author says; for partial and none, what is missing
    base      TEXT    NOT NULL, -- the tree on which it failed
    at_commit TEXT    NOT NULL, -- what was looked at; '' where git has none
    at        INTEGER NOT NULL
) STRICT;
INSERT INTO proofs_new SELECT n, feature, criterion, text, kind, task, attempt, author, gate, shown, base, at_commit, at FROM proofs;
DROP TABLE proofs;
ALTER TABLE proofs_new RENAME TO proofs;
CREATE INDEX proofs_feature ON proofs (feature, criterion, n);
CREATE INDEX proofs_task    ON proofs (task) WHERE task <> '';
CREATE TRIGGER proofs_reopened AFTER UPDATE OF status ON tasks WHEN old.status = 'done' AND new.status <> 'done' BEGIN
    DELETE FROM proofs WHERE task = old.id AND task <> '';
END;
