-- When schedules were due, and what became of it. A row is made before anything is started, and who makes it starts it: nobody else does.
CREATE TABLE schedule_fires (
    n        INTEGER PRIMARY KEY,
    name     TEXT    NOT NULL,
    line     TEXT    NOT NULL, -- the cron line and its zone: with another one a schedule has no past
    due_at   INTEGER NOT NULL, -- the first time that the row stands for
    until_at INTEGER CHECK (until_at >= due_at), -- the clock goes on after this time; NULL for what a person started
    count    INTEGER NOT NULL CHECK (count >= 0), -- of the times that it stands for, as far as somebody counted
    at       INTEGER NOT NULL,
    state    TEXT    NOT NULL CHECK (state IN ('seen', 'claimed', 'started', 'skipped', 'missed', 'failed')),
    note     TEXT,
    pid       INTEGER NOT NULL, -- who claimed it, and then what was started
    pid_start INTEGER NOT NULL,
    boot_id   TEXT    NOT NULL,
    pid_ns    TEXT    NOT NULL
) STRICT;
CREATE INDEX schedule_fires_name ON schedule_fires (name, n);
CREATE UNIQUE INDEX schedule_fires_due ON schedule_fires (name, line, due_at) WHERE state IN ('claimed', 'started', 'failed') AND until_at IS NOT NULL;

-- Requests from outside that were accepted, so that none does something twice. A row is made before it does anything, and kept:
-- a signature of GitHub is good for ever.
CREATE TABLE deliveries (
    n         INTEGER PRIMARY KEY,
    hook      TEXT    NOT NULL,
    delivery  TEXT    NOT NULL, -- the sender's ID
    signature TEXT    NOT NULL, -- a hash of what was signed
    at        INTEGER NOT NULL,
    did       TEXT, -- NULL if ralph was killed meanwhile
    pid       INTEGER NOT NULL DEFAULT 0, -- of the run that it started
    pid_start INTEGER NOT NULL DEFAULT 0,
    boot_id   TEXT    NOT NULL DEFAULT '',
    pid_ns    TEXT    NOT NULL DEFAULT '',
    UNIQUE (hook, delivery),
    UNIQUE (hook, signature)
) STRICT;
