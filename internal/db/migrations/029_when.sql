-- What earlier tasks have to have come to for a task to be worked on, and what a task tells people instead of being worked on.
ALTER TABLE tasks ADD COLUMN [when] TEXT CHECK (json_type([when]) = 'object');
ALTER TABLE tasks ADD COLUMN notify TEXT;
CREATE INDEX tasks_when ON tasks (queue) WHERE [when] IS NOT NULL;

-- What such a condition looks at: how the script of an attempt ended, and the end of what it printed or its agent said. NULL where nothing is known.
ALTER TABLE attempts ADD COLUMN exit_status INTEGER;
ALTER TABLE attempts ADD COLUMN printed TEXT;
