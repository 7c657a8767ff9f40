"""Data of the retail warehouse, made by Spark jobs.

A sale is a function of its number, so that a sale to take back can be made again instead of
being looked up, and every run on every machine has the same rows. Five sales in a row are of one
item in one store on one date: as in the paper, an item is sold in several transactions.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

STORES = 100
CITIES = 50
REGIONS = 10
ITEMS = 1_000
CATEGORIES = 20
DAYS = 200
SALES_PER_GROUP = 5

FIRST_DATE = "2024-01-01"


def stores(spark: SparkSession) -> DataFrame:
    """stores(storeID, city, region): storeID determines city, city determines region."""
    number = F.col("id").cast("int")
    city = F.col("id") % CITIES
    return spark.range(1, STORES + 1, numPartitions=1).select(
        number.alias("storeID"),
        _named("city", city).alias("city"),
        _named("region", city % REGIONS).alias("region"),
    )


def items(spark: SparkSession) -> DataFrame:
    """items(itemID, name, category, cost)."""
    return spark.range(1, ITEMS + 1, numPartitions=1).select(
        F.col("id").cast("int").alias("itemID"),
        _named("item", F.col("id")).alias("name"),
        _named("category", F.col("id") % CATEGORIES).alias("category"),
        _cost(F.col("id")).alias("cost"),
    )


def sales(spark: SparkSession, first: int, count: int) -> DataFrame:
    """pos(storeID, itemID, date, qty, price): the sales numbered `first` to `first + count - 1`."""
    return _sales(spark.range(first, first + count), _old_date())


def sales_of_new_day(spark: SparkSession, first: int, count: int, day: int = 0) -> DataFrame:
    """Sales of the day after all others, or of a later one."""
    date = F.date_add(F.lit(FIRST_DATE).cast("date"), DAYS + day)
    return _sales(spark.range(first, first + count), date)


def every_nth_sale(
    spark: SparkSession, rows: int, count: int, start: int = 0, step: int | None = None
) -> DataFrame:
    """`count` of the first `rows` sales, spread evenly over them or `step` apart, from `start` on."""
    step = step or max(rows // count, 1)
    return _sales(spark.range(start, min(start + step * count, rows), step), _old_date())


def _sales(numbers: DataFrame, date: Column) -> DataFrame:
    item = 1 + _pick("item", ITEMS)
    return numbers.select(
        (1 + _pick("store", STORES)).cast("int").alias("storeID"),
        item.cast("int").alias("itemID"),
        date.alias("date"),
        (1 + F.pmod(F.xxhash64(F.lit("qty"), F.col("id")), F.lit(9))).cast("int").alias("qty"),
        (_cost(item) * F.lit(1.25).cast("decimal(3,2)")).cast("decimal(10,2)").alias("price"),
    )


def _old_date() -> Column:
    return F.date_add(F.lit(FIRST_DATE).cast("date"), _pick("date", DAYS).cast("int"))


def _pick(what: str, of: int) -> Column:
    """One of `of` numbers, the same for all sales of a group."""
    group = F.floor(F.col("id") / SALES_PER_GROUP)
    return F.pmod(F.xxhash64(F.lit(what), group), F.lit(of))


def _cost(item: Column) -> Column:
    cents = 99 + F.pmod(F.xxhash64(F.lit("cost"), item.cast("long")), F.lit(9_900))
    return (cents.cast("decimal(10,0)") / 100).cast("decimal(10,2)")


def _named(what: str, number: Column) -> Column:
    return F.concat(F.lit(f"{what} "), number.cast("string"))
