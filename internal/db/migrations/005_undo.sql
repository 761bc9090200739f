-- Tasks that take back the work of others, which are open again when that lands.
CREATE TABLE undoes (
    task   INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    undone INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    PRIMARY KEY (task, undone)
) STRICT, WITHOUT ROWID;
CREATE INDEX undoes_undone ON undoes (undone);
