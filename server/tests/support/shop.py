"""A small shop, what its people told about it, and which of that each everyday question wants.

Those of `HELD_OUT` were written when the rule was made: nothing of it was chosen by them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["HELD_OUT", "SHOP", "TRIED", "TRIED_TOO", "ToldSet", "placed"]

SHOP: Mapping[str, bytes] = {
    "shop/config.py": b'''"""Settings of the shop, read from the environment once."""

import os

DATABASE_URL = os.environ.get("DATABASE_URL", "sqlite:///shop.db")
SESSION_MINUTES = 30
RETRY_LIMIT = 3
PAGE_SIZE = 50
UPLOAD_MAX_BYTES = 5_000_000
MAIL_SENDER = "shop@example.org"
''',
    "shop/session.py": b'''"""Who is logged in, and for how long."""

import secrets
import time

from shop.config import SESSION_MINUTES
from shop.db import connect


def create_session(user):
    """Log a user in; the cookie holds the token."""
    token = secrets.token_urlsafe(32)
    connect().execute("insert into sessions values (?, ?, ?)", (token, user.id, time.time()))
    return token


def is_expired(session):
    """Whether a login is too old."""
    return time.time() - session.created_at > 60 * SESSION_MINUTES


def log_out(token):
    connect().execute("delete from sessions where token = ?", (token,))
''',
    "shop/payments.py": b'''"""Talks to the payment gateway."""

from shop.config import RETRY_LIMIT


class GatewayError(Exception):
    """The gateway refused or did not answer."""


def charge(card, cents):
    """Charge a card, trying again where the gateway does not answer."""
    for attempt in range(RETRY_LIMIT):
        try:
            return post("/charges", {"card": card, "amount": cents})
        except TimeoutError:
            continue
    raise GatewayError("no answer")


def refund(payment):
    """Give the money of a payment back."""
    return post(f"/charges/{payment.id}/refund", {"amount": payment.cents})


def verify_webhook(headers, body):
    """Check the signature of what the gateway tells us."""
    return hmac_of(body) == headers["X-Signature"]
''',
    "shop/orders.py": b'''"""Orders from the cart to the parcel."""

from shop.cart import total
from shop.config import PAGE_SIZE
from shop.db import connect
from shop.mail import send_receipt
from shop.payments import charge, refund


def place_order(cart, user):
    """Charge the card, store the order and send a receipt."""
    payment = charge(user.card, total(cart))
    order = connect().insert("orders", user=user.id, payment=payment.id)
    send_receipt(order)
    return order


def cancel_order(order):
    """Cancel an order that was not shipped."""
    if order.shipped_at:
        raise ValueError("shipped")
    refund(order.payment)
    connect().update("orders", order.id, state="cancelled")


def list_orders(user, page=1):
    """The orders of a user, newest first, a page at a time."""
    offset = (page - 1) * PAGE_SIZE
    return connect().select("orders", user=user.id, limit=PAGE_SIZE, offset=offset)
''',
    "shop/cart.py": b'''"""What a customer wants to buy."""


def add_item(cart, product, count=1):
    cart.items[product.id] = cart.items.get(product.id, 0) + count


def total(cart):
    """The sum in cents, discounts taken off."""
    cents = sum(price_of(product) * count for product, count in cart.items.items())
    return apply_discount(cart, cents)


def apply_discount(cart, cents):
    """Take the best voucher off; vouchers do not add up."""
    best = max((voucher.percent for voucher in cart.vouchers), default=0)
    return cents - cents * best // 100
''',
    "shop/mail.py": b'''"""Mails to customers; they go through a queue."""

from shop.config import MAIL_SENDER
from shop.worker import enqueue


def send_receipt(order):
    """Queue the receipt of an order."""
    enqueue("mail", sender=MAIL_SENDER, to=order.user.email, template="receipt.html")


def send_reset_link(user, token):
    """Queue the link that lets a user choose a new password."""
    enqueue("mail", sender=MAIL_SENDER, to=user.email, template="reset.html", token=token)
''',
    "shop/upload.py": b'''"""Pictures of products."""

from shop.config import UPLOAD_MAX_BYTES

ALLOWED_TYPES = {"image/png", "image/jpeg", "image/webp"}


def save_image(upload):
    """Store a picture, if it is one and not too large."""
    if upload.content_type not in ALLOWED_TYPES or upload.size > UPLOAD_MAX_BYTES:
        raise ValueError("not a picture that we take")
    path = bucket_path(upload.name)
    write_object(path, upload.read())
    return make_thumbnail(path)


def make_thumbnail(path, width=200):
    """A small copy for lists."""
    return resize(path, width)
''',
    "shop/search.py": b'''"""Finds products by words."""

from shop.db import connect


def find_products(query, limit=20):
    """Products whose name or description has the words, best first."""
    words = [word.lower() for word in query.split()]
    rows = connect().match("products", words)
    return sorted(rows, key=relevance, reverse=True)[:limit]


def relevance(row):
    return 2 * row.name_hits + row.description_hits
''',
    "shop/api.py": b'''"""HTTP routes of the shop."""

from shop.orders import cancel_order, list_orders, place_order
from shop.search import find_products
from shop.session import create_session, is_expired

REQUESTS_A_MINUTE = 120


def routes(app):
    app.get("/products", lambda request: find_products(request.query["q"]))
    app.post("/orders", lambda request: place_order(request.cart, request.user))
    app.delete("/orders/{id}", lambda request: cancel_order(request.order))
    app.get("/orders", lambda request: list_orders(request.user))
    app.post("/login", lambda request: create_session(request.user))


def limited(request, seen):
    """Refuse a client that asks too often."""
    return seen.count(request.address, seconds=60) > REQUESTS_A_MINUTE
''',
    "shop/db.py": b'''"""The database: one connection a thread."""

import threading

from shop.config import DATABASE_URL

_local = threading.local()


def connect():
    """The connection of this thread, opened when it is first needed."""
    if not hasattr(_local, "connection"):
        _local.connection = open_database(DATABASE_URL)
    return _local.connection


def migrate(folder="migrations"):
    """Apply the migrations that were not applied yet, in the order of their names."""
    for script in sorted(scripts_in(folder)):
        if script not in applied():
            connect().run(script)
''',
    "shop/worker.py": b'''"""Jobs that run beside requests."""

import time

POLL_S = 0.5


def enqueue(kind, **fields):
    """Put a job into the queue."""
    jobs().append({"kind": kind, **fields})


def run_jobs():
    """Take jobs from the queue until the process ends."""
    while True:
        job = jobs().pop()
        if job is None:
            time.sleep(POLL_S)
            continue
        handle(job)
''',
    "tests/test_orders.py": b"""from shop.orders import cancel_order, place_order


