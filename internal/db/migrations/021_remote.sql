-- The workflow that makes the attempts of a run on other machines, and where that is. Such a run outlives its process: until it
-- has ended, whoever serves the same workflow next goes on with it.
ALTER TABLE runs ADD COLUMN remote TEXT;
