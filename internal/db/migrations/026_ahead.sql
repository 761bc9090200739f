-- Work on top of held work: the task whose work, which has not landed, this one is worked on with, or was finished with.
ALTER TABLE tasks ADD COLUMN stands_on INTEGER;
CREATE INDEX tasks_standing   ON tasks (stands_on) WHERE stands_on IS NOT NULL;
CREATE INDEX tasks_unverified ON tasks (unverified) WHERE unverified IS NOT NULL;

-- The same of an entry, by its ID. Sound is an entry of which nothing is in doubt but whether a person wants it: others may begin on it.
ALTER TABLE merges ADD COLUMN stands_on TEXT;
ALTER TABLE merges ADD COLUMN sound     INTEGER NOT NULL DEFAULT 0 CHECK (sound IN (0, 1));