def test_an_order_is_charged_once(cart, user, gateway):
    place_order(cart, user)
    assert gateway.charges == 1


def test_a_shipped_order_cannot_be_cancelled(shipped):
    with raises(ValueError):
        cancel_order(shipped)
""",
    "deploy/release.sh": b"""#!/bin/sh
# Build the image, migrate the database, then restart the web processes one by one.
set -e
docker build -t shop .
docker run shop python -m shop.db migrate
for host in web1 web2; do ssh "$host" systemctl restart shop; done
""",
    "Makefile": b"test:\n\tpytest -q tests\n\nlint:\n\truff check shop tests\n",
    "README.md": b"""# Shop

A small web shop: cart, orders, payments, mails.

Run `make test` for the tests and `make lint` before you commit.
""",
}


@dataclass(frozen=True, slots=True)
class ToldSet:
    """Notes by a short name, as category and text, and what each question wants of them.

    What a question `wants` has to stand in its answer; what it may have is after the bar.
    A place is written `[path: words]` and stands for the first line with these words.
    """

    notes: Mapping[str, tuple[str, str]]
    questions: Sequence[tuple[str, str]]


_PLACE = re.compile(r"\[([\w/.]+): ([^\]]+)\]")


def placed(text: str) -> str:
    """A note's text with its places as `path:line`."""

    def line(found: re.Match[str]) -> str:
        lines = SHOP[found[1]].decode().splitlines()
        return f"{found[1]}:{next(n for n, one in enumerate(lines, 1) if found[2] in one)}"

    return _PLACE.sub(line, text)


