"""Tests beside engines of others, whose artefacts come from Maven Central. `make interop` runs them."""
