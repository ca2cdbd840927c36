"""The credential of the user's own Claude Code: read when it is used, renewed only when it must be.

Whose token is refused first looks whether the client got a new one. Renewing is the last resort:
the client's file is never written, so a refresh token that is used once is then ours alone.
"""

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx2
from anyio import to_thread
from filelock import FileLock, Timeout

from live_memory.adapters.llm import quirks
from live_memory.adapters.llm.endpoint import Credential, HeaderStyle, WayOut, is_loopback
from live_memory.adapters.llm.installed_client import (
    INSTEAD,
    Login,
    LoginUnreadable,
    as_token,
    read_login,
)
from live_memory.adapters.llm.quirks import cleaned
from live_memory.core.errors import LoginRefused

__all__ = ["CLIENT_ID", "TOKEN_URL", "ClaudeLogin", "TokenEndpoint"]

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
        reply = quirks.mapping(quirks.parse(text))
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


# After a refusal the same login is left alone for so long; another one in the file is used at once.
_REST_S = 60.0
# After a renewal that failed for the endpoint's own reasons.
_SHORT_REST_S = 15.0
# A running client renews its login itself, in about a second.
_PATIENCE_S = 2.0
_LOOK_EVERY_S = 0.1
# What is written while we read is whole a moment later.
_LOOKS, _LOOK_AGAIN_S = 3, 0.05
_LOCK_S = 5.0
# An endpoint may still repeat a token that was replaced while it answered.
_MOST_SEEN = 8
_LOCK_NAME = "login.lock"
# Refusals of the kind of credential, whatever its age.
_NOT_FOR_US = re.compile(
    r"only authorized for use with|oauth\b.{0,60}\bnot (?:currently )?(?:supported|allowed)"
    r"|authentication is (?:currently )?not supported",
    re.IGNORECASE,
)
_OTHERWISE = "set 'use_oauth' to false, and 'provider' to claude-cli or an 'api_key'"


@dataclass(frozen=True, slots=True)
class _Renewed:
    """Tokens of ours, as long as the file still holds the access token that they replace."""

    replaced: str = field(repr=False)
    login: Login
    at: float


@dataclass(frozen=True, slots=True)
class _Rest:
    """An access token that is left alone for a while, and why."""

    access: str = field(repr=False)
    until: float
    reason: str


