"""Tables that others own, as states of relations: their identity and version, their files, what changed.

`state` says what is recorded of them, `formats` which formats can be followed and what each must answer, and
`delta_…` read the log of a Delta table.
"""
