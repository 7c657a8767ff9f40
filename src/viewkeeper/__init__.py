"""Incremental view maintenance for Apache Spark.

import viewkeeper as vk

wh = vk.open("warehouse/")
wh.sql("CREATE TABLE pos (storeID INT, qty INT)")
wh.sql("CREATE MATERIALIZED VIEW sales AS SELECT storeID, SUM(qty) AS q FROM pos GROUP BY storeID")
with wh.transaction() as t:
    t.insert("pos", [(1, 5), (1, 7)])
wh.refresh()
"""

from viewkeeper.errors import ViewkeeperError
from viewkeeper.report import Reason, Report, ViewReport
from viewkeeper.warehouse import Warehouse, open

__version__ = "0.1.0"

__all__ = ["Reason", "Report", "ViewReport", "ViewkeeperError", "Warehouse", "__version__", "open"]
