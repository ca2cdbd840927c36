"""How this machine's network is left: through a proxy or not, and whose certificates count.

What the environment says of that is the user's own; nothing on this machine is reached through it.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from live_memory.core.errors import ModelRefused

__all__ = ["WayOut", "is_loopback"]

# The names that curl, OpenSSL and Python's clients agree on; the first that is set counts.
_PROXIES = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
_EXCEPTIONS = ("no_proxy", "NO_PROXY")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


@dataclass(frozen=True, slots=True)
class WayOut:
    """A proxy's address, which may hold a password, and a file or folder of certificates."""

    proxy: str | None = field(default=None, repr=False)
    certificates: str | None = None

    @classmethod
    def to(cls, url: str, environ: Mapping[str, str]) -> Self:
        """What this environment says for an address; nothing for one on this machine."""
        here = urlsplit(url)
        if is_loopback(here.hostname or ""):
            return cls()
        # It takes long; and the type stubs name it only on some systems.
        from urllib.request import (  # type: ignore[attr-defined,unused-ignore]  # noqa: PLC0415
            proxy_bypass_environment,
        )

        proxy = _first(_PROXIES, environ)
        exceptions = {"no": _first(_EXCEPTIONS, environ) or ""}
        if proxy is not None:
            proxy = proxy if "://" in proxy else f"http://{proxy}"
            if proxy_bypass_environment(here.netloc, exceptions):
                proxy = None
        return cls(proxy, _first(_CERTIFICATES, environ))

    def through(self) -> str | None:
        """The proxy to go through, if any.

        Raises:
            ModelRefused: it is of a kind that is not spoken here.
        """
        kind = urlsplit(self.proxy or "http:").scheme
        # SOCKS would need one more library, and whoever sets a proxy may not want to go without.
        if kind not in ("http", "https"):
            raise ModelRefused(
                f"A proxy of kind {kind!r} is not supported: name one of kind http in "
                "HTTPS_PROXY, or the endpoint's host in NO_PROXY to reach it directly"
            )
        return self.proxy

    def trusted(self) -> ssl.SSLContext | bool:
        """What a server's certificate is checked with; the system's own where nothing is set.

        Raises:
            ModelRefused: what is set cannot be read.
        """
        there = self.certificates
        if there is None:
            return True
        try:
            if Path(there).is_dir():
                return ssl.create_default_context(capath=there)
            return ssl.create_default_context(cafile=there)
        except OSError as problem:  # also where it holds no certificate
            raise ModelRefused(
                f"The certificates in '{there}' cannot be used ({problem.strerror or problem}): "
                f"check {' or '.join(_CERTIFICATES)}"
            ) from problem


def _first(names: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)


def is_loopback(host: str) -> bool:
    """Whether this host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
