"""Text that leaves does nothing where it is shown: no control, no image, no line of our own frame.

Everything that is answered passes `visible`; what a model wrote passes `inert` before it is kept.
"""

import re

__all__ = ["inert", "visible"]

# C0 but for tab and line feed, C1, and what turns the direction of text.
_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# An image is fetched without a click, and so can carry words away in its address.
_IMAGE = re.compile(r"(!\[[^\[\]\n]{0,300}\])(?=[(\[])")
_LINK = re.compile(r"\](?=\(\s{0,9}<?\s{0,9}(?:[A-Za-z][A-Za-z0-9+.-]{1,20}:|//|\\\\|www\.))")
_REFERENCE = re.compile(r"^([ \t]{0,3})(?=\[[^\[\]\n]{1,300}\]:)", re.MULTILINE)
_TAG = re.compile(
    r"<(?=/?(?:a|area|audio|base|embed|form|iframe|image|img|input|link|meta|object|picture|script|"
    r"source|style|svg|track|video)\b)",
    re.IGNORECASE,
)
# Lines that only we write: the last one, the list of sources, headers, places and numbered lines.
_FRAME = re.compile(
    r"^(?=[ \t>*_`]{0,9}(?:\[[ \t]*mode\b|Sources[ \t]*:|={3}|See also:|Best fit:|\(Partial:)"
    r"|[ \t]{0,9}\d{1,9}\||[ \t]{0,9}[^\s:|]{1,300}:\d{1,9}-\d{1,9}[ \t]*$)",
    re.MULTILINE | re.IGNORECASE,
)


def visible(text: str) -> str:
    r"""Controls written out, as `\x1b` or `\u202e`, and images as the text they are made of."""
    text = text.replace("\r\n", "\n")
    return _IMAGE.sub(r"\1 ", _CONTROLS.sub(_written_out, text))


def inert(text: str) -> str:
    """What a model wrote, with its links, tags and references as text, and no line of our frame."""
    text = _TAG.sub("< ", _LINK.sub("] ", visible(text)))
    return _FRAME.sub("| ", _REFERENCE.sub(r"\1\\", text))


def _written_out(control: re.Match[str]) -> str:
    code = ord(control.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
