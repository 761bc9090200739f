-- Plans in files, which git carries: what each file said when file and database last agreed.
CREATE TABLE synced (
    path  TEXT    PRIMARY KEY, -- below the project, with slashes; git's index stands for whether git carries any of them
    size  INTEGER NOT NULL,
    mtime INTEGER NOT NULL,    -- nanoseconds
    inode INTEGER NOT NULL,
    fresh INTEGER NOT NULL CHECK (fresh IN (0, 1)), -- a change right after that could leave the file looking the same
    base  TEXT    NOT NULL     -- the file that the database took in or wrote: both sides of a merge come from it
) STRICT;

-- Features, and 0 for tasks of none, whose plan may differ from their file. Triggers keep it, so that
-- no statement can forget to. A new dependency changes updated_at: a trigger on its table would cost an import a fifth more.
CREATE TABLE unsaved (feature INTEGER PRIMARY KEY) STRICT;

CREATE TRIGGER unsaved_added AFTER INSERT ON tasks BEGIN
    INSERT INTO unsaved VALUES (coalesce(new.feature, 0)) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER unsaved_changed
AFTER UPDATE OF title, description, status, priority, parent, kind, agent, model, gates, max_retries, allow_tampering, expect_red, locks, paths,
    tags, context, output, timeout, on_fail, emptied, satisfied, origin, discovered_from, retries, verification, updated_at ON tasks BEGIN
    INSERT INTO unsaved VALUES (coalesce(new.feature, 0)) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER unsaved_moved AFTER UPDATE OF feature ON tasks WHEN old.feature IS NOT new.feature BEGIN
    INSERT INTO unsaved VALUES (coalesce(old.feature, 0)), (coalesce(new.feature, 0)) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER unsaved_deleted AFTER DELETE ON tasks BEGIN
    INSERT INTO unsaved VALUES (coalesce(old.feature, 0)) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER unsaved_unlinked AFTER DELETE ON dependencies BEGIN
    INSERT INTO unsaved SELECT coalesce(feature, 0) FROM tasks WHERE n = old.blocked ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER unsaved_related AFTER INSERT ON related BEGIN
    INSERT INTO unsaved SELECT coalesce(feature, 0) FROM tasks WHERE n IN (new.a, new.b) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER unsaved_unrelated AFTER DELETE ON related BEGIN
    INSERT INTO unsaved SELECT coalesce(feature, 0) FROM tasks WHERE n IN (old.a, old.b) ON CONFLICT DO NOTHING;
END;

-- A file that comes back is news then.
CREATE TRIGGER synced_forgotten AFTER DELETE ON features BEGIN
    DELETE FROM synced WHERE path = '.ralph/features/' || old.name || '/tasks.jsonl';
    DELETE FROM unsaved WHERE feature = old.n;
END;

-- Tasks of no feature have a file of their own.
CREATE INDEX tasks_loose ON tasks (n) WHERE feature IS NULL;

-- What only the database knew of tasks whose line is gone from their file. It is given back with the line, which
-- another branch may have.
CREATE TABLE gone (
    id     TEXT    PRIMARY KEY,
    n      INTEGER NOT NULL, -- which it gets again unless another task has it
    record TEXT    NOT NULL CHECK (json_type(record) = 'object')
) STRICT;
