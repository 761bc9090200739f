-- Plans for several people: what tasks say more about themselves, tasks that nobody will do, and groups without subtasks.

ALTER TABLE tasks ADD COLUMN tags      TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(tags) = 'array');
ALTER TABLE tasks ADD COLUMN origin    TEXT;    -- what it is called where it comes from: a later import finds it by that
ALTER TABLE tasks ADD COLUMN context   TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(context) = 'array'); -- commands: what they print is part of the prompt
ALTER TABLE tasks ADD COLUMN output    TEXT;    -- the name under which tasks that wait for it get its result
ALTER TABLE tasks ADD COLUMN timeout   INTEGER CHECK (timeout > 0); -- milliseconds; NULL means the configured one
ALTER TABLE tasks ADD COLUMN on_fail   TEXT    CHECK (on_fail = 'continue'); -- who waits for it goes on if it fails
ALTER TABLE tasks ADD COLUMN satisfied INTEGER NOT NULL DEFAULT 0 CHECK (satisfied IN (0, 1)); -- it is cancelled, and nobody needs to wait for it
ALTER TABLE tasks ADD COLUMN emptied   INTEGER NOT NULL DEFAULT 0 CHECK (emptied IN (0, 1));   -- a group that lost its last subtask
ALTER TABLE tasks ADD COLUMN discovered_from TEXT; -- the task whose agent found it
CREATE INDEX tasks_origin ON tasks (origin) WHERE origin IS NOT NULL;
CREATE INDEX tasks_tagged ON tasks (n) WHERE tags <> '[]';

-- Tasks that have to do with each other, without an order. a < b.
CREATE TABLE related (
    a INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    b INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    PRIMARY KEY (a, b),
    CHECK (a < b)
) STRICT, WITHOUT ROWID;
CREATE INDEX related_b ON related (b, a);

-- What an import said of a task last: the next one of the same file changes only what is different from it.
CREATE TABLE imported (
    task INTEGER PRIMARY KEY REFERENCES tasks (n) ON DELETE CASCADE,
    line TEXT    NOT NULL
) STRICT;

-- A run of the tasks with a tag.
ALTER TABLE runs ADD COLUMN scope_tag TEXT;

-- As in 004 and 007, the queue is made again, with all that names it.
DROP TRIGGER counts_added;
DROP TRIGGER counts_changed;
DROP TRIGGER counts_deleted;
DROP TRIGGER requests_ended;
DROP INDEX queue_all;
DROP INDEX queue_feature;
DROP INDEX queue_locks;
DROP INDEX queue_finished;
DROP INDEX tasks_kept;
DROP INDEX tasks_agent;
ALTER TABLE tasks DROP COLUMN queue;
ALTER TABLE tasks ADD COLUMN queue INTEGER GENERATED ALWAYS AS (
    CASE WHEN status = 'pending' AND children = 0 AND emptied = 0 AND open_deps = 0
          AND held = 0 AND paused = 0 AND leaving IS NULL AND not_before = 0 AND review = 0 AND asks = 0
    THEN doomed END
) VIRTUAL;
-- Nobody has to wait for it.
ALTER TABLE tasks ADD COLUMN satisfies INTEGER GENERATED ALWAYS AS (
    status = 'done' OR status = 'cancelled' AND satisfied OR status = 'failed' AND on_fail IS NOT NULL
) VIRTUAL;

-- A sixth status. SQLite can widen a CHECK only in the text of the schema, and reads that again at RESET.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''failed'', ''blocked'')', '''failed'', ''blocked'', ''cancelled'')') WHERE type = 'table' AND name = 'tasks';
PRAGMA writable_schema = RESET;

CREATE INDEX queue_all      ON tasks (queue, priority, n) WHERE queue IS NOT NULL;
CREATE INDEX queue_feature  ON tasks (feature, queue, priority, n) WHERE queue IS NOT NULL;
CREATE INDEX queue_locks    ON tasks (lockset, priority, n, queue) WHERE queue IS NOT NULL;
CREATE INDEX queue_finished ON tasks (queue, priority, n) WHERE queue IS NOT NULL AND unverified IS NOT NULL;
CREATE INDEX tasks_kept     ON tasks (queue) WHERE status IN ('pending', 'blocked') AND children = 0 AND queue IS NOT 0;
CREATE INDEX tasks_agent    ON tasks (agent) WHERE agent IS NOT NULL AND children = 0 AND status NOT IN ('done', 'failed', 'cancelled');

CREATE TRIGGER counts_added AFTER INSERT ON tasks BEGIN
    INSERT INTO counts VALUES (0, new.status, new.children > 0, coalesce(new.queue, -1), 1)
    ON CONFLICT DO UPDATE SET tasks = tasks + 1;
    INSERT INTO counts SELECT new.feature, new.status, new.children > 0, coalesce(new.queue, -1), 1 WHERE new.feature IS NOT NULL
    ON CONFLICT DO UPDATE SET tasks = tasks + 1;
END;

CREATE TRIGGER counts_changed
AFTER UPDATE OF feature, status, children, emptied, open_deps, held, doomed, paused, leaving, not_before, review, asks ON tasks
WHEN old.status <> new.status OR (old.children > 0) <> (new.children > 0) OR old.queue IS NOT new.queue OR old.feature IS NOT new.feature
BEGIN
    UPDATE counts SET tasks = tasks - 1
    WHERE feature IN (0, old.feature) AND status = old.status AND grouped = (old.children > 0) AND queue = coalesce(old.queue, -1);
    INSERT INTO counts VALUES (0, new.status, new.children > 0, coalesce(new.queue, -1), 1)
    ON CONFLICT DO UPDATE SET tasks = tasks + 1;
    INSERT INTO counts SELECT new.feature, new.status, new.children > 0, coalesce(new.queue, -1), 1 WHERE new.feature IS NOT NULL
    ON CONFLICT DO UPDATE SET tasks = tasks + 1;
END;

CREATE TRIGGER counts_deleted AFTER DELETE ON tasks BEGIN
    UPDATE counts SET tasks = tasks - 1
    WHERE feature IN (0, old.feature) AND status = old.status AND grouped = (old.children > 0) AND queue = coalesce(old.queue, -1);
END;

CREATE TRIGGER requests_ended AFTER UPDATE OF status ON tasks WHEN new.status IN ('done', 'failed', 'cancelled') AND old.status <> new.status BEGIN
    UPDATE requests SET state = 'withdrawn', answered_at = new.updated_at, reason = 'the task is ' || new.status
    WHERE task = new.n AND state = 'open' AND kind <> 'permission' AND (kind <> 'message' OR new.status <> 'failed');
END;
