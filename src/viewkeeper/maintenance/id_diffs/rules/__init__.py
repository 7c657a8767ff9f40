"""The i-diff propagation rules (katsis15, Tables 4–13): how a diff of an input is one of the output.

| operator                  | tables    | file             |
|---------------------------|-----------|------------------|
| ×, ⋈                      | 4, 10     | `join.py`        |
| ∪ (with its branch)       | 5         | `union.py`       |
| σ                         | 6         | `selection.py`   |
| π with functions          | 8         | `projection.py`  |
| ▷, ⋉                      | 13        | `semijoin.py`    |
| γ of any function         | 7         | `aggregation.py` |
| γ of SUM, COUNT, AVG      | 9, 11, 12 | `sums.py`        |

A rule sees the diff and, only where it must, the data of its operator's inputs before or after the
change. It may say too much where that saves a look at the data, never something untrue.
"""
