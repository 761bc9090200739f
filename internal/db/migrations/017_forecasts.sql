-- What was forecast of a run when it began, so that its report can say how accurate that was.
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
