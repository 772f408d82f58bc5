"""Templates of C for emitters: jinja2, set up as kernels' templates are written.

To compile a template takes longer than to render it. Its code is therefore kept in the start-up
cache, which emitters need not know of.
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from types import MappingProxyType

import jinja2

from morello.startup.cache import entry

KEPT = 256
"""Templates that stay in the cache: all of a few targets."""

_NOTHING: Mapping[str, object] = MappingProxyType({})


def compile_template(
    text: str,
    functions: Mapping[str, object] = _NOTHING,
    *,
    keep_trailing_newline: bool = False,
    html: bool = False,
) -> jinja2.Template:
    """A template that can be rendered; to use a name that it is not given is an error.

    Args:
        text: The template. A line that holds only a block leaves no line.
        functions: What every rendering sees, beside its own values.
        keep_trailing_newline: Whether a line break at the very end stays.
        html: Whether values are texts, to be escaped.

    Raises:
        jinja2.TemplateSyntaxError: It is no template.
    """
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=keep_trailing_newline,
        autoescape=html,
    )
    environment.globals.update(functions)
    parts = (jinja2.__version__, str(keep_trailing_newline), str(html), text)
    place = entry("template", *parts, kept=KEPT)
    known = place.read()
    code = environment.compile(text) if known is None else marshal.loads(known)
    if known is None:
        place.write(marshal.dumps(code))
    return environment.template_class.from_code(environment, code, environment.make_globals(None))
