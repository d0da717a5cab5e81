# SPDX-License-Identifier: MIT
"""The plot: two panels of dots, time and peak memory, a line for each row, logarithmic ratio.

Left: time against the row's best peer (1 is the best peer; further left is faster). Right: peak
memory against the first peer, glibc unless told otherwise. Ours is a filled diamond with a bar
from quartile to quartile. Colours come from one table with a light and a dark half, chosen by the
viewer's preference; shapes differ too, so that the plot survives a grey printer.
"""
import math
from xml.sax.saxutils import escape

import stats

LEFT, PANEL, GAP, RIGHT = 140, 400, 50, 30
TOP, LINE, BOTTOM = 112, 19, 48
WIDTH = LEFT + 2 * PANEL + GAP + RIGHT
TICKS = [0.25, 0.35, 0.5, 0.7, 0.85, 1, 1.15, 1.4, 2, 3, 4, 6, 8]
COLOURS = {  # name: light, dark
    "ours": ("#c2185b", "#ff6f9f"), "glibc": ("#5f6b7a", "#9aa7b8"),
    "mimalloc": ("#1f77b4", "#63b3ed"), "jemalloc": ("#b8860b", "#e6b84c"),
    "tcmalloc": ("#2e8b57", "#68d391"), "scudo": ("#7b52ab", "#b794f4"),
}
SPARE = {"spare0": ("#8c564b", "#d09a8f"), "spare1": ("#17808c", "#5fd0dc"),
         "spare2": ("#d2691e", "#f6ad55"), "spare3": ("#4a5fc1", "#a3b1f5")}
PAPER = {  # selector, property: light, dark
    ("text", "fill"): ("#1d2530", "#e4e9ef"), (".soft", "fill"): ("#66707d", "#97a3b1"),
    (".grid", "stroke"): ("#e3e7ec", "#2a313b"), (".one", "stroke"): ("#66707d", "#97a3b1"),
    (".back", "fill"): ("#ffffff", "#14181e"), (".band", "fill"): ("#f5f7f9", "#1a2028"),
    (".limit", "stroke"): COLOURS["ours"],
}
SHAPES = ["circle", "square", "up", "down", "cross"]
STYLE = """
text { font: 12px system-ui, sans-serif }
.title { font-size: 17px; font-weight: 600 } .panel, .strong { font-weight: 600 }
.small { font-size: 11px } .one { stroke-width: 1.5 } .limit { stroke-dasharray: 4 4 }
"""


def svg(results):
    names = [a["name"] for a in results["allocators"] if a["role"] != "off"]
    rows = stats.mean_rows(results)
    height = TOP + LINE * (len(rows) + 2) + BOTTOM
    kinds = {a["name"]: a["role"] for a in results["allocators"]}
    marks = marks_for(names, kinds)
    parts = [head(height), title(results, rows), legend(names, marks)]
    if rows and stats.role(results, "peer"):
        base = stats.role(results, "peer")[0]
        clock = stats.judged(results)
        words = clock + " time ÷ that of the row's best peer"
        time_panel = Panel(LEFT, words, rows, results, names, marks, clock, None, 1 / 1.6, 5,
                           (1.15,))
        rss_panel = Panel(LEFT + PANEL + GAP, "peak memory ÷ " + base + "'s", rows, results, names,
                          marks, "rss_kib", base, 1 / 2.5, 5, (1.1,))
        parts += [labels(rows), time_panel.draw(), rss_panel.draw()]
    parts.append("</svg>\n")
    return "\n".join(parts)


def marks_for(names, kinds):
    """name -> (class, shape)"""
    marks, shapes, spare = {}, iter(SHAPES * 3), 0
    for name in names:
        if kinds[name] == "ours":
            marks[name] = ("ours", "diamond")
        elif name in COLOURS:
            marks[name] = (name, next(shapes))
        else:
            marks[name] = ("spare%d" % (spare % len(SPARE)), next(shapes))
            spare += 1
    return marks


def colours(half):
    """Plain rules, no CSS variables: not every viewer of SVG knows those."""
    rules = ["%s{%s:%s}" % (where, what, pair[half]) for (where, what), pair in PAPER.items()]
    rules += [".c-%s{fill:%s;stroke:%s}" % (name, pair[half], pair[half])
              for name, pair in {**COLOURS, **SPARE}.items()]
    return "".join(rules)


def head(height):
    return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" '
            'role="img" aria-label="Time and peak memory of allocators, row by row">\n<style>%s%s'
            '@media(prefers-color-scheme:dark){%s}</style>\n'
            '<rect class="back" width="%d" height="%d"/>'
            % (WIDTH, height, WIDTH, height, STYLE, colours(0), colours(1), WIDTH, height))


def title(results, rows):
    machine = results["machine"]
    under = "%d rows, %d rounds, median of per-round ratios; %s, %s cores, Linux %s; %s" % (
        len(rows), results["rounds"], machine.get("processor", "?"), machine.get("cores", "?"),
        machine.get("release", "?"), results["date"][:10])
    return text(20, 30, "Allocators on the same work: time and peak memory", "title") + \
        text(20, 50, under, "soft small")


def text(x, y, words, kind="", anchor="start"):
    return '<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>' % (
        x, y, kind, anchor, escape(words))


