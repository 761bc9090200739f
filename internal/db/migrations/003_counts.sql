-- How many tasks there are of each kind, in every feature and, as feature 0, in all: a run asks
-- at every claim, and counting costs more the larger the graph is. Triggers keep them, so that no
-- statement can forget to. `ralph doctor` recomputes them.

CREATE TABLE counts (
    feature INTEGER NOT NULL,
    status  TEXT    NOT NULL,
    grouped INTEGER NOT NULL, -- has subtasks
    queue   INTEGER NOT NULL, -- as in tasks; -1 for NULL
    tasks   INTEGER NOT NULL, -- a wrong one must not end runs, so nothing is CHECKed
    PRIMARY KEY (feature, status, grouped, queue)
) STRICT, WITHOUT ROWID;

INSERT INTO counts
SELECT 0, status, children > 0, coalesce(queue, -1), count(*) FROM tasks GROUP BY 2, 3, 4
UNION ALL
SELECT feature, status, children > 0, coalesce(queue, -1), count(*) FROM tasks WHERE feature IS NOT NULL GROUP BY 1, 2, 3, 4;

CREATE TRIGGER counts_added AFTER INSERT ON tasks BEGIN
    INSERT INTO counts VALUES (0, new.status, new.children > 0, coalesce(new.queue, -1), 1)
    ON CONFLICT DO UPDATE SET tasks = tasks + 1;
    INSERT INTO counts SELECT new.feature, new.status, new.children > 0, coalesce(new.queue, -1), 1 WHERE new.feature IS NOT NULL
    ON CONFLICT DO UPDATE SET tasks = tasks + 1;
END;

CREATE TRIGGER counts_changed
AFTER UPDATE OF feature, status, children, open_deps, held, doomed, paused, leaving, not_before ON tasks
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

-- tasks_status and tasks_groups, which counted until now, stay: a run of an older ralph that is at work
-- names them, and would end at its next claim. These list tasks that are few, or that no transition changes.
CREATE INDEX tasks_feature ON tasks (feature) WHERE feature IS NOT NULL;
CREATE INDEX tasks_failed  ON tasks (status) WHERE status = 'failed';
CREATE INDEX tasks_kept    ON tasks (queue) WHERE status IN ('pending', 'blocked') AND children = 0 AND queue IS NOT 0;
CREATE INDEX tasks_by_hand ON tasks (finished_at)
    WHERE status = 'done' AND children = 0 AND coalesce(verification, 'failed') = 'failed';
CREATE INDEX tasks_agent   ON tasks (agent) WHERE agent IS NOT NULL AND children = 0 AND status NOT IN ('done', 'failed');

