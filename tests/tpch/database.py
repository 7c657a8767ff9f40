"""The eight tables of TPC-H: schemas for the front end, rows from `tpchgen-cli` at a small scale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from viewkeeper.algebra.schema import Column, ForeignKey, TableSchema

SCALE = "0.01"

_TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "region": ("r_regionkey bigint, r_name string, r_comment string", ("r_regionkey",)),
    "nation": ("n_nationkey bigint, n_name string, n_regionkey bigint, n_comment string", ("n_nationkey",)),
    "supplier": (
        "s_suppkey bigint, s_name string, s_address string, s_nationkey bigint, s_phone string,"
        " s_acctbal decimal(15,2), s_comment string",
        ("s_suppkey",),
    ),
    "customer": (
        "c_custkey bigint, c_name string, c_address string, c_nationkey bigint, c_phone string,"
        " c_acctbal decimal(15,2), c_mktsegment string, c_comment string",
        ("c_custkey",),
    ),
    "part": (
        "p_partkey bigint, p_name string, p_mfgr string, p_brand string, p_type string, p_size int,"
        " p_container string, p_retailprice decimal(15,2), p_comment string",
        ("p_partkey",),
    ),
    "partsupp": (
        "ps_partkey bigint, ps_suppkey bigint, ps_availqty int, ps_supplycost decimal(15,2),"
        " ps_comment string",
        ("ps_partkey", "ps_suppkey"),
    ),
    "orders": (
        "o_orderkey bigint, o_custkey bigint, o_orderstatus string, o_totalprice decimal(15,2),"
        " o_orderdate date, o_orderpriority string, o_clerk string, o_shippriority int, o_comment string",
        ("o_orderkey",),
    ),
    "lineitem": (
        "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int,"
        " l_quantity decimal(15,2), l_extendedprice decimal(15,2), l_discount decimal(15,2),"
        " l_tax decimal(15,2), l_returnflag string, l_linestatus string, l_shipdate date,"
        " l_commitdate date, l_receiptdate date, l_shipinstruct string, l_shipmode string,"
        " l_comment string",
        ("l_orderkey", "l_linenumber"),
    ),
}


_REFERENCES = {
    "nation": "n_regionkey > region",
    "supplier": "s_nationkey > nation",
    "customer": "c_nationkey > nation",
    "partsupp": "ps_partkey > part, ps_suppkey > supplier",
    "orders": "o_custkey > customer",
    "lineitem": "l_orderkey > orders, l_partkey > part, l_suppkey > supplier",
}


def _references(name: str) -> tuple[ForeignKey, ...]:
    pairs = [part.split(" > ") for part in _REFERENCES.get(name, "").split(", ") if part]
    return tuple(ForeignKey((column,), table, _TABLES[table][1]) for column, table in pairs)


def _schema(name: str) -> TableSchema:
    text, key = _TABLES[name]
    parts = [part.strip().split(" ", 1) for part in text.replace("(15,2)", "(15;2)").split(",")]
    columns = (Column(column, kind.replace(";", ","), column not in key) for column, kind in parts)
    return TableSchema(name, tuple(columns), key, _references(name))


SCHEMAS = tuple(_schema(name) for name in _TABLES)


def generate(folder: Path) -> dict[str, Path]:
    """One Parquet file for each table."""
    program = Path(sys.executable).parent / "tpchgen-cli"
    command = [str(program), "parquet", "--scale-factor", SCALE, "--output-dir", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return {name: folder / f"{name}.parquet" for name in _TABLES}
