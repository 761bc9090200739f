-- The graph, its history and its memory. Times are Unix milliseconds UTC.
-- n is the order of creation; id is what people type.

CREATE TABLE features (
    n          INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    name       TEXT    NOT NULL UNIQUE COLLATE NOCASE,
    -- How far planning came. The status people see is rolled up from the tasks
    -- when it is read, so that it can never be stale.
    stage      TEXT    NOT NULL DEFAULT 'draft' CHECK (stage IN ('draft', 'planned')),
    gates      TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(gates) = 'array'),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE tasks (
    n               INTEGER PRIMARY KEY,
    id              TEXT    NOT NULL UNIQUE,
    status          TEXT    NOT NULL DEFAULT 'pending'
                    CHECK (status IN ('pending', 'in_progress', 'done', 'failed', 'blocked')),
    priority        INTEGER NOT NULL DEFAULT 0,
    parent          INTEGER REFERENCES tasks (n) DEFERRABLE INITIALLY DEFERRED,
    feature         INTEGER REFERENCES features (n),
    kind            TEXT    NOT NULL DEFAULT 'work' CHECK (kind IN ('work', 'check')),
    agent           TEXT,
    model           TEXT,
    gates           TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(gates) = 'array'),
    allow_tampering INTEGER NOT NULL DEFAULT 0 CHECK (allow_tampering IN (0, 1)),
    max_retries     INTEGER CHECK (max_retries >= 0),
    retries         INTEGER NOT NULL DEFAULT 0 CHECK (retries >= 0),
    attempts        INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    interruptions   INTEGER NOT NULL DEFAULT 0 CHECK (interruptions >= 0),
    base            TEXT, -- what the working folder was before the first attempt
    verification    TEXT    CHECK (verification IN ('passed', 'failed', 'skipped')),
    paused          INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)), -- by a person, until resume
    unverified      TEXT,   -- the attempt whose finished work is only to be verified: its run died

    -- The claim. The generation is a fencing token: it grows with every claim and
    -- with every transition by which a person takes a running task away.
    owner           TEXT,
    generation      INTEGER NOT NULL DEFAULT 0,
    lease_until     INTEGER,
    leaving         TEXT,   -- the attempt that a person took it from, until its agent is gone
    not_before      INTEGER NOT NULL DEFAULT 0 CHECK (not_before >= 0),
    wait_reason     TEXT,
    wait_agent      TEXT, -- whose limit it waits for, if it does

    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    started_at      INTEGER,
    finished_at     INTEGER,

    -- Derived, so that claiming need not look at any other row. `ralph doctor`
    -- recomputes all four.
    children        INTEGER NOT NULL DEFAULT 0 CHECK (children >= 0),
    open_deps       INTEGER NOT NULL DEFAULT 0 CHECK (open_deps >= 0), -- own blockers that are not done
    held            INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1)),   -- an ancestor waits, is blocked or paused
    doomed          INTEGER NOT NULL DEFAULT 0 CHECK (doomed IN (0, 1)), -- an ancestor failed
    queue           INTEGER GENERATED ALWAYS AS (
                        CASE WHEN status = 'pending' AND children = 0 AND open_deps = 0
                              AND held = 0 AND paused = 0 AND leaving IS NULL AND not_before = 0
                        THEN doomed END
                    ) VIRTUAL,

    title           TEXT    NOT NULL CHECK (title <> ''),
    description     TEXT    NOT NULL DEFAULT '',

    CHECK ((status = 'in_progress') = (owner IS NOT NULL)),
    CHECK ((owner IS NULL) = (lease_until IS NULL)),
    CHECK (status <> 'in_progress' OR children = 0)
) STRICT;

CREATE INDEX queue_all     ON tasks (queue, priority, n) WHERE queue IS NOT NULL;
CREATE INDEX queue_feature ON tasks (feature, queue, priority, n) WHERE queue IS NOT NULL;
CREATE INDEX tasks_waiting ON tasks (not_before) WHERE not_before > 0;
CREATE INDEX tasks_parent  ON tasks (parent, status) WHERE parent IS NOT NULL;
CREATE INDEX tasks_status  ON tasks (feature, status);
CREATE INDEX tasks_groups  ON tasks (feature, status, children) WHERE children > 0;
CREATE INDEX tasks_owner   ON tasks (owner) WHERE owner IS NOT NULL;
CREATE INDEX tasks_leaving ON tasks (leaving) WHERE leaving IS NOT NULL;

CREATE TABLE dependencies (
    blocker INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    blocked INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    PRIMARY KEY (blocker, blocked),
    CHECK (blocker <> blocked)
) STRICT, WITHOUT ROWID;

