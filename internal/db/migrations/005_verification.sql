-- What a person may do about rejected work goes by why it was rejected. Until now only the text of the reason said so.
ALTER TABLE attempts ADD COLUMN rejected TEXT;
UPDATE attempts SET rejected = CASE
    WHEN said GLOB 'incomplete: *' THEN 'incomplete'
    WHEN said GLOB 'conflict: *' THEN 'conflict'
    WHEN said GLOB 'tampering: *' THEN 'tampering'
    WHEN said GLOB 'gate "*' THEN 'gate'
    WHEN said GLOB 'nothing changed: *' THEN 'unchanged'
    WHEN said GLOB 'verdict: *' THEN 'verdict' END
FROM (SELECT n AS of, iif(reason GLOB 'not verified after * retries: *', substr(reason, instr(reason, ' retries: ') + 10), reason) AS said FROM attempts)
WHERE attempts.n = of AND outcome IN ('retried', 'failed');

-- The work of this attempt was rejected, and a person accepted it: the status that the task had then.
ALTER TABLE attempts ADD COLUMN accepted TEXT CHECK (accepted IN ('pending', 'failed'));

-- The gate that has to fail after the work: tests are written first.
ALTER TABLE tasks ADD COLUMN expect_red TEXT;

-- Tasks in which a reviewer looks at the whole change of a feature, and, as round 0, those that findings became.
CREATE TABLE reviews (
    task  INTEGER PRIMARY KEY REFERENCES tasks (n) ON DELETE CASCADE,
    focus TEXT    NOT NULL,
    round INTEGER NOT NULL CHECK (round >= 0)
) STRICT;

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
