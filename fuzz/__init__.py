"""A machine that looks for wrong answers: random schemas, views and change streams against plain Spark.

    make fuzz MINUTES=10 SEED=1        scenario number n has the seed SEED + n
    make fuzz SEED=17 ONE=1            that scenario again

A scenario is a `case.Case`: tables, views and steps as plain data. `run.run` plays it on a warehouse and
on a model of the tables that shares nothing with Viewkeeper; `oracle` asks Spark for each view's own text
over the model. What differs is made smaller by `shrink` and written as a file that `pytest` replays.
"""
