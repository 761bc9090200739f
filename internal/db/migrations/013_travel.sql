-- Relations that a plan file tells of tasks that are not here, because their own file was not here yet, or is not on this branch.
CREATE TABLE unmet (
    task  INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    other TEXT    NOT NULL, -- an ID
    PRIMARY KEY (task, other)
) STRICT, WITHOUT ROWID;

-- The file of a feature has its gates, too.
CREATE TRIGGER unsaved_gates AFTER UPDATE OF gates ON features WHEN old.gates <> new.gates BEGIN
    INSERT INTO unsaved VALUES (new.n) ON CONFLICT DO NOTHING;
END;

-- What older versions left out of the files.
INSERT INTO unsaved
SELECT n FROM features WHERE gates <> '[]'
UNION SELECT coalesce(t.feature, 0) FROM related r JOIN tasks t ON t.n IN (r.a, r.b)
UNION SELECT t.feature FROM reviews r JOIN tasks t ON t.n = r.task WHERE r.focus = '' AND t.feature IS NOT NULL
ON CONFLICT DO NOTHING;
