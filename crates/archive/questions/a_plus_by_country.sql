-- In which countries does load add next to nothing to latency?
-- Share of runs with bufferbloat letter A+ by country.
-- chart: bars x=nation y=a_plus_percent
SELECT
    COALESCE(country, 'unknown') AS nation,
    COUNT(*) AS graded_runs,
    SUM(CASE WHEN bufferbloat = 'A+' THEN 1 ELSE 0 END) AS a_plus_runs,
    FLOOR(1000.0 * SUM(CASE WHEN bufferbloat = 'A+' THEN 1 ELSE 0 END) / COUNT(*) + 0.5) / 10 AS a_plus_percent
FROM valid_v1
WHERE bufferbloat IS NOT NULL
GROUP BY COALESCE(country, 'unknown')
ORDER BY nation
