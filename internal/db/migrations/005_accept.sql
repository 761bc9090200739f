-- What a person may do about rejected work goes by why it was rejected. Until now only the text of the reason said so.
ALTER TABLE attempts ADD COLUMN rejected TEXT;
UPDATE attempts SET rejected = CASE
    WHEN said GLOB 'incomplete: *' THEN 'incomplete'
    WHEN said GLOB 'conflict: *' THEN 'conflict'
    WHEN said GLOB 'tampering: *' THEN 'tampering'
    WHEN said GLOB 'gate "*' THEN 'gate'
    WHEN said GLOB 'nothing changed: *' THEN 'unchanged'
    WHEN said GLOB 'verdict: *' THEN 'verdict' END
FROM (SELECT n AS of, iif(reason GLOB 'not verified after * retries: *', substr(reason, instr(reason, ' retries: ') + 10), reason) AS said FROM attempts)
WHERE attempts.n = of AND outcome IN ('retried', 'failed');

-- The work of this attempt was rejected, and a person accepted it: the status that the task had then.
ALTER TABLE attempts ADD COLUMN accepted TEXT CHECK (accepted IN ('pending', 'failed'));

-- The gate that has to fail after the work: tests are written first.
ALTER TABLE tasks ADD COLUMN expect_red TEXT;
