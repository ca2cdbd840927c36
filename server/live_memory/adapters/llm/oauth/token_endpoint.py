"""Asks for a new access token, once, within bounds; never again with a token that was refused."""

import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx2

from live_memory.adapters.llm.endpoint import is_loopback
from live_memory.adapters.llm.oauth.login_file import Login, as_token
from live_memory.adapters.llm.way_out import WayOut
from live_memory.adapters.llm.wire import loose

__all__ = ["CLIENT_ID", "TOKEN_URL", "NotRenewed", "RefreshRefused", "TokenEndpoint"]

# The endpoint and the public id that Claude Code itself uses to renew its login (2.1.80 and later;
# neither is documented by its maker, both were read in the client by several open projects).
TOKEN_URL = "https://platform.claude.com/v1/oauth/token"  # noqa: S105 - an address
CLIENT_ID = "9d1c250a-e61b-44d9-88ed-5944d1962f5e"
_LONGEST_REPLY = 64 * 1024


class NotRenewed(Exception):
    """There is no new token; the text is safe to show."""


class RefreshRefused(NotRenewed):
    """The refresh token is used up, ended or revoked."""


@dataclass(frozen=True, slots=True)
class TokenEndpoint:
    """Where tokens are renewed. Only tests name another one.

    `longest_s` bounds a whole call, so that a stall ends also where no caller waits any more.
    """

    url: str = TOKEN_URL
    client_id: str = CLIENT_ID
    longest_s: float = 10.0
    way_out: WayOut = field(default_factory=WayOut)

    def __post_init__(self) -> None:
        url = urlsplit(self.url)
        if url.scheme != "https" and not (url.scheme == "http" and is_loopback(url.hostname or "")):
            raise ValueError("tokens are renewed over https, except on this machine")

    def renew(self, refresh: str) -> Login:
        """Trade a refresh token for new tokens; blocks, so it is called in a thread.

        Raises:
            RefreshRefused: this refresh token will never be taken.
            NotRenewed: the endpoint failed, or did not answer in time.
        """
        form = {
            "grant_type": "refresh_token",
            "refresh_token": refresh,
            "client_id": self.client_id,
        }
        try:
            status, text = self._post(form)
        except httpx2.RequestError as problem:
            raise NotRenewed(f"no answer ({type(problem).__name__})") from None
        reply = loose.mapping(loose.parse(text))
        if status in (400, 401, 403) and "invalid_grant" in text:
            raise RefreshRefused("its refresh token is no longer taken")
        access = as_token(reply.get("access_token"))
        if status != httpx2.codes.OK or access is None:
            raise NotRenewed(f"the answer was no token (status {status})")
        # Tokens that are used once come with the next one.
        return Login(access, as_token(reply.get("refresh_token")) or refresh)

    def _post(self, form: dict[str, str]) -> tuple[int, str]:
        until = time.monotonic() + self.longest_s
        client = httpx2.Client(
            timeout=self.longest_s,
            follow_redirects=False,
            trust_env=False,
            verify=self.way_out.trusted(),
            proxy=self.way_out.through(),
        )
        headers = {"user-agent": "live-memory", "accept-encoding": "identity"}
        with client, client.stream("POST", self.url, json=form, headers=headers) as response:
            data = b""
            for chunk in response.iter_bytes():
                data += chunk
                if len(data) > _LONGEST_REPLY or time.monotonic() > until:
                    raise httpx2.ReadTimeout("the answer does not end")
            return response.status_code, data.decode("utf-8", "replace")
