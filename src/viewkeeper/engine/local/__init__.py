"""The local engine: plans over few rows that the driver holds, evaluated by Arrow's Acero.

It answers plans of which `planning.physical.agreement` says that Spark gives the same answer, and leaves to
Spark what turns out not to fit: sums beyond their type, joins of many rows.
"""
