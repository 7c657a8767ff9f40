from __future__ import annotations

from pathlib import Path

import pytest

from tests.tpch.database import generate


@pytest.fixture(scope="session")
def tpch_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return generate(tmp_path_factory.mktemp("tpch"))
