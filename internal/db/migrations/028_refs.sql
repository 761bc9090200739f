-- Tags and branches that the work made, which land with it: what each points at, and what it is to be in the repository.
ALTER TABLE merges ADD COLUMN refs TEXT CHECK (json_type(refs) = 'array');
