"""Summary-delta tables: mumick97 sections 3 and 4.

    propagate   sd_v = γ(prepare-changes)        reads the changes, not the summary
    refresh     v ⊕ sd_v                         appends a layer, mostly without reading the summary

`state` says what is stored, `prepare` computes summary-deltas, `preaggregate` moves joins behind a first
aggregation, `refresh` applies them, `figures` shows all of it as SQL, `accesses` counts rows as Table 1 does.
"""
