"""Rows of questions into tables, bars and figures."""

from collections.abc import Mapping, Sequence

from bench.economics.measuring import Row
from bench.figures import Chart
from bench.report import Bar, Table
from bench.scores import mean, percentile

__all__ = ["bars", "block_table", "charts", "cost_table", "planted_table"]

Group = tuple[str, str, str]
CHAT, MESSAGES = "chat completions", "messages"
# The bars, by order of the recordings.
_CACHED = {"read-only": 0.90, "with edits": 0.85}
_MONEY = {"read-only": 0.008, "with edits": 0.010, "10 min apart": 0.012}
_PROMPT, _GOLD, _CALLS, _RECALL, _KEPT = 25_000, 0.85, 2, 0.95, 1.0
_COMPACTIONS_OF_25 = 3


def groups(rows: Sequence[Row]) -> dict[Group, list[Row]]:
    """Questions with known places, by what was asked, in which order, with which protocol."""
    found: dict[Group, list[Row]] = {}
    for row in rows:
        key = str(row["workload"]), str(row["order"]), str(row["protocol"])
        found.setdefault(key, [])
        if row["places"]:
            found[key].append(row)
    return found


def cost_table(rows: Sequence[Row]) -> Table:
    """What a question takes."""
    columns = (
        "workload",
        "order",
        "cache",
        "n",
        "calls p50",
        "rounds",
        "prompt tokens p50",
        "first request p50",
        "cached",
        "output",
        "$ Haiku",
        "$ DeepSeek",
        "all gold",
        "gold places",
        "gold files",
        "stale",
        "extends",
        "compactions",
    )
    lines = []
    for (workload, order, protocol), mine in groups(rows).items():
        if not mine:
            continue
        all_of_it = [row for row in rows if _key(row) == (workload, order, protocol)]
        lines.append(
            (
                workload,
                order,
                "automatic" if protocol == CHAT else "explicit",
                len(mine),
                percentile(_of(mine, "model_calls"), 0.5),
                mean(_of(mine, "tool_rounds")),
                percentile(_of(mine, "prompt_tokens"), 0.5),
                percentile(_of(mine, "first_prompt_tokens"), 0.5),
                cached_share(mine),
                mean(_of(mine, "output")),
                mean(_of(mine, "usd_haiku")),
                mean(_of(mine, "usd_deepseek")),
                mean(_of(mine, "all_gold")),
                mean(_of(mine, "gold")),
                mean(_of(mine, "gold_files")),
                mean(_of(mine, "is_stale")),
                mean(_of(all_of_it, "is_extension")),
                sum(_of(all_of_it, "compactions")),
            )
        )
    return Table("What a question takes (questions with known places)", columns, tuple(lines))


def block_table(rows: Sequence[Row]) -> Table:
    """What first requests are made of."""
    lines = []
    names = ("stable", "ledger", "entries", "tail")
    for (workload, order, protocol), mine in groups(rows).items():
        held = [blocks for row in mine if isinstance(blocks := row.get("blocks"), dict)]
        if held:
            sizes = (percentile([float(one[name]) for one in held], 0.5) for name in names)
            cache = "automatic" if protocol == CHAT else "explicit"
            lines.append((workload, order, cache, *sizes))
    columns = ("workload", "order", "cache", *names)
    return Table("Tokens of the first request, medians", columns, tuple(lines))


def planted_table(rows: Sequence[Row], found: Mapping[str, object]) -> Table:
    """What became of facts that were planted before the compactions."""
    columns = ("planted", "compactions", "recalled", "in memory, index apart", "facts", "kept")
    line = (
        _number(found.get("planted")),
        _number(found.get("compactions")),
        mean(_of(rows, "recalled")),
        mean(_of(rows, "held")),
        _number(found.get("facts")),
        _number(found.get("kept")),
    )
    return Table("Planted facts, and answers to four callers at once", columns, (line,))


