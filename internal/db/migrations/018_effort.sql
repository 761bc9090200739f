-- How long the model of a task may think; NULL leaves it to the run, and then to the model.
ALTER TABLE tasks ADD COLUMN effort TEXT CHECK (effort IN ('low', 'medium', 'high'));

DROP TRIGGER unsaved_changed;
CREATE TRIGGER unsaved_changed
AFTER UPDATE OF title, description, status, priority, parent, kind, agent, model, effort, gates, max_retries, allow_tampering, expect_red, locks, paths,
    tags, context, output, timeout, on_fail, emptied, satisfied, origin, discovered_from, proves, retries, verification, updated_at ON tasks BEGIN
    INSERT INTO unsaved VALUES (coalesce(new.feature, 0)) ON CONFLICT DO NOTHING;
END;
