"""Templates of C for emitters: jinja2, set up as kernels' templates are written.

To compile a template takes longer than to render it. Its code is therefore kept in the start-up
cache, which emitters need not know of.
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from types import MappingProxyType

import jinja2
from jinja2.utils import missing

from morello.language.diagnostics import suggestion
from morello.startup.cache import entry

KEPT = 256
"""Templates that stay in the cache: all of a few targets."""

_NOTHING: Mapping[str, object] = MappingProxyType({})


class _Unknown(jinja2.StrictUndefined):
    """What is not there, said without the names of our classes."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        of = self._undefined_obj
        if self._undefined_hint or of is missing or not isinstance(self._undefined_name, str):
            return super()._undefined_message
        names = of if isinstance(of, Mapping) else (n for n in dir(of) if not n.startswith("_"))
        advice = suggestion(self._undefined_name, map(str, names))
        return f"there is no '.{self._undefined_name}' here" + (f": {advice}" if advice else "")


def compile_template(
    text: str,
    functions: Mapping[str, object] = _NOTHING,
    *,
    keep_trailing_newline: bool = False,
    html: bool = False,
    name: str = "<template>",
) -> jinja2.Template:
    """A template that can be rendered; to use a name that it is not given is an error.

    Args:
        text: The template. A line that holds only a block leaves no line.
        functions: What every rendering sees, beside its own values.
        keep_trailing_newline: Whether a line break at the very end stays.
        html: Whether values are texts, to be escaped.
        name: What tracebacks call its file.

    Raises:
        jinja2.TemplateSyntaxError: It is no template.
    """
    environment = jinja2.Environment(
        undefined=_Unknown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=keep_trailing_newline,
        autoescape=html,
    )
    environment.globals.update(functions)
    parts = (jinja2.__version__, str(keep_trailing_newline), str(html), name, text)
    place = entry("template", *parts, kept=KEPT)
    known = place.read()
    code = environment.compile(text, filename=name) if known is None else marshal.loads(known)
    if known is None:
        place.write(marshal.dumps(code))
    return environment.template_class.from_code(environment, code, environment.make_globals(None))
