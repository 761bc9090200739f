-- How often entries of knowledge were part of a prompt, and what came of that. The entries are people's files under
-- version control, so the counts are here.
CREATE TABLE knowledge_uses (
    entry   TEXT    PRIMARY KEY, -- a sum of its title and its text: one that says something else starts over
    used    INTEGER NOT NULL CHECK (used > 0),
    done    INTEGER NOT NULL CHECK (done BETWEEN 0 AND used),
    idle    INTEGER NOT NULL CHECK (idle BETWEEN 0 AND used), -- tasks in a row, up to now, that were not done with it
    task    TEXT    NOT NULL, -- the last one
    used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
