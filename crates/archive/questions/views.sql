-- The runs whose figures under load stand for the loaded line, by the first definition of that: complete, not invalid, and the load
-- saturated the line. A later definition is another view; this one stays as it is.
CREATE VIEW valid_v1 AS
SELECT * FROM runs
WHERE validity <> 'invalid' AND partial = 0 AND confidence IN ('medium', 'high');

-- The runs that measured at all, loaded or not.
CREATE VIEW usable_v1 AS
SELECT * FROM runs
WHERE validity <> 'invalid' AND partial = 0;
