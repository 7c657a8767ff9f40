"""The demo's data: the same on every run, with the paper's proportions and functional dependencies."""

from __future__ import annotations

from viewkeeper.spark import retail_rows


def rows_of(frame):
    return sorted(tuple(row) for row in frame.collect())


def test_a_sale_taken_back_is_a_sale_that_was_made(spark):
    made = rows_of(retail_rows.sales(spark, 0, 1_000))
    back = rows_of(retail_rows.every_nth_sale(spark, 1_000, 10))
    assert len(back) == 10
    assert all(back.count(row) <= made.count(row) for row in back)


def test_sales_depend_only_on_their_numbers(spark):
    whole = rows_of(retail_rows.sales(spark, 0, 100))
    parts = [*rows_of(retail_rows.sales(spark, 0, 40)), *rows_of(retail_rows.sales(spark, 40, 60))]
    assert whole == sorted(parts)


def test_the_new_day_is_after_all_others(spark):
    last = max(row.date for row in retail_rows.sales(spark, 0, 1_000).collect())
    assert {row.date > last for row in retail_rows.sales_of_new_day(spark, 0, 10).collect()} == {True}


def test_cities_determine_regions_and_every_sale_has_its_store_and_item(spark):
    stores = retail_rows.stores(spark).collect()
    regions = {(row.city, row.region) for row in stores}
    assert len({city for city, _ in regions}) == len(regions) == retail_rows.CITIES
    assert len({region for _, region in regions}) == retail_rows.REGIONS
    items = {row.itemID for row in retail_rows.items(spark).collect()}
    sales = retail_rows.sales(spark, 0, 500).collect()
    assert {row.storeID for row in sales} <= {row.storeID for row in stores}
    assert {row.itemID for row in sales} <= items
    assert {1 <= row.qty <= 9 and row.price > 0 for row in sales} == {True}


def test_columns_have_the_types_of_the_tables(spark):
    types = dict(retail_rows.sales(spark, 0, 1).dtypes)
    assert types == {
        "storeID": "int",
        "itemID": "int",
        "date": "date",
        "qty": "int",
        "price": "decimal(10,2)",
    }
    assert dict(retail_rows.items(spark).dtypes)["cost"] == "decimal(10,2)"
