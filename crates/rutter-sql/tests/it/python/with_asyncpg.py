"""What a program does with asyncpg, which asks for the types of parameters and sends all of them in their binary form."""
import asyncio
import datetime
import decimal
import io
import ipaddress
import sys

import asyncpg

WHERE = {"host": "127.0.0.1", "port": int(sys.argv[1]), "user": "reader", "database": "rutter"}
DAY = datetime.datetime(2026, 11, 18, tzinfo=datetime.timezone.utc)
HOUR = datetime.timedelta(hours=1)


def same(found, expected):
    assert found == expected, f"expected {expected!r}, found {found!r}"


# Queries for one value, their parameters, and the value.
QUERIES = [
    ("SELECT count(*) FROM routes WHERE peer_asn = $1 AND best = $2", (64501, True), 3),
    ("SELECT count(*) FROM routes WHERE prefix >>= $1", ("10.1.2.3",), 3),
    ("SELECT count(*) FROM routes WHERE prefix = $1::cidr", (ipaddress.ip_network("10.0.0.0/8"),), 1),
    ("SELECT count(*) FROM routes WHERE prefix = ANY($1)", (["10.0.0.0/8", "203.0.113.0/24"],), 2),
    ("SELECT count(*) FROM routes WHERE prefix = ANY($1::text[])", (["10.0.0.0/8"],), 1),
    ("SELECT count(*) FROM routes WHERE peer_asn = ANY($1)", ([64501, 1],), 4),
    ("SELECT count(*) FROM routes WHERE peer_asn = ANY($1::int[])", ([64502],), 2),
    ("SELECT count(*) FROM routes WHERE peer_asn <> ALL($1)", ([64501],), 2),
    ("SELECT count(*) FROM routes WHERE best = ANY($1)", ([True, False],), 6),
    ("SELECT count(*) FROM events WHERE time = ANY($1)", ([DAY],), 0),
    ("SELECT count(*) FROM routes WHERE communities && $1 AND $2 = ANY(communities)", (["64500:1"], "64500:1"), 6),
    ("SELECT count(*) FROM routes WHERE peer_asn = $1 OR $1 IS NULL", (None,), 6),
    ("SELECT count(*) FROM routes WHERE $1 IS NULL OR family = $1 OR peer_asn = $1", (6,), 1),
    ("SELECT count(*) FROM events WHERE time > $1", (DAY + datetime.timedelta(days=365),), 0),
    ("SELECT count(*) FROM events WHERE time::date = $1", (datetime.date(2000, 1, 1),), 0),
    ("SELECT count(*) FROM events WHERE time > now() + $1::interval", (HOUR,), 0),
    ("SELECT date_bin($1, $2::timestamptz, $3::timestamptz)", (HOUR, DAY + 0.5 * HOUR, DAY), DAY),
    ("SELECT count(*) FROM lookup($1) WHERE peer_asn = $2", ("10.1.2.3", 64502), 1),
    ("SELECT path_contains($1, $2)", ("64500 64501", 64501), True),
    ("SELECT left($1, $2)", ("abc", 2), "ab"),
    ("SELECT count(*) FROM (SELECT prefix FROM routes LIMIT $1 OFFSET $2) AS t", (2, 1), 2),
    ("SELECT $1::text", ("it''s",), "it''s"),
    ("SELECT $1::text[]", (["a", None, 'b"c', "NULL", ""],), ["a", None, 'b"c', "NULL", ""]),
    ("SELECT $1::bigint[]", ([1, None, 2**40],), [1, None, 2**40]),
    ("SELECT $1::smallint[]", ([],), []),
    ("SELECT $1::float8[]", ([1.5, None],), [1.5, None]),
    ("SELECT $1::bool[]", ([True, None],), [True, None]),
    ("SELECT $1::timestamptz[]", ([DAY],), [DAY]),
    ("SELECT $1::date", (DAY.date(),), DAY.date()),
    ("SELECT $1::time", (datetime.time(1, 2, 3, 4),), datetime.time(1, 2, 3, 4)),
    ("SELECT $1::interval", (-HOUR,), -HOUR),
    ("SELECT interval '2 days 01:00:00'", (), datetime.timedelta(days=2) + HOUR),
    ("SELECT $1::timestamptz - $2::timestamptz", (DAY + HOUR, DAY), HOUR),
    ("SELECT $1::numeric(12, 3)", (decimal.Decimal("-10000.125"),), decimal.Decimal("-10000.125")),
    ("SELECT $1::bytea", (b"\0\1",), b"\0\1"),
]


async def main():
    connection = await asyncpg.connect(**WHERE)
    for query, parameters, expected in QUERIES:
        try:
            same(await connection.fetchval(query, *parameters), expected)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, AssertionError) as error:
            raise AssertionError(f"{query}: {error}") from error

    async with connection.transaction(isolation="repeatable_read", readonly=True):
        sql = "SELECT value FROM generate_series(1, 5000) AS s (value) WHERE value > $1"
        same(len([row async for row in connection.cursor(sql, 10, prefetch=100)]), 4990)
    copied = io.BytesIO()
    query = "SELECT prefix FROM routes WHERE peer_asn = $1 AND best ORDER BY prefix"
    await connection.copy_from_query(query, 64501, output=copied)
    same(copied.getvalue(), b"10.0.0.0/8\n10.1.0.0/16\n203.0.113.0/24\n")

    for query in ["SELECT nonsense", "SELECT 1/0", "DELETE FROM routes"]:
        try:
            await connection.fetch(query)
            raise SystemExit("no error")
        except asyncpg.PostgresError:
            pass
    same(await connection.fetchval("SELECT 1"), 1)
    await connection.close()

    # A connection that goes back to a pool is reset.
    async with asyncpg.create_pool(min_size=1, max_size=1, **WHERE) as pool:
        for number in range(3):
            same(await pool.fetchval("SELECT $1::int", number), number)


asyncio.run(main())
print("done")