CREATE INDEX dependencies_blocked ON dependencies (blocked, blocker);

CREATE TABLE runs (
    n              INTEGER PRIMARY KEY,
    id             TEXT    NOT NULL UNIQUE,
    owner          TEXT    NOT NULL UNIQUE,
    scope_feature  TEXT,
    scope_task     TEXT,
    settings       TEXT    NOT NULL DEFAULT '{}' CHECK (json_type(settings) = 'object'),
    continues      TEXT,
    -- Who runs it, precisely enough to know whether that process still lives.
    pid            INTEGER NOT NULL,
    pid_start      INTEGER NOT NULL,
    boot_id        TEXT    NOT NULL,
    pid_ns         TEXT    NOT NULL,
    started_at     INTEGER NOT NULL,
    heartbeat_at   INTEGER NOT NULL,
    ended_at       INTEGER,
    outcome        TEXT,
    reason         TEXT,
    iterations     INTEGER NOT NULL DEFAULT 0,
    failures       INTEGER NOT NULL DEFAULT 0, -- tasks that failed in a row
    waited         INTEGER NOT NULL DEFAULT 0, -- milliseconds, for providers that had no room
    stop_requested TEXT    CHECK (stop_requested IN ('after_task', 'now')),
    pruned_at      INTEGER -- when ralph gc removed its files; NULL if it did not
) STRICT;

CREATE INDEX runs_open ON runs (n) WHERE ended_at IS NULL;

-- What people asked of every run, from another shell. One row.
CREATE TABLE control (
    n         INTEGER PRIMARY KEY CHECK (n = 1),
    paused_at INTEGER
) STRICT;

INSERT INTO control (n) VALUES (1);

-- task is NULL once the task is deleted: what it cost stays known.
CREATE TABLE attempts (
    n               INTEGER PRIMARY KEY,
    id              TEXT    NOT NULL UNIQUE,
    run             INTEGER NOT NULL REFERENCES runs (n),
    task            INTEGER REFERENCES tasks (n) ON DELETE SET NULL,
    task_id         TEXT    NOT NULL,
    iteration       INTEGER NOT NULL,
    generation      INTEGER NOT NULL,
    phase           TEXT    NOT NULL DEFAULT 'claimed'
                    CHECK (phase IN ('claimed', 'starting', 'prompted', 'answered', 'verifying', 'settled')),
    agent           TEXT,
    model           TEXT, -- asked for
    model_effective TEXT, -- what the agent said it uses
    session         TEXT,
    session_usd     REAL, -- what the agent said the session had cost, earlier attempts in it included
    sandbox         TEXT,
    agent_pid       INTEGER,
    agent_pid_start INTEGER,
    started_at      INTEGER NOT NULL,
    heartbeat_at    INTEGER, -- when its run last said that it goes on
    ended_at        INTEGER,
    outcome         TEXT,
    reason          TEXT,
    stop_reason     TEXT,
    verdict         TEXT,
    gates           TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(gates) = 'array'),
    tokens_in       INTEGER,
    tokens_cached   INTEGER,
    tokens_out      INTEGER,
    cost_usd        REAL, -- NULL when unknown, never 0 for unknown
    cost_estimated  INTEGER NOT NULL DEFAULT 0 CHECK (cost_estimated IN (0, 1)),
    cost_unknown    INTEGER NOT NULL DEFAULT 0 CHECK (cost_unknown IN (0, 1)), -- cost_usd is not all, or nothing is known
    shares          TEXT CHECK (json_type(shares) = 'array'), -- of all that, by agent and model, if not all is of those above
    drift           TEXT CHECK (json_type(drift) = 'array'), -- the detectors that fired; NULL if none did
    files           TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(files) = 'array'),
    base            TEXT, -- the commit that was checked out when it began
    tree            TEXT, -- the tree of the working folder when it began
    tree_after      TEXT, -- and when it ended; NULL if the work was accepted, or the run died
    transcript      TEXT,
    knowledge       TEXT CHECK (json_type(knowledge) = 'array') -- to be written to files; NULL when it was
) STRICT;

CREATE INDEX attempts_task ON attempts (task, n) WHERE task IS NOT NULL;
CREATE INDEX attempts_run  ON attempts (run, n);
CREATE INDEX attempts_open ON attempts (n) WHERE ended_at IS NULL;
CREATE INDEX attempts_started ON attempts (started_at);
CREATE INDEX attempts_unwritten ON attempts (n) WHERE knowledge IS NOT NULL;

