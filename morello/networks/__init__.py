"""Whole networks: from a model file to specs of a few operations each, and one C library of them.

The stations, each a module: a file is read (`onnx_file`) as a `network`; `normalise` says what
remains in few kinds of nodes; `partition` puts nodes together that are computed at once; `saying`
writes a spec for each such part; `memory` gives every tensor on the way its place; `build` compiles
the parts, and `c_files` writes what calls them one after the other. `loading` runs the result.
"""
