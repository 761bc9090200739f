-- Which of the files that check its work a task may change, in the place of whether it may change any.
ALTER TABLE tasks ADD COLUMN may_change TEXT NOT NULL DEFAULT '[]' CHECK (json_type(may_change) = 'array'); -- globs

DROP TRIGGER unsaved_changed;
UPDATE tasks SET may_change = '["**"]' WHERE allow_tampering = 1;
ALTER TABLE tasks DROP COLUMN allow_tampering;
-- A run of an older ralph that is at work reads it with every claim.
ALTER TABLE tasks ADD COLUMN allow_tampering INTEGER GENERATED ALWAYS AS (may_change = '["**"]') VIRTUAL;
CREATE TRIGGER unsaved_changed
AFTER UPDATE OF title, description, status, priority, parent, kind, agent, model, effort, gates, max_retries, may_change, expect_red, locks, paths,
    tags, context, output, timeout, on_fail, emptied, satisfied, origin, discovered_from, proves, retries, verification, updated_at ON tasks BEGIN
    INSERT INTO unsaved VALUES (coalesce(new.feature, 0)) ON CONFLICT DO NOTHING;
END;
