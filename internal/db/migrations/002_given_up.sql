-- A group that a person marked as failed keeps back all below it, also in runs that
-- keep going when a task of a group fails. Until now nothing told the two apart: a group
-- that failed without a failed task below it was marked by a person.

ALTER TABLE tasks ADD COLUMN given_up INTEGER NOT NULL DEFAULT 0 CHECK (given_up IN (0, 1));

UPDATE tasks SET given_up = 1
WHERE status = 'failed' AND children > 0
    AND NOT EXISTS (SELECT 1 FROM tasks c WHERE c.parent = tasks.n AND c.status = 'failed');

WITH RECURSIVE sub (n) AS (
    SELECT c.n FROM tasks p JOIN tasks c ON c.parent = p.n WHERE p.given_up
    UNION
    SELECT c.n FROM sub JOIN tasks c ON c.parent = sub.n
)
UPDATE tasks SET held = 1 WHERE n IN (SELECT n FROM sub);
