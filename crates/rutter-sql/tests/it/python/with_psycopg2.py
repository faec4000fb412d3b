"""What a program does with psycopg 2: parameters, cursors of the server, errors."""
import sys

import psycopg2

connection = psycopg2.connect(host="127.0.0.1", port=int(sys.argv[1]), user="reader", dbname="rutter")


def same(found, expected):
    assert found == expected, f"expected {expected!r}, found {found!r}"


cursor = connection.cursor()
cursor.execute(
    "SELECT prefix, peer_asn, best, communities FROM routes WHERE peer_asn = %s AND prefix >>= %s", (64502, "10.1.2.3")
)
same(cursor.fetchall(), [("10.1.0.0/16", 64502, False, ["64500:1"])])
cursor.execute("SELECT max(time) FROM events")
assert cursor.fetchone()[0].year == 2026
with connection.cursor(name="pieces") as pieces:
    pieces.itersize = 1000
    pieces.execute("SELECT value FROM generate_series(1, 5000) AS s (value)")
    same(len(pieces.fetchmany(7)), 7)
    same(sum(1 for _ in pieces), 4993)
try:
    cursor.execute("DROP TABLE routes")
    raise SystemExit("no error")
except psycopg2.Error as error:
    assert "read-only" in str(error), error
connection.rollback()
cursor.execute("SELECT 1")
same(cursor.fetchone(), (1,))
connection.close()
print("done")
