"""Conformance: other engines' test cases, run through the public API.

    python -m tools.conformance CASES [--limit N] [--only TAG] [--spread N] [--policy P] [--jobs N]

A case is one JSON object per line: tables with their first rows, a view, batches of changes, and
the view's rows before the first batch and after each. A case *passes* when the view has exactly
these rows after every refresh, is *refused* when Viewkeeper says, with a reason code, that it
cannot take the view under the policy, and *fails* otherwise.
"""
