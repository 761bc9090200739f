-- Proof per requirement: which success criteria of its feature's specification a task proves, and what was seen of each.
ALTER TABLE tasks ADD COLUMN proves TEXT NOT NULL DEFAULT '[]' CHECK (json_type(proves) = 'array');

DROP TRIGGER unsaved_changed;
CREATE TRIGGER unsaved_changed
AFTER UPDATE OF title, description, status, priority, parent, kind, agent, model, gates, max_retries, allow_tampering, expect_red, locks, paths,
    tags, context, output, timeout, on_fail, emptied, satisfied, origin, discovered_from, proves, retries, verification, updated_at ON tasks BEGIN
    INSERT INTO unsaved VALUES (coalesce(new.feature, 0)) ON CONFLICT DO NOTHING;
END;

-- What shows that a criterion is met. The newest of a criterion counts, and that of a task only while the task is done by the attempt
-- that showed it.
CREATE TABLE proofs (
    n         INTEGER PRIMARY KEY,
    feature   INTEGER NOT NULL REFERENCES features (n) ON DELETE CASCADE,
    criterion TEXT    NOT NULL,
    text      TEXT    NOT NULL, -- of the criterion at that time: other words are another criterion
    kind      TEXT    NOT NULL CHECK (kind IN ('test', 'verdict', 'person', 'none')),
    task      TEXT    NOT NULL, -- its ID, which outlives its row where another branch lacks the task; '' where a person says it
    attempt   TEXT    NOT NULL,
    author    TEXT    NOT NULL, -- the verifier or the person; '' for a test
    gate      TEXT    NOT NULL, -- the command that was seen to fail and to pass
    shown     TEXT    NOT NULL, -- what failed without the work, or what the author says; for none, why there is no proof
    base      TEXT    NOT NULL, -- the tree on which it failed
    at_commit TEXT    NOT NULL, -- what was looked at; '' where git has none
    at        INTEGER NOT NULL
) STRICT;
CREATE INDEX proofs_feature ON proofs (feature, criterion, n);
CREATE INDEX proofs_task    ON proofs (task) WHERE task <> '';

-- What a task showed is gone with its work: whoever says that it is done shows nothing.
CREATE TRIGGER proofs_reopened AFTER UPDATE OF status ON tasks WHEN old.status = 'done' AND new.status <> 'done' BEGIN
    DELETE FROM proofs WHERE task = old.id AND task <> '';
END;
