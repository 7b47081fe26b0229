"""How cost grows with the size of the table: ``python -m benchmarks.growth``.

``sheet`` makes the tables, ``methods`` lists what is measured, ``measure`` is one process of a run,
``curves`` runs all of them, ``first`` and ``busy`` measure first calls and a busy machine,
``records`` is the JSON file that all of them write, and ``check``, ``plots`` and ``page`` read it.
"""
