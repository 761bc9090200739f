-- How far the records of a result are stored that another machine delivered, so that a result that arrives again is stored once.
ALTER TABLE attempts ADD COLUMN replayed TEXT CHECK (json_type(replayed) = 'object');