def legend(names, marks):
    parts, x = [], 24
    for name in names:
        kind, shape = marks[name]
        parts.append(mark(shape, x, 70, kind))
        parts.append(text(x + 10, 74, name, "strong" if kind == "ours" else ""))
        x += 38 + 7.2 * len(name)
    parts.append(text(x + 4, 74, "left is better; dashed: our limit; bar: quartiles", "soft small"))
    return "".join(parts)


def labels(rows):
    parts, group = [], None
    for i, row in enumerate(rows):
        y = TOP + LINE * i
        if i % 2 == 0:
            parts.append('<rect class="band" x="10" y="%d" width="%d" height="%d"/>'
                         % (y, WIDTH - 20, LINE))
        if row["group"] != group and group is not None:
            parts.append('<path class="one" stroke-opacity=".4" d="M10 %dH%d"/>' % (y, WIDTH - 10))
        group = row["group"]
        parts.append(text(LEFT - 12, y + 14, row["name"], "", "end"))
    y = TOP + LINE * (len(rows) + 1)
    parts.append(text(LEFT - 12, y + 14, "geometric mean", "strong", "end"))
    return "".join(parts)


def mark(shape, x, y, kind):
    paths = {
        "square": "M-4-4h8v8h-8z", "up": "M0-5L5 4H-5z", "down": "M0 5L5-4H-5z",
        "diamond": "M0-6.5L6.5 0L0 6.5L-6.5 0z", "cross": "M-4-4L4 4M-4 4L4-4",
        "circle": "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    }
    look = {"cross": 'stroke-width="2.4"', "diamond": 'stroke-width="0"'}.get(
        shape, 'stroke-width="0" fill-opacity=".75"')
    return '<path class="c-%s" transform="translate(%.1f %.1f)" d="%s" %s/>' % (
        kind, x, y, paths[shape], look)


class Panel:
    """One half of the plot: a logarithmic axis and a dot for each allocator and row."""

    def __init__(self, x, words, rows, results, names, marks, metric, base, low, high, limits):
        self.x, self.words, self.rows, self.results, self.names = x, words, rows, results, names
        self.marks, self.metric, self.base, self.limits = marks, metric, base, limits
        values = [self.value(row, name) for row in rows for name in names]
        values = [v for v in values if v]
        self.low = max(low, min(values + [0.9]) / 1.1)
        self.high = min(high, max(values + [1.3]) * 1.1)

    def value(self, row, name):
        base = self.base or stats.best_peer(self.results, row, self.metric)
        return stats.ratio(row, name, base, self.metric) if base else None

    def place(self, value):
        """Values beyond the axis stand at its edge."""
        value = min(max(value, self.low), self.high)
        return self.x + PANEL * math.log(value / self.low) / math.log(self.high / self.low)

    def draw(self):
        bottom = TOP + LINE * (len(self.rows) + 2)
        parts = [text(self.x, TOP - 16 + 4, self.words, "panel")]
        for tick in TICKS:
            if self.low <= tick <= self.high:
                x = self.place(tick)
                kind = "one" if tick == 1 else "grid"
                parts.append('<path class="%s" d="M%.1f %dV%d"/>' % (kind, x, TOP, bottom))
                parts.append(text(x, bottom + 16, "%g" % tick, "soft small", "middle"))
        for limit in self.limits:
            x = self.place(limit)
            parts.append('<path class="limit" d="M%.1f %dV%d"/>' % (x, TOP, bottom))
        for i, row in enumerate(self.rows):
            parts.append(self.draw_row(row, TOP + LINE * i + LINE / 2))
        parts.append(self.draw_mean(TOP + LINE * (len(self.rows) + 1) + LINE / 2))
        return "".join(parts)

    def draw_row(self, row, y):
        parts = []
        self.beyond = 0
        for name in sorted(self.names, key=lambda n: self.marks[n][0] == "ours"):
            value, (kind, shape) = self.value(row, name), self.marks[name]
            if not value:
                continue
            if kind == "ours":
                base = self.base or stats.best_peer(self.results, row, self.metric)
                ends = stats.quartiles(stats.round_ratios(row, name, base, self.metric))
                parts.append('<path class="c-ours" d="M%.1f %.1fH%.1f" stroke-width="3" '
                             'stroke-opacity=".5"/>' 
                             % (self.place(ends[0]), y, self.place(ends[1])))
            words = "%s: %s %.2f" % (row["name"], name, value)
            parts.append(self.dot(shape, value, y, kind, words))
        return "".join(parts)

    def draw_mean(self, y):
        base = self.base or stats.first_peer_overall(self.results, self.metric)
        parts = []
        self.beyond = 0
        for name in sorted(self.names, key=lambda n: self.marks[n][0] == "ours"):
            value = stats.mean_ratio(self.results, name, base, self.metric)
            if value:
                kind, shape = self.marks[name]
                parts.append(self.dot(shape, value, y, kind, "mean: %s %.3f" % (name, value)))
        return "".join(parts)

    def dot(self, shape, value, y, kind, words):
        x, beyond = self.place(value), ""
        if value > self.high:
            x -= 48 * self.beyond  # several at the edge stand side by side
            self.beyond += 1
            beyond = text(x - 9, y + 4, "%.1f ›" % value, "soft small", "end")
        if value < self.low:
            beyond = text(x + 9, y + 4, "‹ %.2f" % value, "soft small")
        return "<g><title>%s</title>%s%s</g>" % (
            escape(words), mark(shape, x, y, kind), beyond)
