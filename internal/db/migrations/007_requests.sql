-- What agents, people and runs ask of each other: a request is a row, and its answer is the other half of that row. Triggers
-- keep what follows from it, so that no statement can forget to, not even one of an older ralph that is at work.

CREATE TABLE requests (
    n            INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    kind         TEXT    NOT NULL,
    task         INTEGER REFERENCES tasks (n) ON DELETE SET NULL, -- that asks, or that is told something
    task_id      TEXT,
    attempt      TEXT, -- that asks
    run          TEXT,
    sender       TEXT    NOT NULL,
    text         TEXT    NOT NULL,
    options      TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(options) = 'array'),
    fallback     TEXT, -- the answer if nobody gives one until it expires
    detail       TEXT    CHECK (json_type(detail) = 'object'),
    parks        INTEGER NOT NULL DEFAULT 0 CHECK (parks IN (0, 1)), -- its task is not claimed while it is open
    at           INTEGER NOT NULL,
    expires_at   INTEGER,
    state        TEXT    NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'answered', 'expired', 'withdrawn', 'received')),
    answer       TEXT,
    denied       INTEGER NOT NULL DEFAULT 0 CHECK (denied IN (0, 1)),
    answered_at  INTEGER, -- or when it was over for another reason
    answered_by  TEXT,
    answered_via TEXT,
    reason       TEXT, -- why it was withdrawn
    received_by  TEXT, -- the attempt that got it
    received_at  INTEGER,
    past         INTEGER NOT NULL DEFAULT 0 CHECK (past IN (0, 1)), -- its task was reset since
    CHECK ((state = 'open') = (answered_at IS NULL))
) STRICT;

CREATE INDEX requests_open    ON requests (n) WHERE state = 'open';
CREATE INDEX requests_expires ON requests (expires_at) WHERE state = 'open' AND expires_at IS NOT NULL;
CREATE INDEX requests_task    ON requests (task, n) WHERE task IS NOT NULL;

-- Who changed something by hand, and from where.
CREATE TABLE audit (
    n       INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    who     TEXT    NOT NULL,
    via     TEXT    NOT NULL,
    action  TEXT    NOT NULL,
    task_id TEXT,
    request TEXT,
    text    TEXT    NOT NULL
) STRICT;

-- How many open requests keep the task from being claimed. `ralph doctor` recomputes it.
ALTER TABLE tasks ADD COLUMN asks INTEGER NOT NULL DEFAULT 0 CHECK (asks >= 0);
CREATE INDEX tasks_asks ON tasks (n) WHERE asks > 0;

-- Such a task is not in the queue. As in 004, the column is made again, with all that names it.
DROP TRIGGER counts_added;
DROP TRIGGER counts_changed;
DROP TRIGGER counts_deleted;
DROP INDEX queue_all;
DROP INDEX queue_feature;
DROP INDEX queue_locks;
DROP INDEX queue_finished;
DROP INDEX tasks_kept;
ALTER TABLE tasks DROP COLUMN queue;
ALTER TABLE tasks ADD COLUMN queue INTEGER GENERATED ALWAYS AS (
    CASE WHEN status = 'pending' AND children = 0 AND open_deps = 0
          AND held = 0 AND paused = 0 AND leaving IS NULL AND not_before = 0 AND review = 0 AND asks = 0
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
AFTER UPDATE OF feature, status, children, open_deps, held, doomed, paused, leaving, not_before, review, asks ON tasks
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

CREATE TRIGGER asks_added AFTER INSERT ON requests WHEN new.parks AND new.state = 'open' BEGIN
    UPDATE tasks SET asks = asks + 1 WHERE n = new.task;
END;
CREATE TRIGGER asks_over AFTER UPDATE OF state ON requests WHEN old.parks AND old.state = 'open' AND new.state <> 'open' BEGIN
    UPDATE tasks SET asks = max(asks - 1, 0) WHERE n = new.task;
END;
CREATE TRIGGER asks_again AFTER UPDATE OF state ON requests WHEN new.parks AND old.state <> 'open' AND new.state = 'open' BEGIN
    UPDATE tasks SET asks = asks + 1 WHERE n = new.task;
END;
CREATE TRIGGER asks_deleted AFTER DELETE ON requests WHEN old.parks AND old.state = 'open' BEGIN
    UPDATE tasks SET asks = max(asks - 1, 0) WHERE n = old.task;
END;

-- Nobody needs the answer to a question whose task has ended, began anew or is gone. A rule about what agents may do is
-- useful later, too, and what a person said to a task is true of its next attempt.
CREATE TRIGGER requests_ended AFTER UPDATE OF status ON tasks WHEN new.status IN ('done', 'failed') AND old.status <> new.status BEGIN
    UPDATE requests SET state = 'withdrawn', answered_at = new.updated_at, reason = 'the task is ' || new.status
    WHERE task = new.n AND state = 'open' AND kind <> 'permission' AND (kind <> 'message' OR new.status = 'done');
END;
CREATE TRIGGER requests_reset AFTER UPDATE OF started_at ON tasks WHEN old.started_at IS NOT NULL AND new.started_at IS NULL BEGIN
    UPDATE requests SET state = 'withdrawn', answered_at = new.updated_at, reason = 'the task was reset'
    WHERE task = new.n AND state = 'open' AND kind NOT IN ('permission', 'message');
    UPDATE requests SET past = 1 WHERE task = new.n AND state <> 'open';
END;
CREATE TRIGGER requests_orphaned AFTER UPDATE OF task ON requests WHEN new.task IS NULL AND new.state = 'open' AND new.kind <> 'permission' BEGIN
    UPDATE requests SET state = 'withdrawn', answered_at = CAST(unixepoch('subsec') * 1000 AS INTEGER), reason = 'the task was deleted' WHERE n = new.n;
END;

-- What is for one attempt ends with it, however it ends: it was asked to stop, or the run told it something that nobody heard.
CREATE TRIGGER requests_attempt AFTER UPDATE OF ended_at ON attempts WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL BEGIN
    UPDATE requests SET state = 'received', answered_at = new.ended_at, received_by = new.id, received_at = new.ended_at
    WHERE task = new.task AND state = 'open' AND kind = 'stop' AND attempt = new.id;
    UPDATE requests SET state = 'withdrawn', answered_at = new.ended_at, reason = 'the attempt has ended'
    WHERE task = new.task AND state = 'open' AND kind = 'message' AND attempt = new.id;
END;

-- An attempt that ended with a question is no failure: it is charged to no budget of attempts.
DROP VIEW used;
CREATE VIEW used AS
SELECT n, run, task, feature, started_at, ended_at, coalesce(ended_at IS NOT NULL AND outcome NOT IN ('limited', 'interrupted', 'asked'), 0) AS attempts,
    tokens_in, tokens_cached, tokens_out, cost_usd, cost_estimated, cost_unknown,
    coalesce(iif(outcome = 'limited', 0, coalesce(ended_at, heartbeat_at) - started_at), 0) AS worked
FROM attempts;
