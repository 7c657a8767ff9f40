"""Summary-delta tables: mumick97 sections 3 and 4.

    propagate   sd_v = γ(prepare-changes)        reads the changes, not the summary
    refresh     v ⊕ sd_v                         appends a layer, mostly without reading the summary

`sources` says where a view's summary-delta comes from, `preaggregate` moves joins behind a first aggregation,
and `maintenance/aggregates.py` applies what came out, for these views as for any other aggregate. `state`,
`prepare` and `figures` write all of it as the paper does, which is what `explain` shows beside the steps.
"""
