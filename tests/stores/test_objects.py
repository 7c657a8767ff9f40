"""Object stores keep the promises that the warehouse's log needs of a folder."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from obstore.exceptions import AlreadyExistsError
from pyspark.sql.types import StructType

from tests.stores.conftest import Bucket
from viewkeeper.errors import MissingFile, NotFound, StorageError
from viewkeeper.spark.source import ViewkeeperSource
from viewkeeper.storage import objects
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.stores import hadoop_options, hadoop_url, options_of, plain_url


@pytest.fixture
def folder(bucket: Bucket) -> Folder:
    return Folder(bucket.url, options=bucket.options.items())


def test_of_many_writers_one_creates_an_object(folder: Folder) -> None:
    with ThreadPoolExecutor(16) as pool:
        won = list(pool.map(lambda number: folder.create("log/1.json", b"%d" % number), range(16)))
    assert sum(won) == 1
    assert folder.read("log/1.json") == b"%d" % won.index(True)


def test_an_answer_that_was_lost_is_no_other_writer(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request is sent again, and finds what the first one has written."""
    put = objects.obstore.put

    def sent_twice(*arguments: object, **options: object) -> None:
        put(*arguments, **options)  # type: ignore[call-overload]
        raise AlreadyExistsError("412")

    monkeypatch.setattr(objects.obstore, "put", sent_twice)
    assert folder.create("log/1.json", b"mine")


def test_objects_are_listed_measured_and_deleted(folder: Folder) -> None:
    paths = [f"a/{number:03}" for number in range(5)]
    for path in paths:
        folder.replace(path, path.encode())
    assert [path for path, size in folder.listed("a")] == paths
    assert folder.listed_after("a", "a/002") == paths[3:]
    assert (folder.size("a/001"), folder.size("a/none"), folder.range("a/001", 2, 5)) == (5, None, b"001")
    folder.delete(["a/000", "a/none", "a/001"])
    folder.delete(["a/none"])
    assert [path for path, _ in folder.listed("a")] == paths[2:]
    with pytest.raises(MissingFile, match=r"s3a://.*a/none"):
        folder.read("a/none")


@pytest.mark.parametrize(
    ("url", "plain", "hadoop"),
    [
        ("s3a://b/x/", "s3://b/x", "s3a://b/x"),
        ("S3://b/x", "s3://b/x", "s3a://b/x"),
        ("gs://b/x", "gs://b/x", "gs://b/x"),
        ("abfss://c@a.dfs.core.windows.net/x", "abfss://c@a.dfs.core.windows.net/x", None),
        ("az://c/x", "az://c/x", "abfs://c/x"),
    ],
)
def test_addresses_of_stores(url: str, plain: str, hadoop: str | None) -> None:
    assert plain_url(url) == plain
    assert hadoop_url(plain) == (hadoop or plain)


def test_options_are_those_of_the_store_and_of_its_connection(bucket: Bucket) -> None:
    told = {
        **bucket.options,
        "AWS_ALLOW_HTTP": "true",
        "timeout": "30s",
        "aws_s3_allow_unsafe_rename": "true",
    }
    del told["allow_http"]
    assert Folder(bucket.url, options=told.items()).listed_after("x", "") == []
    assert hadoop_options(options_of(told)) == {
        "fs.s3a.access.key": "key",
        "fs.s3a.secret.key": "hush-hush",
        "fs.s3a.endpoint": bucket.options["aws_endpoint_url"],
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.path.style.access": "true",
    }
    with pytest.raises(StorageError, match="cannot be opened") as raised:
        Folder("s3://b/x", options={"aws_secret_access_key": "hush-hush", "no_such": "1"}.items())
    assert "hush" not in str(raised.value)


def test_the_data_source_takes_the_options_of_a_store(bucket: Bucket) -> None:
    given = {f"storage.{name.upper()}": value for name, value in bucket.options.items()}
    source = ViewkeeperSource({"path": bucket.url, "table": "t", **given})
    with pytest.raises(NotFound, match="There is no warehouse at s3://"):
        source.schema()
    with pytest.raises(NotFound, match="There is no warehouse at s3://"):
        source.reader(StructType())