def bars(rows: Sequence[Row], probes: Sequence[Row], found: Mapping[str, object]) -> list[Bar]:
    """What was asked for, and what was measured; of both caches the worse."""
    by_order: dict[str, list[list[Row]]] = {}
    for (workload, order, _), mine in groups(rows).items():
        if workload == "replay" and mine:
            by_order.setdefault(order, []).append(mine)
    found_bars = []
    for order, both in by_order.items():
        money = [mean(_of(mine, "usd_haiku")) for mine in both]
        worst = max((one for one in money if one is not None), default=None)
        found_bars.append(_most(f"money, {order}", worst, _MONEY[order]))
        if order in _CACHED:
            shares = [one for mine in both if (one := cached_share(mine)) is not None]
            share = min(shares, default=None)
            found_bars.append(_least(f"cached share, {order}", share, _CACHED[order]))
    plain = by_order.get("read-only", [])
    if not plain:
        return [*found_bars, *_of_planted(probes, found)]
    found_bars += [
        _most("prompt tokens p50", _worst_median(plain, "prompt_tokens"), _PROMPT),
        _most("model calls p50", _worst_median(plain, "model_calls"), _CALLS),
    ]
    gold = [one for mine in plain if (one := mean(_of(mine, "all_gold"))) is not None]
    found_bars.append(_least("all gold in the first request", min(gold, default=None), _GOLD))
    made = [25 * sum(_of(mine, "compactions")) / len(mine) for mine in plain]
    found_bars.append(
        _most("compactions in 25 questions", max(made, default=None), _COMPACTIONS_OF_25)
    )
    return [*found_bars, *_of_planted(probes, found)]


def _of_planted(probes: Sequence[Row], found: Mapping[str, object]) -> list[Bar]:
    if not probes:
        return []
    done = _number(found.get("compactions")) or 0
    recall = mean(_of(probes, "recalled")) if done else None
    return [
        _least(f"recall after {done:.0f} compactions", recall, _RECALL),
        _least("answers kept, four callers", _number(found.get("kept")), _KEPT),
    ]


def _worst_median(groups_of_rows: Sequence[Sequence[Row]], name: str) -> float | None:
    medians = (percentile(_of(mine, name), 0.5) for mine in groups_of_rows)
    return max((one for one in medians if one is not None), default=None)


def charts(rows: Sequence[Row]) -> list[Chart]:
    """Money and prompt by workload."""
    money, gold = [], []
    for (workload, order, protocol), mine in groups(rows).items():
        if mine:
            cache = "automatic" if protocol == CHAT else "explicit"
            label = f"{workload}, {order}, {cache}"[:34]
            money.append((label, (_thousandths(mean(_of(mine, "usd_haiku"))),)))
            gold.append((label, (mean(_of(mine, "all_gold")), mean(_of(mine, "gold")))))
    return [
        Chart("money", "Thousandths of a dollar a question, Haiku-class", ("$",), tuple(money)),
        Chart(
            "gold",
            "Gold in the first request: all of it, and its share",
            ("all", "share"),
            tuple(gold),
            1.0,
        ),
    ]


def cached_share(rows: Sequence[Row]) -> float | None:
    """The share of all prompt tokens that came from the cache."""
    sent = sum(_of(rows, "prompt_tokens"))
    return sum(_of(rows, "cached")) / sent if sent else None


def _key(row: Row) -> Group:
    return str(row["workload"]), str(row["order"]), str(row["protocol"])


def _of(rows: Sequence[Row], name: str) -> list[float]:
    found = (row.get(name) for row in rows)
    return [float(value) for value in found if isinstance(value, int | float)]


def _least(figure: str, measured: float | None, bar: float) -> Bar:
    met = None if measured is None else measured >= bar
    return Bar(figure, f">= {bar}", measured, met)


def _most(figure: str, measured: float | None, bar: float) -> Bar:
    met = None if measured is None else measured <= bar
    return Bar(figure, f"<= {bar:,}", measured, met)


def _thousandths(value: float | None) -> float | None:
    return None if value is None else 1_000 * value


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