TRIED = ToldSet(
    notes={
        "retries": (
            "decision",
            (
                "Three tries and no more [shop/config.py: RETRY_LIMIT]: the gateway bans who "
                "knocks a fourth time."
            ),
        ),
        "sessions": (
            "decision",
            (
                "Logins end after 30 minutes since the auditors asked for it "
                "[shop/config.py: SESSION_MINUTES]."
            ),
        ),
        "refunds": (
            "todo",
            (
                "refund must take part of the money too, support asks for it "
                "[shop/payments.py: def refund]."
            ),
        ),
        "vouchers": (
            "decision",
            "Vouchers never add up; marketing agreed in March [shop/cart.py: def apply_discount].",
        ),
        "flaky": (
            "issue",
            "tests/test_orders.py fails on Mondays because the clock of the CI machine is off.",
        ),
        "deploys": (
            "decision",
            "We deploy on Tuesdays only, and never while a sale runs (deploy/release.sh).",
        ),
        "thumbs": (
            "insight",
            "Thumbnails of WebP pictures come out green with the old resize library.",
        ),
        "mailer": (
            "todo",
            (
                "Move mails from the queue in memory to Redis before Christmas "
                "[shop/worker.py: def enqueue]."
            ),
        ),
        "style": ("preference", "Name tests as whole sentences."),
        "german": ("preference", "Answer customers' mails in German first, English below."),
        "progress": ("progress", "Half of the search rewrite is on the branch faster-search."),
        "postgres": (
            "question",
            "Do we still need sqlite once Postgres runs in staging? [shop/config.py: DATABASE_URL]",
        ),
    },
    questions=[
        ("How often does charge retry?", "retries"),
        ("Where is the session length set?", "sessions"),
        ("How long does a login last?", "sessions"),
        ("What does refund do?", "refunds"),
        ("Can two vouchers be combined?", "vouchers"),
        ("How is the total of a cart computed?", "|vouchers"),
        ("How do I run the tests?", "|flaky style"),
        ("How do we deploy?", "deploys"),
        ("What does deploy/release.sh do?", "deploys"),
        ("How are thumbnails made?", "thumbs"),
        ("How does a job get into the queue?", "mailer"),
        ("Which database is used by default?", "postgres"),
        ("Where is the signature of a webhook checked?", ""),
        ("Who calls cancel_order?", "|flaky"),
        ("How many products does a search return?", "|progress"),
        ("What is the largest picture that can be uploaded?", "|thumbs"),
        ("How are requests limited?", ""),
        ("Is there a password reset?", ""),
        ("How are orders paged?", ""),
        ("What is in the Makefile?", ""),
    ],
)

