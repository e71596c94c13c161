-- Is IPv6 slower than IPv4?
-- 95th percentile of the round-trip delay by family and phase, milliseconds, of runs that tested
-- both.
-- chart: bars x=provider,in_phase y=ipv4_p95_ms,ipv6_p95_ms
WITH bins AS (
    SELECT COALESCE(r.isp, 'unknown') AS provider, d.phase AS in_phase, d.family AS ip_version, d.bin AS delay_bin, SUM(d.n) AS probe_count
    FROM delays d
    JOIN valid_v1 r ON d.run_key = r.run_key
    WHERE r.families = 'both' AND d.phase IN ('idle', 'load') AND d.direction = 'both' AND d.headline = 1
    GROUP BY COALESCE(r.isp, 'unknown'), d.phase, d.family, d.bin
),
summed AS (
    SELECT
        provider, in_phase, ip_version,
        delay_bin,
        SUM(probe_count) OVER (PARTITION BY provider, in_phase, ip_version ORDER BY delay_bin ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS reached,
        SUM(probe_count) OVER (PARTITION BY provider, in_phase, ip_version) AS total
    FROM bins
),
found AS (
    SELECT
        provider, in_phase, ip_version,
        MAX(total) AS probes,
        MIN(CASE WHEN reached * 100 >= total * 95 THEN delay_bin END) AS p95_bin
    FROM summed
    GROUP BY provider, in_phase, ip_version
),
by_one AS (
    SELECT
        provider,
        in_phase,
        ip_version,
        CASE
            WHEN p95_bin = 9999 THEN NULL
            WHEN p95_bin = -1 THEN 0.0
            ELSE ROUND(POWER(2.0, (p95_bin - 0.5) / 32.0) / 1000000.0, 3)
        END AS p95_ms
    FROM found
)
SELECT
    provider,
    in_phase,
    MAX(CASE WHEN ip_version = 'ipv4' THEN p95_ms END) AS ipv4_p95_ms,
    MAX(CASE WHEN ip_version = 'ipv6' THEN p95_ms END) AS ipv6_p95_ms
FROM by_one
GROUP BY provider, in_phase
ORDER BY provider, in_phase
