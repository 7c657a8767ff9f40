"""Pass 4 (stub)."""

from viewkeeper.maintenance.id_diffs.script import Script


def minimize(script: Script) -> Script:
    return script
