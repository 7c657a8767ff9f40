"""Recursive definitions: their strata and rules, and evaluation in rounds (gupta93 sections 3 and 7)."""
