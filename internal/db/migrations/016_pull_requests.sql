-- Pull requests of features, so that a kill forgets neither which there are nor what was made of them.
CREATE TABLE pull_requests (
    feature INTEGER PRIMARY KEY REFERENCES features (n) ON DELETE CASCADE,
    remote  TEXT    NOT NULL,
    branch  TEXT    NOT NULL,
    number  INTEGER NOT NULL CHECK (number > 0),
    url     TEXT    NOT NULL,
    round   INTEGER NOT NULL DEFAULT 0 CHECK (round >= 0), -- how many commits had something that became a task
    looked  TEXT    -- the last of those commits
) STRICT;

-- Red checks and comments that became tasks, also if the tasks were deleted since.
CREATE TABLE pull_findings (
    feature INTEGER NOT NULL REFERENCES features (n) ON DELETE CASCADE,
    name    TEXT    NOT NULL, -- the origin of the task
    task    TEXT    NOT NULL, -- its ID
    PRIMARY KEY (feature, name)
) STRICT, WITHOUT ROWID;

-- Issues that were told that their task has landed. One that was begun and not posted may have been told: the forge knows.
CREATE TABLE issue_comments (
    issue  TEXT    PRIMARY KEY, -- OWNER/NAME#NUMBER
    posted INTEGER NOT NULL CHECK (posted IN (0, 1)),
    at     INTEGER NOT NULL
) STRICT;
