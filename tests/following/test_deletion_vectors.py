"""Deletion vectors: their text, their files, and what is wrong with damaged ones."""

from __future__ import annotations

import pytest
from pyroaring import BitMap64

from tests.following.source import bitmap, vector_file
from viewkeeper.errors import MissingFile, StorageError
from viewkeeper.storage.deletion_vectors import DeletionVector, encoded, rows_of, z85, z85_decoded

ROWS = {0, 3, 7, 70_000, 2**33 + 1}


def nothing(path: str) -> bytes:
    raise AssertionError(path)


def test_z85_is_read() -> None:
    assert z85_decoded("HelloWorld").hex() == "864fd26fb559f75b"
    with pytest.raises(StorageError, match="no Z85 text"):
        z85_decoded("Hel~o")


def test_z85_is_written() -> None:
    assert z85(bytes.fromhex("864fd26fb559f75b")) == "HelloWorld"


def test_the_log_may_hold_a_vector() -> None:
    data = bitmap(ROWS)
    vector = DeletionVector("i", z85(data + b"\0" * (-len(data) % 4)), None, len(data), len(ROWS))
    assert set(rows_of(vector, nothing)) == ROWS


def test_a_file_may_hold_a_vector() -> None:
    data = bitmap(ROWS)
    content, offset = vector_file(data)
    vector = DeletionVector("p", "/there.bin", offset, len(data), len(ROWS))
    assert set(rows_of(vector, {"/there.bin": content}.__getitem__)) == ROWS


def test_the_name_of_a_file_is_a_uuid_in_z85() -> None:
    """The example of the Delta protocol."""
    vector = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 4, 40, 6)
    assert vector.file == "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert vector.identity == "uab^-aqEH.-t@S}K{vb[*k^@4"


def test_vectors_are_read_as_they_were_written() -> None:
    places = [BitMap64([0, 5, 2**33]), BitMap64(range(10_000)), BitMap64()]
    vectors, content = encoded(places)
    assert [rows_of(one, {vectors[0].file: content}.__getitem__) for one in vectors] == places
    assert [one.rows for one in vectors] == [3, 10_000, 0]
    assert DeletionVector.from_log(vectors[1].to_log()) == vectors[1]


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_damaged_vector_is_found(damage: str) -> None:
    data = bitmap(ROWS)
    content, offset = vector_file(data)
    broken = {"cut": content[:-6], "changed": content[:20] + b"?" + content[21:], "empty": b""}[damage]
    vector = DeletionVector("p", "there.bin", offset, len(data), len(ROWS))
    with pytest.raises(MissingFile, match=r"there\.bin"):
        rows_of(vector, lambda path: broken)


def test_a_vector_of_another_form_is_told() -> None:
    with pytest.raises(StorageError, match="not known"):
        rows_of(DeletionVector("x", "", None, 0, 0), nothing)
    with pytest.raises(StorageError, match="not known"):
        rows_of(DeletionVector("i", "HelloWorld", None, 8, 0), nothing)