class ClaudeLogin:
    """A `CredentialSource`; one for all models of a process, so that it renews once for all."""

    def __init__(
        self,
        file: Path,
        folder: Path,
        *,
        endpoint: TokenEndpoint | None = None,
        patience_s: float = _PATIENCE_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._file = file
        self._lock_file = folder / _LOCK_NAME
        self._endpoint = endpoint or TokenEndpoint()
        self._patience_s = patience_s
        self._monotonic = monotonic
        # Whoever gives up waiting leaves the call to end by itself: its tokens are not lost.
        self._turn = threading.Lock()
        self._line = anyio.CapacityLimiter(1)
        self._renewed: _Renewed | None = None
        self._rest: _Rest | None = None
        self._used_up: str | None = None
        self._seen: tuple[str, ...] = ()

    @property
    def secrets(self) -> tuple[str, ...]:
        """The tokens that were seen last."""
        return self._seen

    async def current(self) -> Credential:
        """The access token that the client has, or ours in its place.

        Raises:
            LoginRefused: the client is logged out, or its login was refused a moment ago.
        """
        access = (await to_thread.run_sync(self._now, abandon_on_cancel=True)).access
        if rest := self._resting(access):
            raise LoginRefused(rest.reason)
        return Credential(access, HeaderStyle.OAUTH)

    async def instead_of(self, refused: Credential, status: int, body: str) -> Credential | None:
        """Another access token after a 401; the age of a token is not asked.

        Raises:
            LoginRefused: there is none, or such tokens are not for other programs.
        """
        is_not_for_us = status in (400, 401, 403) and _NOT_FOR_US.search(body)
        if is_not_for_us or status == 403:
            what = "is not taken from other programs" if is_not_for_us else "was refused (403)"
            said = (
                quirks.string(quirks.mapping_in(quirks.parse(body), "error").get("message")) or body
            )
            reason = f"Claude Code's login {what}; {_OTHERWISE}: {cleaned(said, self._seen)}"
            self._leave_alone(refused.secret, _REST_S, reason)
            raise LoginRefused(reason)
        if status != 401:
            return None
        access = await to_thread.run_sync(
            self._other_than, refused.secret, abandon_on_cancel=True, limiter=self._line
        )
        return Credential(access, HeaderStyle.OAUTH)

    def _now(self) -> Login:
        """Read the file; also the tokens that take its tokens' place are as fresh as it is."""
        for look in range(_LOOKS):
            try:
                kept = read_login(self._file)
                break
            except LoginUnreadable:
                if look == _LOOKS - 1:
                    raise
                time.sleep(_LOOK_AGAIN_S)
        ours = self._renewed
        login = ours.login if ours and ours.replaced == kept.access else kept
        seen = (kept.access, kept.refresh, login.access, login.refresh, *self._seen)
        self._seen = tuple(filter(None, dict.fromkeys(seen)))[:_MOST_SEEN]
        return login

    def _other_than(self, refused: str) -> str:
        """An access token that was not refused; in a thread, one at a time."""
        with self._turn:
            login = self._now()
            if login.access != refused:
                return login.access
            if rest := self._resting(refused):
                raise LoginRefused(rest.reason)
            self._check_renewable(login)
            login = self._after_the_client(refused)
            return login.access if login.access != refused else self._renew(login.access)

    def _check_renewable(self, login: Login) -> str:
        ours = self._renewed
        if login.refresh is None or login.refresh == self._used_up:
            raise self._given_up(login.access, "it cannot be renewed")
        if ours and ours.login is login and self._monotonic() < ours.at + _REST_S:
            raise self._given_up(login.access, "its new token was refused too")
        return login.refresh

    def _after_the_client(self, refused: str) -> Login:
        """Give the client a moment to renew its login itself."""
        until = time.monotonic() + self._patience_s
        while True:
            login = self._now()
            if login.access != refused or time.monotonic() >= until:
                return login
            time.sleep(_LOOK_EVERY_S)

    def _renew(self, stale: str) -> str:
        """Trade the refresh token, unless somebody renewed while we waited for the lock."""
        try:
            with FileLock(self._lock_file, timeout=_LOCK_S, mode=0o600):
                login = self._now()
                return login.access if login.access != stale else self._traded(login)
        except Timeout:
            raise self._given_up(stale, "another server is at it", rest_s=_SHORT_REST_S) from None
        except OSError as problem:
            reason = f"'{self._lock_file}' cannot be made: {problem.strerror}"
            raise self._given_up(stale, reason, rest_s=_SHORT_REST_S) from None

    def _traded(self, login: Login) -> str:
        refresh, ours = self._check_renewable(login), self._renewed
        try:
            fresh = self._endpoint.renew(refresh)
        except RefreshRefused as problem:
            self._used_up = refresh
            raise self._given_up(login.access, str(problem)) from None
        except NotRenewed as problem:
            raise self._given_up(login.access, str(problem), rest_s=_SHORT_REST_S) from None
        replaced = ours.replaced if ours and ours.login is login else login.access
        self._renewed = _Renewed(replaced, fresh, self._monotonic())
        return fresh.access

    def _given_up(self, access: str, why: str, *, rest_s: float = _REST_S) -> LoginRefused:
        reason = f"Claude Code's login has ended and was not renewed ({why}): {INSTEAD}"
        self._leave_alone(access, rest_s, reason)
        return LoginRefused(reason)

    def _leave_alone(self, access: str, rest_s: float, reason: str) -> None:
        self._rest = _Rest(access, self._monotonic() + rest_s, reason)

    def _resting(self, access: str) -> _Rest | None:
        rest = self._rest
        if rest is None or rest.access != access or self._monotonic() >= rest.until:
            return None
        return rest
