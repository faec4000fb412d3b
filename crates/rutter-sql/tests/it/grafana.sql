-- health check
SELECT 1

-- version
SELECT current_setting('server_version_num')::int/100 as version

-- TimescaleDB (nothing)
SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'

-- schemas
SELECT schema_name AS "name"
    FROM information_schema.schemata
    WHERE schema_name NOT IN ('information_schema', 'pg_catalog', 'pg_toast', '_timescaledb_cache')
    ORDER BY schema_name

-- tables of a schema
SELECT quote_ident(table_name) AS "table"
      FROM information_schema.tables
      WHERE quote_ident(table_schema) = 'public'
      ORDER BY 1

-- all tables
SELECT
    CASE WHEN 
          quote_ident(table_schema) IN (
          SELECT
            CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
          FROM
            generate_series(
              array_lower(string_to_array(current_setting('search_path'),','),1),
              array_upper(string_to_array(current_setting('search_path'),','),1)
            ) as i,
            string_to_array(current_setting('search_path'),',') s
          )
      THEN quote_ident(table_name)
      ELSE quote_ident(table_schema) || '.' || quote_ident(table_name)
    END AS "table"
    FROM information_schema.tables
    WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog')
    ORDER BY CASE WHEN 
          quote_ident(table_schema) IN (
          SELECT
            CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
          FROM
            generate_series(
              array_lower(string_to_array(current_setting('search_path'),','),1),
              array_upper(string_to_array(current_setting('search_path'),','),1)
            ) as i,
            string_to_array(current_setting('search_path'),',') s
          ) THEN 0 ELSE 1 END, 1

-- columns
SELECT quote_ident(column_name) AS "column", data_type AS "type"
    FROM information_schema.columns
    WHERE
      CASE WHEN array_length(parse_ident('events'),1) = 2
        THEN quote_ident(table_schema) = (parse_ident('events'))[1]
          AND quote_ident(table_name) = (parse_ident('events'))[2]
        ELSE quote_ident(table_name) = 'events'
          AND 
          quote_ident(table_schema) IN (
          SELECT
            CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
          FROM
            generate_series(
              array_lower(string_to_array(current_setting('search_path'),','),1),
              array_upper(string_to_array(current_setting('search_path'),','),1)
            ) as i,
            string_to_array(current_setting('search_path'),',') s
          )
      END

-- $__timeFilter, $__timeGroupAlias
SELECT floor(extract(epoch from time)/300)*300 AS "time", kind AS metric, count(*) AS value
FROM events WHERE time BETWEEN '2026-11-18T00:00:00Z' AND '2026-11-19T00:00:00.123456789Z'
GROUP BY 1, 2 ORDER BY 1

-- $__time, $__timeFrom, $__timeTo
SELECT time AS "time", seq FROM events WHERE time >= '2026-11-18T00:00:00Z' AND time < '2026-11-19T00:00:00Z' ORDER BY time

-- $__timeEpoch, $__unixEpochFilter
SELECT extract(epoch from time) as "time", seq FROM events WHERE extract(epoch from time) >= 1794900000 AND extract(epoch from time) <= 1795100000

-- $__unixEpochGroup
SELECT floor((extract(epoch from time))/60)*60 AS "time", count(*) FROM events GROUP BY 1 ORDER BY 1
