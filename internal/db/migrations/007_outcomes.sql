-- Which outcomes there are is said in one place, and that is not here.
CREATE TABLE journal_new (
    n               INTEGER PRIMARY KEY,
    at              INTEGER NOT NULL,
    run             TEXT    NOT NULL,
    attempt         TEXT,
    iteration       INTEGER NOT NULL,
    task            TEXT    NOT NULL,
    feature         TEXT,
    title           TEXT    NOT NULL,
    outcome         TEXT    NOT NULL,
    reason          TEXT    NOT NULL DEFAULT '',
    notes           TEXT    NOT NULL DEFAULT '',
    agent           TEXT,
    model           TEXT,
    model_effective TEXT,
    stop_reason     TEXT,
    duration_ms     INTEGER NOT NULL DEFAULT 0,
    tokens_in       INTEGER,
    tokens_cached   INTEGER,
    tokens_out      INTEGER,
    cost_usd        REAL,
    cost_estimated  INTEGER NOT NULL DEFAULT 0 CHECK (cost_estimated IN (0, 1)),
    cost_unknown    INTEGER NOT NULL DEFAULT 0 CHECK (cost_unknown IN (0, 1)),
    files           TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(files) = 'array')
) STRICT;
INSERT INTO journal_new SELECT * FROM journal;
DROP TRIGGER journal_deleted;
DROP TABLE journal;
ALTER TABLE journal_new RENAME TO journal;

CREATE INDEX journal_run  ON journal (run, n);
CREATE INDEX journal_task ON journal (task, n);

CREATE TRIGGER journal_added AFTER INSERT ON journal BEGIN
    INSERT INTO journal_fts (rowid, notes, title, reason) VALUES (new.n, new.notes, new.title, new.reason);
END;

CREATE TRIGGER journal_deleted AFTER DELETE ON journal BEGIN
    INSERT INTO journal_fts (journal_fts, rowid, notes, title, reason)
    VALUES ('delete', old.n, old.notes, old.title, old.reason);
END;

CREATE TRIGGER journal_updated AFTER UPDATE OF notes, title, reason ON journal BEGIN
    INSERT INTO journal_fts (journal_fts, rowid, notes, title, reason)
    VALUES ('delete', old.n, old.notes, old.title, old.reason);
    INSERT INTO journal_fts (rowid, notes, title, reason) VALUES (new.n, new.notes, new.title, new.reason);
END;
