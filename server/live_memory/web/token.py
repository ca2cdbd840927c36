"""The bearer token: one random secret an installation, in a file only its owner can read.

The command line reads it too, so this module imports nothing heavy.
"""

import os
import re
import secrets
import stat
from pathlib import Path

from live_memory.core.errors import InvalidRequest

__all__ = ["ensure_data_dir", "ensure_token", "read_token"]

_NAME = "token"
_RANDOM_BYTES = 32
_FORM = re.compile(r"[A-Za-z0-9_-]{43}")
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
# Enough to see that a file holds more than a token.
_LONGEST = 256
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def ensure_data_dir(folder: Path) -> None:
    """Make the data folder, or close it to others where it is ours or empty.

    Raises:
        InvalidRequest: it is no folder, belongs to someone else, or cannot be used.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.stat()
        if state.st_uid != os.geteuid():
            raise InvalidRequest(f"data folder '{folder}' belongs to another user: name your own")
        if state.st_mode & _OTHERS:
            # A folder with other things in it may be one that others have to reach.
            if any(folder.iterdir()) and not (folder / _NAME).is_file():
                raise InvalidRequest(
                    f"data folder '{folder}' is open to other users and holds other files: "
                    "name a folder of its own, or `chmod 700` it"
                )
            folder.chmod(0o700)
    except FileExistsError:
        raise InvalidRequest(
            f"data folder '{folder}' cannot be used (it is no folder): move what is there away, or "
            "set another with `data_dir`"
        ) from None
    except OSError as problem:
        raise InvalidRequest(
            f"data folder '{folder}' cannot be used ({problem.strerror}): make it writable, or set "
            "another with `data_dir`"
        ) from None


def ensure_token(data_dir: Path) -> str:
    """The installation's token, made at the first start.

    Raises:
        InvalidRequest: the file is not one that only we could have written; the text names it.
    """
    ensure_data_dir(data_dir)
    file = data_dir / _NAME
    token = secrets.token_urlsafe(_RANDOM_BYTES)
    # Written beside and linked into place, so that nobody ever reads half a token.
    new = data_dir / f"{_NAME}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        if not os.path.lexists(file):
            new.unlink(missing_ok=True)
            with os.fdopen(os.open(new, flags, 0o600), "w") as out:
                os.fchmod(out.fileno(), 0o600)
                out.write(token)
            os.link(new, file)
            new.unlink()
    except FileExistsError:
        new.unlink(missing_ok=True)
    except OSError as problem:
        raise InvalidRequest(f"token file '{file}' cannot be made: {problem.strerror}") from None
    return read_token(data_dir)


def read_token(data_dir: Path) -> str:
    """The installation's token.

    Raises:
        InvalidRequest: there is none, or it is not a file that only we can read; the text names
            the file and never its content.
    """
    file = data_dir / _NAME
    try:
        descriptor = os.open(file, _READ_FLAGS)
    except FileNotFoundError:
        raise InvalidRequest(f"there is no token file '{file}': start the server once") from None
    except OSError as problem:
        raise InvalidRequest(
            f"token file '{file}' cannot be opened ({problem.strerror}): remove it and start again"
        ) from None
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise InvalidRequest(f"token file '{file}' is not a regular file: remove it")
        if state.st_uid != os.geteuid() or state.st_mode & _OTHERS:
            raise InvalidRequest(
                f"token file '{file}' is open to other users or not yours: "
                "remove it and start again, a new one is made"
            )
        text = os.read(descriptor, _LONGEST).decode("ascii", "replace").rstrip("\n")
    finally:
        os.close(descriptor)
    if not _FORM.fullmatch(text):
        raise InvalidRequest(f"token file '{file}' holds no token: remove it and start again")
    return text
