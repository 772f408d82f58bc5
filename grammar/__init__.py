"""The Lark grammars of the three kinds of file, as package data."""
