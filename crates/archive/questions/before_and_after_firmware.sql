-- What did a new firmware change?
-- 95th percentile of the round-trip delay under load by site and firmware (label --firmware), in
-- the order in which the firmware came, milliseconds.
-- chart: bars x=at_site,with_firmware y=p95_ms
WITH versions AS (
    SELECT site AS place, firmware AS build, COUNT(*) AS valid_runs, MIN(started_at) AS first_run
    FROM valid_v1
    WHERE firmware IS NOT NULL
    GROUP BY site, firmware
),
bins AS (
    SELECT r.site AS place, r.firmware AS build, d.bin AS delay_bin, SUM(d.n) AS probe_count
    FROM delays d
    JOIN valid_v1 r ON d.run_key = r.run_key
    WHERE r.firmware IS NOT NULL AND d.phase = 'load' AND d.direction = 'both' AND d.headline = 1
    GROUP BY r.site, r.firmware, d.bin
),
summed AS (
    SELECT
        place, build,
        delay_bin,
        SUM(probe_count) OVER (PARTITION BY place, build ORDER BY delay_bin ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS reached,
        SUM(probe_count) OVER (PARTITION BY place, build) AS total
    FROM bins
),
found AS (
    SELECT
        place, build,
        MAX(total) AS probes,
        MIN(CASE WHEN reached * 100 >= total * 95 THEN delay_bin END) AS p95_bin
    FROM summed
    GROUP BY place, build
)
SELECT
    v.place AS at_site,
    v.build AS with_firmware,
    v.valid_runs AS run_count,
    CASE
        WHEN p95_bin = 9999 THEN NULL
        WHEN p95_bin = -1 THEN 0.0
        ELSE ROUND(POWER(2.0, (p95_bin - 0.5) / 32.0) / 1000000.0, 3)
    END AS p95_ms
FROM versions v
LEFT JOIN found f ON v.place = f.place AND v.build = f.build
ORDER BY v.place, v.first_run, v.build
