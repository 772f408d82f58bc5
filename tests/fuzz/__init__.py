"""Files that are damaged at random: the public loaders read each, or refuse it with a diagnostic.

``corpus`` is what is damaged, by ``mutate``; ``readers`` read it, in processes that ``worker``
bounds in time and memory; ``campaign`` runs many of them and keeps what failed.
"""
