"""The grammars of the three kinds of file, as package data: Lark's, and for editors TextMate's."""