TRIED_TOO = ToldSet(
    notes={
        "polling": (
            "decision",
            (
                "Half a second between looks at the queue is on purpose, a notify channel was too "
                "brittle [shop/worker.py: POLL_S]."
            ),
        ),
        "signatures": (
            "issue",
            (
                "The webhook check compares with == and leaks timing, use compare_digest "
                "[shop/payments.py: def verify_webhook]."
            ),
        ),
        "pages": (
            "decision",
            (
                "Fifty orders a page because the mobile app cannot show more "
                "[shop/config.py: PAGE_SIZE]."
            ),
        ),
        "receipts": (
            "todo",
            "Receipts need the VAT number of the customer [shop/mail.py: def send_receipt].",
        ),
        "pictures": (
            "decision",
            (
                "5 MB a picture is what the CDN takes; do not raise it "
                "[shop/config.py: UPLOAD_MAX_BYTES]."
            ),
        ),
        "ratelimit": (
            "todo",
            (
                "The limit of requests a minute must be per customer, not per address "
                "[shop/api.py: def limited]."
            ),
        ),
        "migrations": (
            "insight",
            (
                "migrate sorts scripts by name, so 10_x.sql runs before 9_y.sql "
                "[shop/db.py: def migrate]."
            ),
        ),
        "ranking": (
            "decision",
            (
                "A hit in the name counts double; tried three times, measured once "
                "[shop/search.py: def relevance]."
            ),
        ),
        "shipped": (
            "question",
            "May support cancel a parcel that has left the house? [shop/orders.py: shipped_at]",
        ),
        "team": ("observation", "Maria knows the accounting export best."),
        "lint": ("preference", "Run make lint before every commit."),
        "docs": ("todo", "Write a page about the accounting export."),
    },
    questions=[
        ("How long does the worker wait when there is no job?", "polling"),
        ("How is a webhook verified?", "signatures"),
        ("How many orders are on a page?", "pages"),
        ("What happens after an order is placed?", "|receipts"),
        ("What is in a receipt mail?", "receipts"),
        ("How large may an upload be?", "pictures"),
        ("How is the rate limit done?", "ratelimit"),
        ("In which order are migrations applied?", "migrations"),
        ("How are search results sorted?", "ranking"),
        ("Can a shipped order be cancelled?", "shipped"),
        ("How do I lint the code?", "lint"),
        ("Where is the accounting export?", "docs|team"),
        ("How does a user log out?", ""),
        ("Which picture types are allowed?", "|pictures"),
        ("Where is DATABASE_URL read?", ""),
        ("Who calls charge?", ""),
        ("How is a discount computed?", ""),
        ("How are the web processes restarted?", ""),
        ("What does GatewayError mean?", "|signatures"),
        ("How is a session token made?", ""),
    ],
)

HELD_OUT = ToldSet(
    notes={
        "tokens": (
            "decision",
            (
                "32 bytes of randomness for a login, so that ids need no lookup limit "
                "[shop/session.py: token_urlsafe]."
            ),
        ),
        "sender": (
            "issue",
            (
                "Hotmail puts what comes from this address into the junk folder "
                "[shop/config.py: MAIL_SENDER]."
            ),
        ),
        "double": (
            "issue",
            (
                "A second click on Buy charges twice, place_order needs an idempotency key "
                "[shop/orders.py: def place_order]."
            ),
        ),
        "threads": (
            "insight",
            (
                "One connection for all threads deadlocked under load, hence one for each "
                "[shop/db.py: def connect]."
            ),
        ),
        "rounding": (
            "question",
            (
                "Should the discount be rounded in favour of the customer? "
                "[shop/cart.py: cents - cents]"
            ),
        ),
        "types": (
            "todo",
            "Accept AVIF once the resize library knows it [shop/upload.py: ALLOWED_TYPES].",
        ),
        "rolling": (
            "insight",
            (
                "web2 takes a minute to come up, the script does not wait for it: see "
                "deploy/release.sh."
            ),
        ),
        "reset": (
            "todo",
            "Reset links must run out after an hour [shop/mail.py: def send_reset_link].",
        ),
        "sqlplus": ("observation", "The old warehouse ran on Oracle until 2019."),
        "reviews": ("decision", "Two people review what touches money."),
        "commas": ("preference", "No Oxford commas in texts for customers."),
        "vat": ("question", "Who decides about VAT for Norway?"),
    },
    questions=[
        ("How is a session token generated?", "tokens"),
        ("From which address do mails come?", "sender"),
        ("What does place_order do?", "double"),
        ("How does the shop connect to the database?", "threads"),
        ("How is the discount calculated?", "rounding"),
        ("Which types of pictures are accepted?", "types"),
        ("What happens in a release?", "rolling"),
        ("How is the password reset link sent?", "reset"),
        ("Is VAT computed anywhere?", "vat"),
        ("How do we review changes?", "reviews"),
        ("Can a customer be charged twice?", "double"),
        ("Where is the page size defined?", ""),
        ("How does run_jobs stop?", ""),
        ("What is POLL_S?", ""),
        ("Who uses find_products?", ""),
        ("Where is a voucher's percentage applied?", "rounding"),
        ("How is a gateway timeout handled?", ""),
        ("How are old logins removed?", "|tokens"),
        ("Where are routes registered?", ""),
        ("How do I add an item to the cart?", ""),
    ],
)
