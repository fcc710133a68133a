"""A model's program over real data: a few hundred orders in SQLite, three tools over them, one program.

Run it: `python docs/examples/orders.py`. The tools alone: `tooltoolexec run docs/examples/top_regions.js --tools
docs/examples/orders.py --provider store`.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from tooltoolexec import Provider, ToolError, execute

PROGRAM = Path(__file__).parent / "top_regions.js"
REGIONS = ("North", "East", "South", "West")
_folder = tempfile.TemporaryDirectory()
_database = Path(_folder.name) / "orders.db"


def list_customers(region: str) -> list[dict[str, Any]]:
    """The customers of a region: id and name."""
    if region not in REGIONS:
        raise ToolError(f"There is no region {region}. There are {', '.join(REGIONS)}.", code="no_region")
    return _query("SELECT id, name FROM customers WHERE region = ?", region)


def list_orders(customer: int) -> list[dict[str, Any]]:
    """A customer's orders: id, product, quantity, status."""
    return _query("SELECT id, product, quantity, status FROM orders WHERE customer = ?", customer)


async def prices() -> dict[str, float]:
    """What each product costs."""
    return {row["name"]: row["price"] for row in _query("SELECT name, price FROM products")}


def _query(sql: str, *values: object) -> list[dict[str, Any]]:
    # A connection for each call: plain tools run in threads.
    with closing(sqlite3.connect(_database)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(sql, values)]


def _make_database() -> None:
    choice = random.Random(7)
    products = {"anvil": 89.5, "bell": 12.25, "candle": 3.8, "drum": 149.0, "easel": 61.4}
    with closing(sqlite3.connect(_database)) as connection, connection:
        connection.executescript("""
            CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, region TEXT);
            CREATE TABLE products (name TEXT PRIMARY KEY, price REAL);
            CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, product TEXT, quantity INTEGER, status TEXT);
        """)
        connection.executemany("INSERT INTO products VALUES (?, ?)", products.items())
        for number in range(1, 41):
            row = (number, f"Customer {number:02}", choice.choice(REGIONS))
            connection.execute("INSERT INTO customers VALUES (?, ?, ?)", row)
        for number in range(1, 401):
            status = choice.choices(("paid", "open", "cancelled"), (7, 2, 1))[0]
            order = (number, choice.randint(1, 40), choice.choice(list(products)), choice.randint(1, 9), status)
            connection.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", order)


def main() -> None:
    """Run the program and print what it found."""
    run = execute(PROGRAM.read_text(), [Provider("store", [list_customers, list_orders, prices])])
    for line in run.logs:
        print("log:", line)
    if run.error is not None:
        sys.exit(f"The program failed: {run.error}")
    print(f"{'region':<10}{'customers':>10}{'paid orders':>13}{'revenue':>12}  best customer")
    for row in run.result:
        print(f"{row['region']:<10}{row['customers']:>10}{row['paid']:>13}{row['revenue']:>12.2f}  {row['best']}")
    print(f"{run.stats.calls} tool calls, {run.stats.wall_s:.2f} s")


_make_database()
if __name__ == "__main__":
    main()
