"""MQM97 section 2 and Figure 1: the tables, the four summary tables, and a day of changes.

The proportions are those of the paper's Table 3: 100 stores, 1,000 items, ten regions, twenty
categories. The day has both kinds of changes of its section 6: insertions over a new date, and
insertions and deletions over existing dates, stores and items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viewkeeper.warehouse import Warehouse

TABLES = {
    "stores": """
        CREATE TABLE stores (storeID INT, city STRING, region STRING, PRIMARY KEY (storeID))
        TBLPROPERTIES ('viewkeeper.hierarchy' = 'storeID > city > region')""",
    "items": """
        CREATE TABLE items (itemID INT, name STRING, category STRING, cost DECIMAL(10,2),
            PRIMARY KEY (itemID))
        TBLPROPERTIES ('viewkeeper.hierarchy' = 'itemID > category')""",
    "pos": """
        CREATE TABLE pos (storeID INT, itemID INT, date DATE, qty INT, price DECIMAL(10,2),
            FOREIGN KEY (storeID) REFERENCES stores (storeID),
            FOREIGN KEY (itemID) REFERENCES items (itemID))""",
}

VIEWS = {
    "SID_sales": """
        SELECT storeID, itemID, date, COUNT(*) AS TotalCount, SUM(qty) AS TotalQuantity
        FROM pos
        GROUP BY storeID, itemID, date""",
    "sCD_sales": """
        SELECT city, date, COUNT(*) AS TotalCount, SUM(qty) AS TotalQuantity
        FROM pos, stores
        WHERE pos.storeID = stores.storeID
        GROUP BY city, date""",
    "SiC_sales": """
        SELECT storeID, category, COUNT(*) AS TotalCount, MIN(date) AS EarliestSale, SUM(qty) AS TotalQuantity
        FROM pos, items
        WHERE pos.itemID = items.itemID
        GROUP BY storeID, category""",
    "sR_sales": """
        SELECT region, COUNT(*) AS TotalCount, SUM(qty) AS TotalQuantity
        FROM pos, stores
        WHERE pos.storeID = stores.storeID
        GROUP BY region""",
}


@dataclass(frozen=True)
class Day:
    """How many sales a day brings: today's, late ones of earlier dates, and ones taken back."""

    sold_today: int
    sold_earlier: int
    taken_back: int

    @property
    def inserted(self) -> int:
        return self.sold_today + self.sold_earlier


def day_for(rows: int) -> Day:
    """One percent of the fact table on the new date, a fifth of a percent late, as many taken back."""
    return Day(max(rows // 100, 1), max(rows // 500, 1), max(rows // 500, 1))


def create_tables(wh: Warehouse) -> None:
    for statement in TABLES.values():
        wh.sql(statement)


def load(wh: Warehouse, rows: int) -> None:
    """Fills the three tables in one transaction."""
    from viewkeeper.spark import retail_rows

    with wh.transaction() as change:
        change.insert("stores", retail_rows.stores(wh.spark))
        change.insert("items", retail_rows.items(wh.spark))
        change.insert("pos", retail_rows.sales(wh.spark, 0, rows))


def create_view(wh: Warehouse, name: str) -> None:
    wh.sql(f"CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]}")


def apply_day(wh: Warehouse, rows: int) -> Day:
    """Sells and takes back for one day, in one transaction."""
    from viewkeeper.spark import retail_rows

    day = day_for(rows)
    with wh.transaction() as change:
        change.insert("pos", retail_rows.sales_of_new_day(wh.spark, rows, day.sold_today))
        change.insert("pos", retail_rows.sales(wh.spark, rows + day.sold_today, day.sold_earlier))
        change.delete("pos", retail_rows.every_nth_sale(wh.spark, rows, day.taken_back))
    return day


def biggest_regions(wh: Warehouse) -> Any:
    return wh.sql("SELECT region, TotalCount, TotalQuantity FROM sR_sales ORDER BY TotalQuantity DESC")
