-- What does cake change at the same provider?
-- 95th percentile of the round-trip delay under load with cake and without any queue management
-- (label --aqm-down), milliseconds, of providers that have runs of both.
-- chart: bars x=provider y=cake_p95_ms,none_p95_ms
WITH bins AS (
    SELECT COALESCE(r.isp, 'unknown') AS provider, r.aqm_down AS discipline, d.bin AS delay_bin, SUM(d.n) AS probe_count
    FROM delays d
    JOIN valid_v1 r ON d.run_key = r.run_key
    WHERE r.aqm_down IN ('cake', 'none') AND d.phase = 'load' AND d.direction = 'both' AND d.headline = 1
    GROUP BY COALESCE(r.isp, 'unknown'), r.aqm_down, d.bin
),
summed AS (
    SELECT
        provider, discipline,
        delay_bin,
        SUM(probe_count) OVER (PARTITION BY provider, discipline ORDER BY delay_bin ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS reached,
        SUM(probe_count) OVER (PARTITION BY provider, discipline) AS total
    FROM bins
),
found AS (
    SELECT
        provider, discipline,
        MAX(total) AS probes,
        MIN(CASE WHEN reached * 100 >= total * 95 THEN delay_bin END) AS p95_bin
    FROM summed
    GROUP BY provider, discipline
),
by_one AS (
    SELECT
        provider,
        discipline,
        probes,
        CASE
            WHEN p95_bin = 9999 THEN NULL
            WHEN p95_bin = -1 THEN 0.0
            ELSE ROUND(POWER(2.0, (p95_bin - 0.5) / 32.0) / 1000000.0, 3)
        END AS p95_ms
    FROM found
)
SELECT
    provider,
    MAX(CASE WHEN discipline = 'cake' THEN p95_ms END) AS cake_p95_ms,
    MAX(CASE WHEN discipline = 'none' THEN p95_ms END) AS none_p95_ms,
    SUM(probes) AS all_probes
FROM by_one
GROUP BY provider
HAVING COUNT(*) = 2
ORDER BY provider
