"""Random specs, compiled and held against plain numpy that shares no code with the product.

``formats``, ``bounds``, ``oracle`` and the modules of operators (``elementwise``, ``reductions``,
``products``) are the oracle; they import nothing of `morello`. ``cases`` is what is drawn, by ``draw`` and ``recipes``. ``trial`` compiles and compares,
``shrink`` makes a failure small, ``campaign`` runs many.
"""
