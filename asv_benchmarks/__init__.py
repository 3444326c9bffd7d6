"""How fast the package is: by commit (asv) and against its peers (versus).

``cd asv_benchmarks && asv run`` times the classes of ``benchmarks/``; ``python -m
asv_benchmarks.versus`` times the rows of ``rows/``. Neither is part of what is installed.
"""
