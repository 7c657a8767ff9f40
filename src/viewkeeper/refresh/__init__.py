"""The life of a refresh. `life.STAGES` is all of it, stage by stage; each stage is a module of its name.

A stage is a function from what is known of a refresh to what is known after it (`state.py`). `life.py` takes
views through the stages; `explain.py` and `measure.py` take them through the same ones, and stop earlier.
"""
