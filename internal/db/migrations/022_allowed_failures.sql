-- What gates may fail with, because a person allowed it: the lines that name failures, until the gate fails without them or passes.
CREATE TABLE allowed_failures (
    gate     TEXT PRIMARY KEY,
    failures TEXT NOT NULL -- '' if it names none
) STRICT, WITHOUT ROWID;
