"""What a program does with psycopg 3: parameters, prepared statements, server cursors, errors, cancelling."""
import datetime
import decimal
import ipaddress
import sys
import threading
import uuid

import psycopg

WHERE = f"host=127.0.0.1 port={sys.argv[1]} user=reader dbname=rutter"


def same(found, expected):
    assert found == expected, f"expected {expected!r}, found {found!r}"


with psycopg.connect(WHERE) as connection:
    same(connection.info.server_version // 10000, 16)
    cursor = connection.cursor()

    # Parameters of all types, often enough to be prepared on the server.
    for _ in range(8):
        cursor.execute(
            "SELECT prefix, best, peer_asn, med, communities FROM routes"
            " WHERE peer_asn = %s AND prefix >>= %s AND best = %s ORDER BY prefix",
            (64501, "10.1.2.3", True),
        )
        same(
            cursor.fetchall(),
            [("10.0.0.0/8", True, 64501, 50, ["64500:1"]), ("10.1.0.0/16", True, 64501, 50, ["64500:1"])],
        )
    day = datetime.datetime(2026, 11, 18, tzinfo=datetime.timezone.utc)
    cursor.execute("SELECT min(time), count(*) FROM events WHERE time > %s AND time < %s", (day, day.replace(day=19)))
    first, count = cursor.fetchone()
    assert first.tzinfo is not None and first.date() == day.date() and count > 0, (first, count)
    cursor.execute("SELECT count(*) FROM routes WHERE prefix = ANY(%s)", (["10.0.0.0/8", "203.0.113.0/24"],))
    same(cursor.fetchone(), (2,))
    cursor.execute("SELECT count(*) FROM routes WHERE peer_asn = ANY(%s)", ([64501, 1],))
    same(cursor.fetchone(), (4,))
    cursor.execute("SELECT avg(as_path_length) > %s FROM routes", (0.5,))
    same(cursor.fetchone(), (True,))
    cursor.execute("SELECT coalesce(%s, 'nothing')", (None,))
    same(cursor.fetchone(), ("nothing",))
    same([column.name for column in cursor.execute("SELECT prefix AS p, med FROM best").description], ["p", "med"])

    # Values in the binary form.
    with connection.cursor(binary=True) as binary:
        binary.execute(
            "SELECT prefix, best, peer_asn, family, communities, reason FROM routes WHERE prefix = %b ORDER BY peer_asn",
            ("10.0.0.0/8",),
        )
        same(binary.fetchall(), [("10.0.0.0/8", True, 64501, 4, ["64500:1"], None)])

        same(binary.execute("SELECT %s, %s, %s", (1.5, True, 7)).fetchone(), (1.5, True, 7))

    # Addresses and prefixes are sent in a form of their own.
    network, address = ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_address("10.1.2.3")
    same(cursor.execute("SELECT count(*) FROM routes WHERE prefix = %s", (network,)).fetchone(), (1,))
    same(cursor.execute("SELECT count(*) FROM routes WHERE prefix >>= %s", (address,)).fetchone(), (3,))
    same(cursor.execute("SELECT %s >>= %s", (network, address)).fetchone(), (True,))
    six = ipaddress.ip_address("2001:db8::1")
    same(cursor.execute("SELECT count(*) FROM routes WHERE prefix >>= %s", (six,)).fetchone(), (1,))
    connection.commit()
    try:
        connection.cursor(binary=True).execute("SELECT %b", (uuid.UUID(int=1),))
        raise AssertionError("a type that is not known is refused")
    except psycopg.errors.FeatureNotSupported as error:
        assert "uuid" in str(error), error
    connection.rollback()

    # Lists, intervals and numbers, as they are found, and back again.
    hour, midnight = datetime.timedelta(hours=1), datetime.datetime(2026, 11, 18, tzinfo=datetime.timezone.utc)
    for binary in [False, True]:
        cursor = connection.cursor(binary=binary)
        for query, value, expected in [
            ("SELECT count(*) FROM routes WHERE prefix = ANY(%s)", [network], 1),
            ("SELECT count(*) FROM routes WHERE prefix = ANY(%s::cidr[])", [network], 1),
            ("SELECT count(*) FROM routes WHERE prefix = ANY(%s)", [], 0),
            ("SELECT count(*) FROM routes WHERE peer_asn = ANY(%s)", [], 0),
            ("SELECT count(*) FROM routes WHERE peer_asn <> ALL(%s)", [64501], 2),
            ("SELECT count(*) FROM routes WHERE communities @> %s", ["64500:1"], 6),
            ("SELECT count(*) FROM events WHERE time = ANY(%s)", [midnight], 0),
            ("SELECT count(*) FROM events WHERE time > now() + %s", hour, 0),
            ("SELECT count(*) FROM events WHERE time > now() + %s::interval", hour, 0),
            ("SELECT count(*) FROM lookup(%s)", "10.1.2.3", 2),
        ]:
            same((query, *cursor.execute(query, (value,)).fetchone()), (query, expected))
        for query, value in [
            ("SELECT %s::text[]", ["a", None, 'b"c']),
            ("SELECT %s::int[]", [1, None]),
            ("SELECT %s::float8[]", [1.5]),
            ("SELECT %s", [True, False]),
            ("SELECT %s", datetime.timedelta(days=-3, seconds=5)),
            ("SELECT %s", datetime.date(2026, 11, 18)),
            ("SELECT %s", datetime.time(1, 2, 3)),
            ("SELECT %s", decimal.Decimal("-1234567.00089")),
            ("SELECT %s", 2**64),
            ("SELECT %s", b"\0\1"),
            ("SELECT %s", "it''s"),
        ]:
            same(cursor.execute(query, (value,)).fetchone(), (value,))
    connection.commit()

    # A cursor of the server, a piece at a time.
    with connection.cursor(name="pieces") as cursor:
        cursor.execute("SELECT value FROM generate_series(0, 10000) AS s (value) WHERE value >= %s ORDER BY value", (1,))
        same(cursor.fetchone(), (1,))
        same([row[0] for row in cursor.fetchmany(100)], list(range(2, 102)))
        same(sum(row[0] for row in cursor), 10000 * 10001 // 2 - 101 * 102 // 2)
    connection.commit()

    # An error does not end the connection.
    try:
        connection.execute("SELECT nonsense FROM routes")
        raise SystemExit("no error")
    except psycopg.Error as error:
        assert "nonsense" in str(error), error
    connection.rollback()
    same(connection.execute("SELECT 1").fetchone(), (1,))

    # Cancelled from another thread, again and again until it has begun.
    ended = threading.Event()

    def cancel():
        while not ended.wait(0.05):
            connection.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        connection.execute("SELECT count(*) FROM generate_series(1, 100000) AS a (value), generate_series(1, 100000000) AS b (value) WHERE a.value <> b.value")
        raise SystemExit("not cancelled")
    except psycopg.errors.QueryCanceled:
        pass
    finally:
        ended.set()
        thread.join()
print("done")
