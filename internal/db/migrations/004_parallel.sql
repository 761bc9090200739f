-- Agents side by side: the queue of work that is to land, and locks. The triggers release
-- what an attempt holds, so that no statement can forget to, not even one of an older ralph that is at work.

ALTER TABLE tasks ADD COLUMN locks  TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(locks) = 'array');
ALTER TABLE tasks ADD COLUMN paths  TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(paths) = 'array'); -- globs: what it will touch
ALTER TABLE tasks ADD COLUMN review INTEGER NOT NULL DEFAULT 0 CHECK (review IN (0, 1)); -- a person is to accept its work
-- What tasks have in common that can be claimed alike. Neither a name nor JSON has a line feed.
ALTER TABLE tasks ADD COLUMN lockset TEXT GENERATED ALWAYS AS (coalesce(agent, '') || char(10) || locks || paths) VIRTUAL;

-- Work that is to be reviewed is not in the queue. An expression cannot be changed, so the column is made again,
-- with all that names it, and as it was called: an older ralph names it too.
DROP TRIGGER counts_added;
DROP TRIGGER counts_changed;
DROP TRIGGER counts_deleted;
DROP INDEX queue_all;
DROP INDEX queue_feature;
DROP INDEX tasks_kept;
ALTER TABLE tasks DROP COLUMN queue;
ALTER TABLE tasks ADD COLUMN queue INTEGER GENERATED ALWAYS AS (
    CASE WHEN status = 'pending' AND children = 0 AND open_deps = 0
          AND held = 0 AND paused = 0 AND leaving IS NULL AND not_before = 0 AND review = 0
    THEN doomed END
) VIRTUAL;

CREATE INDEX queue_all      ON tasks (queue, priority, n) WHERE queue IS NOT NULL;
CREATE INDEX queue_feature  ON tasks (feature, queue, priority, n) WHERE queue IS NOT NULL;
CREATE INDEX queue_locks    ON tasks (lockset, priority, n, queue) WHERE queue IS NOT NULL;
CREATE INDEX queue_finished ON tasks (queue, priority, n) WHERE queue IS NOT NULL AND unverified IS NOT NULL;
CREATE INDEX tasks_kept     ON tasks (queue) WHERE status IN ('pending', 'blocked') AND children = 0 AND queue IS NOT 0;

CREATE TRIGGER counts_added AFTER INSERT ON tasks BEGIN
    INSERT INTO counts VALUES (0, new.status, new.children > 0, coalesce(new.queue, -1), 1)
    ON CONFLICT DO UPDATE SET tasks = tasks + 1;
    INSERT INTO counts SELECT new.feature, new.status, new.children > 0, coalesce(new.queue, -1), 1 WHERE new.feature IS NOT NULL
    ON CONFLICT DO UPDATE SET tasks = tasks + 1;
END;

CREATE TRIGGER counts_changed
AFTER UPDATE OF feature, status, children, open_deps, held, doomed, paused, leaving, not_before, review ON tasks
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

-- n is the order in which work lands. A row is open while an attempt has it: held work, accepted or not, enters
-- the queue again, as a row of its own. task is NULL once the task is deleted: what landed stays known.
CREATE TABLE merges (
    n         INTEGER PRIMARY KEY,
    task      INTEGER REFERENCES tasks (n) ON DELETE SET NULL,
    task_id   TEXT    NOT NULL,
    attempt   TEXT    NOT NULL,
    target    TEXT    NOT NULL,
    base      TEXT    NOT NULL, -- the commit below the work
    work      TEXT    NOT NULL, -- the commit that is the work
    patch     TEXT    NOT NULL, -- what tells whether two works are the same
    onto      TEXT,             -- what the candidate was built on
    candidate TEXT,             -- the commit that is tested and lands
    accepted  INTEGER NOT NULL DEFAULT 0 CHECK (accepted IN (0, 1)), -- by a person
    reason    TEXT,             -- why it was dropped
    at        INTEGER NOT NULL,
    ended_at  INTEGER,
    state     TEXT    NOT NULL CHECK (state IN ('testing', 'green', 'held', 'landing', 'landed', 'dropped')),
    CHECK ((onto IS NULL) = (candidate IS NULL)),
    CHECK ((ended_at IS NULL) = (state NOT IN ('landed', 'dropped')))
) STRICT;

CREATE UNIQUE INDEX merges_landing ON merges (target) WHERE state = 'landing';
CREATE INDEX merges_state   ON merges (state, n);
CREATE INDEX merges_task    ON merges (task, n) WHERE task IS NOT NULL;
CREATE INDEX merges_attempt ON merges (attempt, n);

-- The slot that it works in. It holds the lock "slot:N" as long as it uses it.
ALTER TABLE attempts ADD COLUMN slot INTEGER CHECK (slot > 0);
CREATE INDEX attempts_slot ON attempts (slot) WHERE slot IS NOT NULL;

-- What only so many may have at once: what tasks name, slots, and places of agents.
CREATE TABLE locks (
    name    TEXT NOT NULL,
    attempt TEXT NOT NULL,
    task_id TEXT NOT NULL, -- of the attempt: a claim reads all locks
    PRIMARY KEY (name, attempt)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX locks_slot ON locks (name) WHERE name GLOB 'slot:*';

-- When each agent may start its next attempt.
CREATE TABLE agent_starts (
    agent TEXT    PRIMARY KEY,
    next  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The end of an attempt takes its work out of the queue, whoever ends it. What is landing stays: only
-- who looks at the target knows whether it did.
CREATE TRIGGER merges_abandoned AFTER UPDATE OF ended_at ON attempts WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL BEGIN
    UPDATE merges SET state = 'dropped', ended_at = new.ended_at, reason = concat_ws(': ', new.outcome, new.reason)
    WHERE attempt = new.id AND state IN ('testing', 'green');
END;

-- Its locks are free then, unless a person took the task away: until the agent is gone, it still uses what they stand for.
CREATE TRIGGER attempts_over AFTER UPDATE OF ended_at ON attempts
WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tasks WHERE leaving = new.id) BEGIN
    DELETE FROM locks WHERE attempt = new.id;
END;

-- No run leaves anything behind, whatever became of its attempts and of their tasks.
CREATE TRIGGER runs_over AFTER UPDATE OF ended_at ON runs WHEN new.ended_at IS NOT NULL BEGIN
    DELETE FROM locks WHERE (SELECT run FROM attempts WHERE id = attempt) = new.n;
END;

-- Held work is that of the attempt which its task names.
CREATE TRIGGER merges_recalled AFTER UPDATE OF unverified ON tasks
WHEN old.unverified IS NOT NULL AND new.unverified IS NOT old.unverified BEGIN
    UPDATE merges SET state = 'dropped', ended_at = new.updated_at, reason = 'the task was made ' || new.status WHERE task = new.n AND state = 'held';
    UPDATE tasks SET review = 0 WHERE n = new.n AND review = 1;
END;

CREATE TRIGGER merges_orphaned AFTER UPDATE OF task ON merges WHEN new.task IS NULL AND new.state IN ('testing', 'green', 'held') BEGIN
    UPDATE merges SET state = 'dropped', ended_at = CAST(unixepoch('subsec') * 1000 AS INTEGER), reason = 'the task was deleted' WHERE n = new.n;
END;

-- Tasks that take back the work of others, which are open again when that lands.
CREATE TABLE undoes (
    task   INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    undone INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    PRIMARY KEY (task, undone)
) STRICT, WITHOUT ROWID;
CREATE INDEX undoes_undone ON undoes (undone);
