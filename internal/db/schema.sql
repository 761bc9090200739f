-- All migrations up to this version in one, for a new file. Made by: go test ./internal/db -update
PRAGMA user_version = 28;
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
                    CHECK (status IN ('pending', 'in_progress', 'done', 'failed', 'blocked', 'cancelled')),
    priority        INTEGER NOT NULL DEFAULT 0,
    parent          INTEGER REFERENCES tasks (n) DEFERRABLE INITIALLY DEFERRED,
    feature         INTEGER REFERENCES features (n),
    kind            TEXT    NOT NULL DEFAULT 'work' CHECK (kind IN ('work', 'check')),
    agent           TEXT,
    model           TEXT,
    gates           TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(gates) = 'array'),
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
    title           TEXT    NOT NULL CHECK (title <> ''),
    description     TEXT    NOT NULL DEFAULT '', given_up INTEGER NOT NULL DEFAULT 0 CHECK (given_up IN (0, 1)), locks  TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(locks) = 'array'), paths  TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(paths) = 'array'), review INTEGER NOT NULL DEFAULT 0 CHECK (review IN (0, 1)), lockset TEXT GENERATED ALWAYS AS (coalesce(agent, '') || char(10) || locks || paths) VIRTUAL, expect_red TEXT, asks INTEGER NOT NULL DEFAULT 0 CHECK (asks >= 0), tags      TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(tags) = 'array'), origin    TEXT, context   TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(context) = 'array'), output    TEXT, timeout   INTEGER CHECK (timeout > 0), on_fail   TEXT    CHECK (on_fail = 'continue'), satisfied INTEGER NOT NULL DEFAULT 0 CHECK (satisfied IN (0, 1)), emptied   INTEGER NOT NULL DEFAULT 0 CHECK (emptied IN (0, 1)), discovered_from TEXT, queue INTEGER GENERATED ALWAYS AS (
    CASE WHEN status = 'pending' AND children = 0 AND emptied = 0 AND open_deps = 0
          AND held = 0 AND paused = 0 AND leaving IS NULL AND not_before = 0 AND review = 0 AND asks = 0
    THEN doomed END
) VIRTUAL, satisfies INTEGER GENERATED ALWAYS AS (
    status = 'done' OR status = 'cancelled' AND satisfied OR status = 'failed' AND on_fail IS NOT NULL
) VIRTUAL, proves TEXT NOT NULL DEFAULT '[]' CHECK (json_type(proves) = 'array'), effort TEXT CHECK (effort IN ('low', 'medium', 'high')), may_change TEXT NOT NULL DEFAULT '[]' CHECK (json_type(may_change) = 'array'), allow_tampering INTEGER GENERATED ALWAYS AS (may_change = '["**"]') VIRTUAL, stands_on INTEGER,

    CHECK ((status = 'in_progress') = (owner IS NOT NULL)),
    CHECK ((owner IS NULL) = (lease_until IS NULL)),
    CHECK (status <> 'in_progress' OR children = 0)
) STRICT;
CREATE TABLE dependencies (
    blocker INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    blocked INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    PRIMARY KEY (blocker, blocked),
    CHECK (blocker <> blocked)
) STRICT, WITHOUT ROWID;
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
, scope_tag TEXT, remote TEXT) STRICT;
CREATE TABLE control (
    n         INTEGER PRIMARY KEY CHECK (n = 1),
    paused_at INTEGER
) STRICT;
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
, feature INTEGER, slot INTEGER CHECK (slot > 0), rejected TEXT, accepted TEXT CHECK (accepted IN ('pending', 'failed')), replayed TEXT CHECK (json_type(replayed) = 'object'), steps INTEGER CHECK (steps >= 0)) STRICT;
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
CREATE VIRTUAL TABLE journal_fts USING fts5 (
    notes, title, reason, content = 'journal', content_rowid = 'n', tokenize = 'unicode61'
);
CREATE TABLE journal_words (
    word TEXT    PRIMARY KEY,
    docs INTEGER NOT NULL CHECK (docs >= 0)
) STRICT, WITHOUT ROWID;
CREATE TABLE counts (
    feature INTEGER NOT NULL,
    status  TEXT    NOT NULL,
    grouped INTEGER NOT NULL, -- has subtasks
    queue   INTEGER NOT NULL, -- as in tasks; -1 for NULL
    tasks   INTEGER NOT NULL, -- a wrong one must not end runs, so nothing is CHECKed
    PRIMARY KEY (feature, status, grouped, queue)
) STRICT, WITHOUT ROWID;
CREATE TABLE spent (
    scope          TEXT    NOT NULL,
    key            INTEGER NOT NULL,
    attempts       INTEGER NOT NULL,
    tokens_in      INTEGER,
    tokens_cached  INTEGER,
    tokens_out     INTEGER,
    cost_usd       REAL,
    cost_estimated INTEGER NOT NULL, -- how many are
    cost_unknown   INTEGER NOT NULL,
    worked         INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE merges (
    n         INTEGER PRIMARY KEY,
    task      INTEGER REFERENCES tasks (n) ON DELETE SET NULL,
    task_id   TEXT    NOT NULL,
    attempt   TEXT    NOT NULL,
    target    TEXT    NOT NULL,
    base      TEXT    NOT NULL, -- the commit below the work
    work      TEXT    NOT NULL, -- the commit that is the work
    patch     TEXT    NOT NULL, -- what tells whether two works are the same
    onto      TEXT,             -- what the candidate was built on
    candidate TEXT,             -- the commit that is tested and lands
    accepted  INTEGER NOT NULL DEFAULT 0 CHECK (accepted IN (0, 1)), -- by a person
    reason    TEXT,             -- why it was dropped
    at        INTEGER NOT NULL,
    ended_at  INTEGER,
    state     TEXT    NOT NULL CHECK (state IN ('testing', 'green', 'held', 'landing', 'landed', 'dropped')), risk    REAL CHECK (risk BETWEEN 0 AND 1), factors TEXT CHECK (json_type(factors) = 'array'), reviewed_at INTEGER, reviewed_by TEXT, stands_on TEXT, sound     INTEGER NOT NULL DEFAULT 0 CHECK (sound IN (0, 1)), refs TEXT CHECK (json_type(refs) = 'array'),
    CHECK ((onto IS NULL) = (candidate IS NULL)),
    CHECK ((ended_at IS NULL) = (state NOT IN ('landed', 'dropped')))
) STRICT;
CREATE TABLE locks (
    name    TEXT NOT NULL,
    attempt TEXT NOT NULL,
    task_id TEXT NOT NULL, -- of the attempt: a claim reads all locks
    PRIMARY KEY (name, attempt)
) STRICT, WITHOUT ROWID;
CREATE TABLE agent_starts (
    agent TEXT    PRIMARY KEY,
    next  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE undoes (
    task   INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    undone INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE, message TEXT,
    PRIMARY KEY (task, undone)
) STRICT, WITHOUT ROWID;
CREATE TABLE reviews (
    task  INTEGER PRIMARY KEY REFERENCES tasks (n) ON DELETE CASCADE,
    focus TEXT    NOT NULL,
    round INTEGER NOT NULL CHECK (round >= 0)
) STRICT;
CREATE TABLE "journal" (
    n               INTEGER PRIMARY KEY,
    at              INTEGER NOT NULL,
    run             TEXT    NOT NULL,
    attempt         TEXT,
    iteration       INTEGER NOT NULL,
    task            TEXT    NOT NULL,
    feature         TEXT,
    title           TEXT    NOT NULL,
    outcome         TEXT    NOT NULL,
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
CREATE TABLE requests (
    n            INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    kind         TEXT    NOT NULL,
    task         INTEGER REFERENCES tasks (n) ON DELETE SET NULL, -- that asks, or that is told something
    task_id      TEXT,
    attempt      TEXT, -- that asks
    run          TEXT,
    sender       TEXT    NOT NULL,
    text         TEXT    NOT NULL,
    options      TEXT    NOT NULL DEFAULT '[]' CHECK (json_type(options) = 'array'),
    fallback     TEXT, -- the answer if nobody gives one until it expires
    detail       TEXT    CHECK (json_type(detail) = 'object'),
    parks        INTEGER NOT NULL DEFAULT 0 CHECK (parks IN (0, 1)), -- its task is not claimed while it is open
    at           INTEGER NOT NULL,
    expires_at   INTEGER,
    state        TEXT    NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'answered', 'expired', 'withdrawn', 'received')),
    answer       TEXT,
    denied       INTEGER NOT NULL DEFAULT 0 CHECK (denied IN (0, 1)),
    answered_at  INTEGER, -- or when it was over for another reason
    answered_by  TEXT,
    answered_via TEXT,
    reason       TEXT, -- why it was withdrawn
    received_by  TEXT, -- the attempt that got it
    received_at  INTEGER,
    past         INTEGER NOT NULL DEFAULT 0 CHECK (past IN (0, 1)), -- its task was reset since
    CHECK ((state = 'open') = (answered_at IS NULL))
) STRICT;
CREATE TABLE audit (
    n       INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    who     TEXT    NOT NULL,
    via     TEXT    NOT NULL,
    action  TEXT    NOT NULL,
    task_id TEXT,
    request TEXT,
    text    TEXT    NOT NULL
) STRICT;
CREATE TABLE added (
    task    INTEGER PRIMARY KEY REFERENCES tasks (n) ON DELETE CASCADE,
    caller  INTEGER REFERENCES tasks (n) ON DELETE CASCADE,
    attempt TEXT    NOT NULL,
    depth   INTEGER NOT NULL CHECK (depth > 0), -- how many agents' additions lead to it
    below   INTEGER NOT NULL CHECK (below IN (0, 1)), -- it is to be a subtask of the caller, and is not yet
    closing INTEGER NOT NULL CHECK (closing IN (0, 1)) -- when it is done, the caller's work is looked at once more
) STRICT;
CREATE TABLE knowledge_uses (
    entry   TEXT    PRIMARY KEY, -- a sum of its title and its text: one that says something else starts over
    used    INTEGER NOT NULL CHECK (used > 0),
    done    INTEGER NOT NULL CHECK (done BETWEEN 0 AND used),
    idle    INTEGER NOT NULL CHECK (idle BETWEEN 0 AND used), -- tasks in a row, up to now, that were not done with it
    task    TEXT    NOT NULL, -- the last one
    used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE related (
    a INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    b INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    PRIMARY KEY (a, b),
    CHECK (a < b)
) STRICT, WITHOUT ROWID;
CREATE TABLE imported (
    task INTEGER PRIMARY KEY REFERENCES tasks (n) ON DELETE CASCADE,
    line TEXT    NOT NULL
, file TEXT) STRICT;
CREATE TABLE synced (
    path  TEXT    PRIMARY KEY, -- below the project, with slashes; git's index stands for whether git carries any of them
    size  INTEGER NOT NULL,
    mtime INTEGER NOT NULL,    -- nanoseconds
    inode INTEGER NOT NULL,
    fresh INTEGER NOT NULL CHECK (fresh IN (0, 1)), -- a change right after that could leave the file looking the same
    base  TEXT    NOT NULL     -- the file that the database took in or wrote: both sides of a merge come from it
) STRICT;
CREATE TABLE unsaved (feature INTEGER PRIMARY KEY) STRICT;
CREATE TABLE gone (
    id     TEXT    PRIMARY KEY,
    n      INTEGER NOT NULL, -- which it gets again unless another task has it
    record TEXT    NOT NULL CHECK (json_type(record) = 'object')
) STRICT;
CREATE TABLE unmet (
    task  INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    other TEXT    NOT NULL, -- an ID
    PRIMARY KEY (task, other)
) STRICT, WITHOUT ROWID;
CREATE TABLE pull_requests (
    feature INTEGER PRIMARY KEY REFERENCES features (n) ON DELETE CASCADE,
    remote  TEXT    NOT NULL,
    branch  TEXT    NOT NULL,
    number  INTEGER NOT NULL CHECK (number > 0),
    url     TEXT    NOT NULL,
    round   INTEGER NOT NULL DEFAULT 0 CHECK (round >= 0), -- how many commits had something that became a task
    looked  TEXT    -- the last of those commits
) STRICT;
CREATE TABLE pull_findings (
    feature INTEGER NOT NULL REFERENCES features (n) ON DELETE CASCADE,
    name    TEXT    NOT NULL, -- the origin of the task
    task    TEXT    NOT NULL, -- its ID
    PRIMARY KEY (feature, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE issue_comments (
    issue  TEXT    PRIMARY KEY, -- OWNER/NAME#NUMBER
    posted INTEGER NOT NULL CHECK (posted IN (0, 1)),
    at     INTEGER NOT NULL
) STRICT;
CREATE TABLE forecasts (
    run      INTEGER PRIMARY KEY REFERENCES runs (n) ON DELETE CASCADE,
    tasks    INTEGER NOT NULL CHECK (tasks > 0), -- that it was about
    past     INTEGER NOT NULL CHECK (past > 0),  -- tasks that it was based on
    took_p50 INTEGER NOT NULL CHECK (took_p50 >= 0), -- milliseconds, until its end or until_at
    took_p90 INTEGER NOT NULL CHECK (took_p90 >= took_p50),
    cost_p50 REAL, -- NULL when unknown, also if it is of some tasks
    cost_p90 REAL CHECK ((cost_p90 IS NULL) = (cost_p50 IS NULL)),
    until_at INTEGER, -- when the run was to stop; NULL for never
    done_p50 INTEGER NOT NULL, -- tasks
    done_p90 INTEGER NOT NULL CHECK (done_p90 <= done_p50)
) STRICT;
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
CREATE TABLE chat_posts (
    bot     TEXT    NOT NULL, -- KIND:ID
    chat    TEXT    NOT NULL,
    message TEXT    NOT NULL, -- as the service names it
    about   TEXT    NOT NULL, -- a request, an entry of the merge queue (m-N), or stop
    at      INTEGER NOT NULL,
    open    INTEGER NOT NULL DEFAULT 1 CHECK (open IN (0, 1)), -- it has buttons
    PRIMARY KEY (bot, chat, message)
) STRICT, WITHOUT ROWID;
CREATE TABLE chat_cursors (
    bot   TEXT    NOT NULL,
    name  TEXT    NOT NULL,
    value TEXT    NOT NULL,
    at    INTEGER NOT NULL,
    PRIMARY KEY (bot, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE allowed_failures (
    gate     TEXT PRIMARY KEY,
    failures TEXT NOT NULL -- '' if it names none
) STRICT, WITHOUT ROWID;
CREATE TABLE "proofs" (
    n         INTEGER PRIMARY KEY,
    feature   INTEGER NOT NULL REFERENCES features (n) ON DELETE CASCADE,
    criterion TEXT    NOT NULL,
    text      TEXT    NOT NULL, -- of the criterion at that time: other words are another criterion
    kind      TEXT    NOT NULL CHECK (kind IN ('test', 'partial', 'verdict', 'person', 'none')),
    task      TEXT    NOT NULL, -- its ID, which outlives its row where another branch lacks the task; '' where a person says it
    attempt   TEXT    NOT NULL,
    author    TEXT    NOT NULL, -- the verifier or the person; '' for a test
    gate      TEXT    NOT NULL, -- the command that was seen to fail and to pass
    shown     TEXT    NOT NULL, -- what failed without the work, or what the author says; for partial and none, what is missing
    base      TEXT    NOT NULL, -- the tree on which it failed
    at_commit TEXT    NOT NULL, -- what was looked at; '' where git has none
    at        INTEGER NOT NULL
) STRICT;
INSERT INTO control VALUES (1, NULL);
CREATE INDEX tasks_waiting ON tasks (not_before) WHERE not_before > 0;
CREATE INDEX tasks_parent  ON tasks (parent, status) WHERE parent IS NOT NULL;
CREATE INDEX tasks_status  ON tasks (feature, status);
CREATE INDEX tasks_groups  ON tasks (feature, status, children) WHERE children > 0;
CREATE INDEX tasks_owner   ON tasks (owner) WHERE owner IS NOT NULL;
CREATE INDEX tasks_leaving ON tasks (leaving) WHERE leaving IS NOT NULL;
CREATE INDEX dependencies_blocked ON dependencies (blocked, blocker);
CREATE INDEX runs_open ON runs (n) WHERE ended_at IS NULL;
CREATE INDEX attempts_task ON attempts (task, n) WHERE task IS NOT NULL;
CREATE INDEX attempts_run  ON attempts (run, n);
CREATE INDEX attempts_open ON attempts (n) WHERE ended_at IS NULL;
CREATE INDEX attempts_started ON attempts (started_at);
CREATE INDEX attempts_unwritten ON attempts (n) WHERE knowledge IS NOT NULL;
CREATE INDEX plannings_feature ON plannings (feature) WHERE feature IS NOT NULL;
CREATE INDEX plannings_started ON plannings (started_at);
CREATE INDEX task_logs_task ON task_logs (task, kind, n);
CREATE INDEX task_logs_attempt ON task_logs (attempt) WHERE attempt IS NOT NULL;
CREATE INDEX tasks_feature ON tasks (feature) WHERE feature IS NOT NULL;
CREATE INDEX tasks_failed  ON tasks (status) WHERE status = 'failed';
CREATE INDEX tasks_by_hand ON tasks (finished_at)
    WHERE status = 'done' AND children = 0 AND coalesce(verification, 'failed') = 'failed';
CREATE INDEX attempts_feature ON attempts (feature, outcome, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX attempts_outcome ON attempts (outcome, ended_at) WHERE ended_at IS NOT NULL;
CREATE VIEW used_by AS
SELECT n, column1 AS scope, CASE column1 WHEN 'run' THEN run WHEN 'feature' THEN coalesce(feature, 0) ELSE started_at / 900000 END AS key,
    attempts, tokens_in, tokens_cached, tokens_out, cost_usd, cost_estimated, cost_unknown, worked
FROM used CROSS JOIN (VALUES ('run'), ('feature'), ('quarter')) WHERE ended_at IS NOT NULL;
CREATE TRIGGER spent_less
BEFORE UPDATE OF feature, ended_at, outcome, tokens_in, tokens_cached, tokens_out, cost_usd, cost_estimated, cost_unknown ON attempts
WHEN old.ended_at IS NOT NULL BEGIN
    INSERT INTO spent
    SELECT scope, key, -attempts, -tokens_in, -tokens_cached, -tokens_out, -cost_usd, -cost_estimated, -cost_unknown, -worked FROM used_by WHERE n = old.n
    ON CONFLICT DO UPDATE SET attempts = attempts + excluded.attempts, tokens_in = coalesce(tokens_in + excluded.tokens_in, tokens_in),
        tokens_cached = coalesce(tokens_cached + excluded.tokens_cached, tokens_cached), tokens_out = coalesce(tokens_out + excluded.tokens_out, tokens_out),
        cost_usd = coalesce(cost_usd + excluded.cost_usd, cost_usd), cost_estimated = cost_estimated + excluded.cost_estimated,
        cost_unknown = cost_unknown + excluded.cost_unknown, worked = worked + excluded.worked;
END;
CREATE TRIGGER spent_more
AFTER UPDATE OF feature, ended_at, outcome, tokens_in, tokens_cached, tokens_out, cost_usd, cost_estimated, cost_unknown ON attempts
WHEN new.ended_at IS NOT NULL BEGIN
    INSERT INTO spent
    SELECT scope, key, attempts, tokens_in, tokens_cached, tokens_out, cost_usd, cost_estimated, cost_unknown, worked FROM used_by WHERE n = new.n
    ON CONFLICT DO UPDATE SET attempts = attempts + excluded.attempts,
        tokens_in = coalesce(tokens_in + excluded.tokens_in, tokens_in, excluded.tokens_in),
        tokens_cached = coalesce(tokens_cached + excluded.tokens_cached, tokens_cached, excluded.tokens_cached),
        tokens_out = coalesce(tokens_out + excluded.tokens_out, tokens_out, excluded.tokens_out),
        cost_usd = coalesce(cost_usd + excluded.cost_usd, cost_usd, excluded.cost_usd), cost_estimated = cost_estimated + excluded.cost_estimated,
        cost_unknown = cost_unknown + excluded.cost_unknown, worked = worked + excluded.worked;
END;
CREATE TRIGGER attempts_added AFTER INSERT ON attempts BEGIN
    UPDATE attempts SET feature = (SELECT feature FROM tasks WHERE n = new.task) WHERE n = new.n;
END;
CREATE TRIGGER attempts_moved AFTER UPDATE OF feature ON tasks WHEN old.feature IS NOT new.feature BEGIN
    UPDATE attempts SET feature = new.feature WHERE task = new.n;
END;
CREATE TRIGGER attempts_left AFTER UPDATE OF task ON attempts WHEN new.task IS NULL BEGIN
    UPDATE attempts SET feature = NULL WHERE n = new.n;
END;
CREATE UNIQUE INDEX merges_landing ON merges (target) WHERE state = 'landing';
CREATE INDEX merges_state   ON merges (state, n);
CREATE INDEX merges_task    ON merges (task, n) WHERE task IS NOT NULL;
CREATE INDEX merges_attempt ON merges (attempt, n);
CREATE INDEX attempts_slot ON attempts (slot) WHERE slot IS NOT NULL;
CREATE UNIQUE INDEX locks_slot ON locks (name) WHERE name GLOB 'slot:*';
CREATE TRIGGER merges_abandoned AFTER UPDATE OF ended_at ON attempts WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL BEGIN
    UPDATE merges SET state = 'dropped', ended_at = new.ended_at, reason = concat_ws(': ', new.outcome, new.reason)
    WHERE attempt = new.id AND state IN ('testing', 'green');
END;
CREATE TRIGGER attempts_over AFTER UPDATE OF ended_at ON attempts
WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tasks WHERE leaving = new.id) BEGIN
    DELETE FROM locks WHERE attempt = new.id;
END;
CREATE TRIGGER runs_over AFTER UPDATE OF ended_at ON runs WHEN new.ended_at IS NOT NULL BEGIN
    DELETE FROM locks WHERE (SELECT run FROM attempts WHERE id = attempt) = new.n;
END;
CREATE TRIGGER merges_recalled AFTER UPDATE OF unverified ON tasks
WHEN old.unverified IS NOT NULL AND new.unverified IS NOT old.unverified BEGIN
    UPDATE merges SET state = 'dropped', ended_at = new.updated_at, reason = 'the task was made ' || new.status WHERE task = new.n AND state = 'held';
    UPDATE tasks SET review = 0 WHERE n = new.n AND review = 1;
END;
CREATE TRIGGER merges_orphaned AFTER UPDATE OF task ON merges WHEN new.task IS NULL AND new.state IN ('testing', 'green', 'held') BEGIN
    UPDATE merges SET state = 'dropped', ended_at = CAST(unixepoch('subsec') * 1000 AS INTEGER), reason = 'the task was deleted' WHERE n = new.n;
END;
CREATE INDEX undoes_undone ON undoes (undone);
CREATE INDEX journal_run  ON journal (run, n);
CREATE INDEX journal_task ON journal (task, n);
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
CREATE INDEX attempts_rejected ON attempts (n) WHERE rejected = 'tampering' AND slot IS NULL;
CREATE INDEX requests_open    ON requests (n) WHERE state = 'open';
CREATE INDEX requests_expires ON requests (expires_at) WHERE state = 'open' AND expires_at IS NOT NULL;
CREATE INDEX requests_task    ON requests (task, n) WHERE task IS NOT NULL;
CREATE INDEX tasks_asks ON tasks (n) WHERE asks > 0;
CREATE TRIGGER asks_added AFTER INSERT ON requests WHEN new.parks AND new.state = 'open' BEGIN
    UPDATE tasks SET asks = asks + 1 WHERE n = new.task;
END;
CREATE TRIGGER asks_over AFTER UPDATE OF state ON requests WHEN old.parks AND old.state = 'open' AND new.state <> 'open' BEGIN
    UPDATE tasks SET asks = max(asks - 1, 0) WHERE n = new.task;
END;
CREATE TRIGGER asks_again AFTER UPDATE OF state ON requests WHEN new.parks AND old.state <> 'open' AND new.state = 'open' BEGIN
    UPDATE tasks SET asks = asks + 1 WHERE n = new.task;
END;
CREATE TRIGGER asks_deleted AFTER DELETE ON requests WHEN old.parks AND old.state = 'open' BEGIN
    UPDATE tasks SET asks = max(asks - 1, 0) WHERE n = old.task;
END;
CREATE TRIGGER requests_reset AFTER UPDATE OF started_at ON tasks WHEN old.started_at IS NOT NULL AND new.started_at IS NULL BEGIN
    UPDATE requests SET state = 'withdrawn', answered_at = new.updated_at, reason = 'the task was reset'
    WHERE task = new.n AND state = 'open' AND kind NOT IN ('permission', 'message');
    UPDATE requests SET past = 1 WHERE task = new.n AND state <> 'open';
END;
CREATE TRIGGER requests_orphaned AFTER UPDATE OF task ON requests WHEN new.task IS NULL AND new.state = 'open' AND new.kind <> 'permission' BEGIN
    UPDATE requests SET state = 'withdrawn', answered_at = CAST(unixepoch('subsec') * 1000 AS INTEGER), reason = 'the task was deleted' WHERE n = new.n;
END;
CREATE TRIGGER requests_attempt AFTER UPDATE OF ended_at ON attempts WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL BEGIN
    UPDATE requests SET state = 'received', answered_at = new.ended_at, received_by = new.id, received_at = new.ended_at
    WHERE task = new.task AND state = 'open' AND kind = 'stop' AND attempt = new.id;
    UPDATE requests SET state = 'withdrawn', answered_at = new.ended_at, reason = 'the attempt has ended'
    WHERE task = new.task AND state = 'open' AND kind = 'message' AND attempt = new.id;
END;
CREATE VIEW used AS
SELECT n, run, task, feature, started_at, ended_at, coalesce(ended_at IS NOT NULL AND outcome NOT IN ('limited', 'interrupted', 'asked'), 0) AS attempts,
    tokens_in, tokens_cached, tokens_out, cost_usd, cost_estimated, cost_unknown,
    coalesce(iif(outcome = 'limited', 0, coalesce(ended_at, heartbeat_at) - started_at), 0) AS worked
FROM attempts;
CREATE INDEX added_caller  ON added (caller);
CREATE INDEX added_attempt ON added (attempt);
CREATE INDEX tasks_origin ON tasks (origin) WHERE origin IS NOT NULL;
CREATE INDEX tasks_tagged ON tasks (n) WHERE tags <> '[]';
CREATE INDEX related_b ON related (b, a);
CREATE INDEX queue_all      ON tasks (queue, priority, n) WHERE queue IS NOT NULL;
CREATE INDEX queue_feature  ON tasks (feature, queue, priority, n) WHERE queue IS NOT NULL;
CREATE INDEX queue_locks    ON tasks (lockset, priority, n, queue) WHERE queue IS NOT NULL;
CREATE INDEX queue_finished ON tasks (queue, priority, n) WHERE queue IS NOT NULL AND unverified IS NOT NULL;
CREATE INDEX tasks_kept     ON tasks (queue) WHERE status IN ('pending', 'blocked') AND children = 0 AND queue IS NOT 0;
CREATE INDEX tasks_agent    ON tasks (agent) WHERE agent IS NOT NULL AND children = 0 AND status NOT IN ('done', 'failed', 'cancelled');
CREATE TRIGGER counts_added AFTER INSERT ON tasks BEGIN
    INSERT INTO counts VALUES (0, new.status, new.children > 0, coalesce(new.queue, -1), 1)
    ON CONFLICT DO UPDATE SET tasks = tasks + 1;
    INSERT INTO counts SELECT new.feature, new.status, new.children > 0, coalesce(new.queue, -1), 1 WHERE new.feature IS NOT NULL
    ON CONFLICT DO UPDATE SET tasks = tasks + 1;
END;
CREATE TRIGGER counts_changed
AFTER UPDATE OF feature, status, children, emptied, open_deps, held, doomed, paused, leaving, not_before, review, asks ON tasks
WHEN old.status <> new.status OR (old.children > 0) <> (new.children > 0) OR old.queue IS NOT new.queue OR old.feature IS NOT new.feature
BEGIN
    UPDATE counts SET tasks = tasks - 1
    WHERE feature IN (0, old.feature) AND status = old.status AND grouped = (old.children > 0) AND queue = coalesce(old.queue, -1);
    INSERT INTO counts VALUES (0, new.status, new.children > 0, coalesce(new.queue, -1), 1)
    ON CONFLICT DO UPDATE SET tasks = tasks + 1;
    INSERT INTO counts SELECT new.feature, new.status, new.children > 0, coalesce(new.queue, -1), 1 WHERE new.feature IS NOT NULL
    ON CONFLICT DO UPDATE SET tasks = tasks + 1;
END;
CREATE TRIGGER counts_deleted AFTER DELETE ON tasks BEGIN
    UPDATE counts SET tasks = tasks - 1
    WHERE feature IN (0, old.feature) AND status = old.status AND grouped = (old.children > 0) AND queue = coalesce(old.queue, -1);
END;
CREATE TRIGGER requests_ended AFTER UPDATE OF status ON tasks WHEN new.status IN ('done', 'failed', 'cancelled') AND old.status <> new.status BEGIN
    UPDATE requests SET state = 'withdrawn', answered_at = new.updated_at, reason = 'the task is ' || new.status
    WHERE task = new.n AND state = 'open' AND kind <> 'permission' AND (kind <> 'message' OR new.status <> 'failed');
END;
CREATE TRIGGER unsaved_added AFTER INSERT ON tasks BEGIN
    INSERT INTO unsaved VALUES (coalesce(new.feature, 0)) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER unsaved_moved AFTER UPDATE OF feature ON tasks WHEN old.feature IS NOT new.feature BEGIN
    INSERT INTO unsaved VALUES (coalesce(old.feature, 0)), (coalesce(new.feature, 0)) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER unsaved_deleted AFTER DELETE ON tasks BEGIN
    INSERT INTO unsaved VALUES (coalesce(old.feature, 0)) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER unsaved_unlinked AFTER DELETE ON dependencies BEGIN
    INSERT INTO unsaved SELECT coalesce(feature, 0) FROM tasks WHERE n = old.blocked ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER unsaved_related AFTER INSERT ON related BEGIN
    INSERT INTO unsaved SELECT coalesce(feature, 0) FROM tasks WHERE n IN (new.a, new.b) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER unsaved_unrelated AFTER DELETE ON related BEGIN
    INSERT INTO unsaved SELECT coalesce(feature, 0) FROM tasks WHERE n IN (old.a, old.b) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER synced_forgotten AFTER DELETE ON features BEGIN
    DELETE FROM synced WHERE path = '.ralph/features/' || old.name || '/tasks.jsonl';
    DELETE FROM unsaved WHERE feature = old.n;
END;
CREATE INDEX tasks_loose ON tasks (n) WHERE feature IS NULL;
CREATE TRIGGER unsaved_gates AFTER UPDATE OF gates ON features WHEN old.gates <> new.gates BEGIN
    INSERT INTO unsaved VALUES (new.n) ON CONFLICT DO NOTHING;
END;
CREATE INDEX merges_unreviewed ON merges (n) WHERE state = 'landed' AND reviewed_at IS NULL AND accepted = 0;
CREATE INDEX attempts_refused ON attempts (n) WHERE outcome IN ('retried', 'failed');
CREATE INDEX schedule_fires_name ON schedule_fires (name, n);
CREATE UNIQUE INDEX schedule_fires_due ON schedule_fires (name, line, due_at) WHERE state IN ('claimed', 'started', 'failed') AND until_at IS NOT NULL;
CREATE TRIGGER unsaved_changed
AFTER UPDATE OF title, description, status, priority, parent, kind, agent, model, effort, gates, max_retries, may_change, expect_red, locks, paths,
    tags, context, output, timeout, on_fail, emptied, satisfied, origin, discovered_from, proves, retries, verification, updated_at ON tasks BEGIN
    INSERT INTO unsaved VALUES (coalesce(new.feature, 0)) ON CONFLICT DO NOTHING;
END;
CREATE INDEX proofs_feature ON proofs (feature, criterion, n);
CREATE INDEX proofs_task    ON proofs (task) WHERE task <> '';
CREATE TRIGGER proofs_reopened AFTER UPDATE OF status ON tasks WHEN old.status = 'done' AND new.status <> 'done' BEGIN
    DELETE FROM proofs WHERE task = old.id AND task <> '';
END;
CREATE INDEX tasks_standing   ON tasks (stands_on) WHERE stands_on IS NOT NULL;
CREATE INDEX tasks_unverified ON tasks (unverified) WHERE unverified IS NOT NULL;
