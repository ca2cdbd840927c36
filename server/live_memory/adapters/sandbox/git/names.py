"""Names as git says them."""

__all__ = ["names_in"]


def names_in(out: bytes) -> list[str]:
    """Names that git ended with NUL, a torn last one dropped."""
    return [raw.decode("utf-8", "surrogateescape") for raw in out.split(b"\0")[:-1]]