-- Sessions with agents that planned. feature is NULL once the feature is deleted: what
-- planning it cost stays known.
CREATE TABLE plannings (
    n               INTEGER PRIMARY KEY,
    id              TEXT    NOT NULL UNIQUE,
    step            TEXT    NOT NULL, -- spec, plan or build
    feature         INTEGER REFERENCES features (n) ON DELETE SET NULL,
    feature_name    TEXT,
    agent           TEXT,
    model           TEXT, -- asked for
    model_effective TEXT, -- what the agent said it uses
    started_at      INTEGER NOT NULL,
    ended_at        INTEGER,
    worked          INTEGER NOT NULL DEFAULT 0, -- milliseconds, without waiting for a person
    tokens_in       INTEGER,
    tokens_cached   INTEGER,
    tokens_out      INTEGER,
    cost_usd        REAL,
    cost_estimated  INTEGER NOT NULL DEFAULT 0 CHECK (cost_estimated IN (0, 1)),
    cost_unknown    INTEGER NOT NULL DEFAULT 0 CHECK (cost_unknown IN (0, 1))
) STRICT;

CREATE INDEX plannings_feature ON plannings (feature) WHERE feature IS NOT NULL;
CREATE INDEX plannings_started ON plannings (started_at);

-- Until when the providers of agents have no room for us.
CREATE TABLE agent_limits (
    agent  TEXT    PRIMARY KEY,
    until  INTEGER NOT NULL,
    reason TEXT    NOT NULL,
    at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE task_logs (
    n       INTEGER PRIMARY KEY,
    task    INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    attempt INTEGER REFERENCES attempts (n),
    kind    TEXT    NOT NULL CHECK (kind IN ('failure', 'verify', 'user', 'system')),
    at      INTEGER NOT NULL,
    text    TEXT    NOT NULL
) STRICT;

CREATE INDEX task_logs_task ON task_logs (task, kind, n);
CREATE INDEX task_logs_attempt ON task_logs (attempt) WHERE attempt IS NOT NULL;

CREATE TABLE journal (
    n               INTEGER PRIMARY KEY,
    at              INTEGER NOT NULL,
    run             TEXT    NOT NULL,
    attempt         TEXT,
    iteration       INTEGER NOT NULL,
    task            TEXT    NOT NULL,
    feature         TEXT,
    title           TEXT    NOT NULL,
    outcome         TEXT    NOT NULL CHECK (outcome IN ('done', 'failed', 'retried', 'released',
                        'interrupted', 'timeout', 'refused', 'error', 'limited')),
    reason          TEXT    NOT NULL DEFAULT '',
    notes           TEXT    NOT NULL DEFAULT '',
    agent           TEXT,
    model           TEXT,
    model_effective TEXT,
    stop_reason     TEXT,
    duration_ms     INTEGER NOT NULL DEFAULT 0,
    tokens_in       INTEGER,
    tokens_cached   INTEGER,
    tokens_out      INTEGER,
    cost_usd        REAL,
    cost_estimated  INTEGER NOT NULL DEFAULT 0 CHECK (cost_estimated IN (0, 1)),
    cost_unknown    INTEGER NOT NULL DEFAULT 0 CHECK (cost_unknown IN (0, 1)),
    files           TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(files) = 'array')
) STRICT;

CREATE INDEX journal_run  ON journal (run, n);
CREATE INDEX journal_task ON journal (task, n);

CREATE VIRTUAL TABLE journal_fts USING fts5 (
    notes, title, reason, content = 'journal', content_rowid = 'n', tokenize = 'unicode61'
);

CREATE TRIGGER journal_added AFTER INSERT ON journal BEGIN
    INSERT INTO journal_fts (rowid, notes, title, reason) VALUES (new.n, new.notes, new.title, new.reason);
END;

CREATE TRIGGER journal_deleted AFTER DELETE ON journal BEGIN
    INSERT INTO journal_fts (journal_fts, rowid, notes, title, reason)
    VALUES ('delete', old.n, old.notes, old.title, old.reason);
END;

CREATE TRIGGER journal_updated AFTER UPDATE OF notes, title, reason ON journal BEGIN
    INSERT INTO journal_fts (journal_fts, rowid, notes, title, reason)
    VALUES ('delete', old.n, old.notes, old.title, old.reason);
    INSERT INTO journal_fts (rowid, notes, title, reason) VALUES (new.n, new.notes, new.title, new.reason);
END;

-- In how many journal rows a word occurs. Recall looks words up here first: what a
-- full-text query costs grows with the rows it finds, and FTS5 cannot say how many
-- those are without visiting them.
CREATE TABLE journal_words (
    word TEXT    PRIMARY KEY,
    docs INTEGER NOT NULL CHECK (docs >= 0)
) STRICT, WITHOUT ROWID;
