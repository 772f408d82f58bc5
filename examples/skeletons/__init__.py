"""What `morello new` writes: a directory for each kind, with templates of files.

Templates are jinja2 with `<< >>` and `<% %>`, since kernels have templates of their own. `NAME` and
`PACKAGE` in a path stand for the name; `commands.jinja` has what to type next.
"""
