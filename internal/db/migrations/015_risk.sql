-- How risky finished work was when it was tested, from 0 to 1, and why: a list of factors with their shares. NULL where nobody measured it.
ALTER TABLE merges ADD COLUMN risk    REAL CHECK (risk BETWEEN 0 AND 1);
ALTER TABLE merges ADD COLUMN factors TEXT CHECK (json_type(factors) = 'array');

-- Who looked at work after it had landed. Each piece has its own mark: who stops in the middle goes on there.
ALTER TABLE merges ADD COLUMN reviewed_at INTEGER;
ALTER TABLE merges ADD COLUMN reviewed_by TEXT;
CREATE INDEX merges_unreviewed ON merges (n) WHERE state = 'landed' AND reviewed_at IS NULL AND accepted = 0;

-- What the next attempt at a task is told whose work is taken back.
ALTER TABLE undoes ADD COLUMN message TEXT;

-- Work that was not accepted says something about the files that it touched.
CREATE INDEX attempts_refused ON attempts (n) WHERE outcome IN ('retried', 'failed');
