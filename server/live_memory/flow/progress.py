"""How a long piece of work says where it is."""

from collections.abc import Awaitable, Callable

__all__ = ["Progress", "silent"]

Progress = Callable[[str], Awaitable[None]]


async def silent(_message: str) -> None:
    """Say nothing."""
