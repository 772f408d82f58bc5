"""Random specs, compiled and held against plain numpy that shares no code with the product.

``formats``, ``bounds``, ``oracle`` and the modules of operators (``elementwise``, ``reductions``,
``products``) are the oracle; they import nothing of `morello`. ``cases`` is what is drawn, by
``draw`` and ``recipes``, on ``inputs``. ``trial`` compiles and compares, ``metamorphic`` compiles
once more in another way, ``shrink`` makes a failure small, ``campaign`` runs many, each ``apart``.
"""
