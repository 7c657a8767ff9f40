"""The API as OpenAPI describes it, made from the table of endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from viewkeeper import __version__
from viewkeeper.serve.api import ENDPOINTS, Endpoint


def document(endpoints: Iterable[Endpoint] = ENDPOINTS) -> dict[str, Any]:
    """All endpoints."""
    paths: dict[str, dict[str, Any]] = {}
    for one in endpoints:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Viewkeeper", "version": __version__},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": paths,
    }


def _operation(one: Endpoint) -> dict[str, Any]:
    names = re.findall(r"{(\w+)}", one.path)
    in_path = [_parameter(name, "path", f"the {name}", True) for name in names]
    in_query = [_parameter(name, "query", words, False) for name, words in one.parameters.items()]
    found: dict[str, Any] = {
        "summary": one.summary,
        "operationId": one.handler.__name__,
        "parameters": [*in_path, *in_query],
        "responses": {"200": {"description": "what was asked"}, "400": {"description": "an error, told"}},
    }
    if one.body:
        fields = {name: {"description": words} for name, words in one.body.items()}
        content: Mapping[str, Any] = {"schema": {"type": "object", "properties": fields}}
        found["requestBody"] = {"content": {"application/json": content}}
    if one.changes:
        found["security"] = [{"token": []}]
        found["responses"]["401"] = {"description": "the token is needed"}
    return found


def _parameter(name: str, place: str, words: str, required: bool) -> dict[str, Any]:
    kind = {"type": "integer" if name == "limit" else "string"}
    return {"name": name, "in": place, "description": words, "required": required, "schema": kind}
