-- Tasks in which a reviewer looks at the whole change of a feature, and, as round 0, those that findings became.
CREATE TABLE reviews (
    task  INTEGER PRIMARY KEY REFERENCES tasks (n) ON DELETE CASCADE,
    focus TEXT    NOT NULL,
    round INTEGER NOT NULL CHECK (round >= 0)
) STRICT;
