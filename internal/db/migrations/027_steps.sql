-- How many calls of tools an attempt took, as far as its agent reported them. NULL where nobody counted.
ALTER TABLE attempts ADD COLUMN steps INTEGER CHECK (steps >= 0);
