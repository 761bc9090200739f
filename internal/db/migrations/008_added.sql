-- Tasks that agents added while they worked. Those that are to be subtasks of the caller wait for it like any other:
-- what an agent is at work on has no subtasks. They become its subtasks when it is done.
CREATE TABLE added (
    task    INTEGER PRIMARY KEY REFERENCES tasks (n) ON DELETE CASCADE,
    caller  INTEGER REFERENCES tasks (n) ON DELETE CASCADE,
    attempt TEXT    NOT NULL,
    depth   INTEGER NOT NULL CHECK (depth > 0), -- how many agents' additions lead to it
    below   INTEGER NOT NULL CHECK (below IN (0, 1)), -- it is to be a subtask of the caller, and is not yet
    closing INTEGER NOT NULL CHECK (closing IN (0, 1)) -- when it is done, the caller's work is looked at once more
) STRICT;
CREATE INDEX added_caller  ON added (caller);
CREATE INDEX added_attempt ON added (attempt);
