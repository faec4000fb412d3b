"""What a program does with SQLAlchemy: tables that describe themselves, and queries that it writes."""
import datetime
import sys

import sqlalchemy
from sqlalchemy import func, inspect, select

engine = sqlalchemy.create_engine(f"postgresql+psycopg2://reader@127.0.0.1:{sys.argv[1]}/rutter")


def same(found, expected):
    assert found == expected, f"expected {expected!r}, found {found!r}"


with engine.connect() as connection:
    inspector = inspect(connection)
    same(inspector.get_schema_names(), ["information_schema", "public"])
    same(sorted(inspector.get_table_names()), ["best", "events", "peers", "rejected", "routers", "routes"])
    same((inspector.has_table("routes"), inspector.has_table("nowhere")), (True, False))
    same((inspector.get_view_names(), inspector.get_foreign_keys("routes"), inspector.get_indexes("routes")), ([], [], []))

    tables = sqlalchemy.MetaData()
    tables.reflect(bind=connection)
    routes, events = tables.tables["routes"], tables.tables["events"]
    kinds = {name: str(routes.c[name].type) for name in ["prefix", "best", "family", "med", "communities"]}
    same(kinds, {"prefix": "TEXT", "best": "BOOLEAN", "family": "SMALLINT", "med": "BIGINT", "communities": "ARRAY"})
    same(routes.c.prefix.nullable, False)

    def one(query):
        return connection.execute(query).scalar()

    counted = select(func.count()).select_from(routes)
    same(one(counted.where(routes.c.peer_asn.in_([64501, 1]))), 4)
    same(one(counted.where(routes.c.prefix.startswith("10."))), 3)
    same(one(counted.where(routes.c.communities.any("1:1"))), 0)
    same(one(counted.where(routes.c.prefix.op("<<=")("10.0.0.0/8"))), 3)
    hour = datetime.timedelta(hours=1)
    same(one(select(func.count()).select_from(events).where(events.c.time > func.now() + hour)), 0)
    same(one(select(sqlalchemy.cast(events.c.time, sqlalchemy.Date))), datetime.date(2026, 11, 18))
    by_family = select(routes.c.family, func.count()).group_by(routes.c.family).order_by(routes.c.family)
    same(connection.execute(by_family).all(), [(4, 5), (6, 1)])
    streamed = connection.execution_options(stream_results=True).execute(select(routes.c.prefix))
    same(len(streamed.all()), 6)
print("done")
