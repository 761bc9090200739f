-- What rejected work changed in the project's own folder may still be there when other tasks begin.
CREATE INDEX attempts_rejected ON attempts (n) WHERE rejected = 'tampering' AND slot IS NULL;