-- What attempts used that are over, added up by run, by feature and by the quarter of an hour in which they began (days
-- begin at a quarter in every time zone): budgets ask at every claim.
ALTER TABLE attempts ADD COLUMN feature INTEGER; -- that its task is in, as long as there is one
UPDATE attempts SET feature = (SELECT feature FROM tasks WHERE n = task);
CREATE INDEX attempts_feature ON attempts (feature, outcome, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX attempts_outcome ON attempts (outcome, ended_at) WHERE ended_at IS NOT NULL;

CREATE VIEW used AS
SELECT n, run, task, feature, started_at, ended_at, coalesce(ended_at IS NOT NULL AND outcome NOT IN ('limited', 'interrupted'), 0) AS attempts,
    tokens_in, tokens_cached, tokens_out, cost_usd, cost_estimated, cost_unknown,
    coalesce(iif(outcome = 'limited', 0, coalesce(ended_at, heartbeat_at) - started_at), 0) AS worked
FROM attempts;

CREATE VIEW used_by AS
SELECT n, column1 AS scope, CASE column1 WHEN 'run' THEN run WHEN 'feature' THEN coalesce(feature, 0) ELSE started_at / 900000 END AS key,
    attempts, tokens_in, tokens_cached, tokens_out, cost_usd, cost_estimated, cost_unknown, worked
FROM used CROSS JOIN (VALUES ('run'), ('feature'), ('quarter')) WHERE ended_at IS NOT NULL;

CREATE TABLE spent (
    scope          TEXT    NOT NULL,
    key            INTEGER NOT NULL,
    attempts       INTEGER NOT NULL,
    tokens_in      INTEGER,
    tokens_cached  INTEGER,
    tokens_out     INTEGER,
    cost_usd       REAL,
    cost_estimated INTEGER NOT NULL, -- how many are
    cost_unknown   INTEGER NOT NULL,
    worked         INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

INSERT INTO spent
SELECT scope, key, sum(attempts), sum(tokens_in), sum(tokens_cached), sum(tokens_out), sum(cost_usd), sum(cost_estimated), sum(cost_unknown), sum(worked)
FROM used_by GROUP BY 1, 2;

CREATE TRIGGER spent_less
BEFORE UPDATE OF feature, ended_at, outcome, tokens_in, tokens_cached, tokens_out, cost_usd, cost_estimated, cost_unknown ON attempts
WHEN old.ended_at IS NOT NULL BEGIN
    INSERT INTO spent
    SELECT scope, key, -attempts, -tokens_in, -tokens_cached, -tokens_out, -cost_usd, -cost_estimated, -cost_unknown, -worked FROM used_by WHERE n = old.n
    ON CONFLICT DO UPDATE SET attempts = attempts + excluded.attempts, tokens_in = coalesce(tokens_in + excluded.tokens_in, tokens_in),
        tokens_cached = coalesce(tokens_cached + excluded.tokens_cached, tokens_cached), tokens_out = coalesce(tokens_out + excluded.tokens_out, tokens_out),
        cost_usd = coalesce(cost_usd + excluded.cost_usd, cost_usd), cost_estimated = cost_estimated + excluded.cost_estimated,
        cost_unknown = cost_unknown + excluded.cost_unknown, worked = worked + excluded.worked;
END;

CREATE TRIGGER spent_more
AFTER UPDATE OF feature, ended_at, outcome, tokens_in, tokens_cached, tokens_out, cost_usd, cost_estimated, cost_unknown ON attempts
WHEN new.ended_at IS NOT NULL BEGIN
    INSERT INTO spent
    SELECT scope, key, attempts, tokens_in, tokens_cached, tokens_out, cost_usd, cost_estimated, cost_unknown, worked FROM used_by WHERE n = new.n
    ON CONFLICT DO UPDATE SET attempts = attempts + excluded.attempts,
        tokens_in = coalesce(tokens_in + excluded.tokens_in, tokens_in, excluded.tokens_in),
        tokens_cached = coalesce(tokens_cached + excluded.tokens_cached, tokens_cached, excluded.tokens_cached),
        tokens_out = coalesce(tokens_out + excluded.tokens_out, tokens_out, excluded.tokens_out),
        cost_usd = coalesce(cost_usd + excluded.cost_usd, cost_usd, excluded.cost_usd), cost_estimated = cost_estimated + excluded.cost_estimated,
        cost_unknown = cost_unknown + excluded.cost_unknown, worked = worked + excluded.worked;
END;

CREATE TRIGGER attempts_added AFTER INSERT ON attempts BEGIN
    UPDATE attempts SET feature = (SELECT feature FROM tasks WHERE n = new.task) WHERE n = new.n;
END;
CREATE TRIGGER attempts_moved AFTER UPDATE OF feature ON tasks WHEN old.feature IS NOT new.feature BEGIN
    UPDATE attempts SET feature = new.feature WHERE task = new.n;
END;
CREATE TRIGGER attempts_left AFTER UPDATE OF task ON attempts WHEN new.task IS NULL BEGIN
    UPDATE attempts SET feature = NULL WHERE n = new.n;
END;
