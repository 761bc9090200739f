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
