-- Where does expedited forwarding (EF) lose its marking?
-- Runs whose packets of EF arrived with code point 0, by provider and direction.
-- chart: bars x=provider,way y=bleached_percent
WITH verdicts AS (
    SELECT COALESCE(isp, 'unknown') AS provider, 'down' AS way, ef_down AS verdict FROM usable_v1
    UNION ALL
    SELECT COALESCE(isp, 'unknown') AS provider, 'up' AS way, ef_up AS verdict FROM usable_v1
)
SELECT
    provider,
    way,
    COUNT(*) AS judged_runs,
    SUM(CASE WHEN verdict = 'bleached' THEN 1 ELSE 0 END) AS bleached_runs,
    FLOOR(1000.0 * SUM(CASE WHEN verdict = 'bleached' THEN 1 ELSE 0 END) / COUNT(*) + 0.5) / 10 AS bleached_percent
FROM verdicts
WHERE verdict IS NOT NULL AND verdict <> 'unknown'
GROUP BY provider, way
ORDER BY provider, way
