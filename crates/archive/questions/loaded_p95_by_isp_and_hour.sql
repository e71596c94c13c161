-- At which hours is the line of which provider slow?
-- 95th percentile of the round-trip delay under load by provider and hour of the day (UTC),
-- milliseconds. Null where so many packets were lost that the percentile falls on a lost one.
-- chart: lines x=at_hour y=p95_ms each=provider
WITH bins AS (
    SELECT COALESCE(r.isp, 'unknown') AS provider, r.hour_utc AS at_hour, d.bin AS delay_bin, SUM(d.n) AS probe_count
    FROM delays d
    JOIN valid_v1 r ON d.run_key = r.run_key
    WHERE d.phase = 'load' AND d.direction = 'both' AND d.headline = 1
    GROUP BY COALESCE(r.isp, 'unknown'), r.hour_utc, d.bin
),
summed AS (
    SELECT
        provider, at_hour,
        delay_bin,
        SUM(probe_count) OVER (PARTITION BY provider, at_hour ORDER BY delay_bin ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS reached,
        SUM(probe_count) OVER (PARTITION BY provider, at_hour) AS total
    FROM bins
),
found AS (
    SELECT
        provider, at_hour,
        MAX(total) AS probes,
        MIN(CASE WHEN reached * 100 >= total * 95 THEN delay_bin END) AS p95_bin
    FROM summed
    GROUP BY provider, at_hour
)
SELECT
    provider,
    at_hour,
    probes,
    CASE
        WHEN p95_bin = 9999 THEN NULL
        WHEN p95_bin = -1 THEN 0.0
        ELSE ROUND(POWER(2.0, (p95_bin - 0.5) / 32.0) / 1000000.0, 3)
    END AS p95_ms
FROM found
ORDER BY provider, at_hour
