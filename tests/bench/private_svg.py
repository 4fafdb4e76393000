"""The picture of private.csv, for the bench beside it: one panel for each data set on one scale of regret.  Text and
lines have middle tones that read on a light and on a dark page alike."""
import csv
import math

WIDTH, HEIGHT, TOP, BOTTOM = 800, 434, 104, 338
LEFTS, PANEL = (52, 438), 340
INSET = 16  # from a panel's edge to its first and last epsilon
GREY, BLUE, ORANGE = "#797979", "#2f81c9", "#c26a1b"
TICKS = ((0.1, "0.1"), (0.3, "0.3"), (1, "1"), (math.e, "e"), (math.e ** 2, "e²"), (10, "10"))
# Title, subtitle, and a distance of 1 in raw units, which is the bench's radius / 25 length-scales.
TITLES = {"housing": ("House prices", "log value of 2,000 districts of California; 3 columns",
                      "ε where a row moves by 0.32 degrees, or by 6,400 $"),
          "networks": ("Neural networks", "log error of 3,000 settings on one task; 5 columns",
                       "ε where a learning rate changes by a third")}


def text(x, y, words, colour=GREY, size=12, anchor="start", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{words}</text>')


def line(x1, y1, x2, y2, colour, width=1.0, more=""):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width:g}"{more}/>')


class Scale:
    """Pixels of a regret and, within a panel, of an epsilon."""

    def __init__(self, rows):
        top = max(float(row["mean_regret"]) + float(row["se"] or 0) for row in rows)
        self.step = next(step for step in (0.02, 0.05, 0.1, 0.2, 0.5, 1) if top / step <= 6)
        self.top = math.ceil(top / self.step) * self.step

    def y(self, regret):
        return BOTTOM - (BOTTOM - TOP) * regret / self.top

    @staticmethod
    def x(left, epsilon):
        first, last = math.log(TICKS[0][0]), math.log(TICKS[-1][0])
        return left + INSET + (PANEL - 2 * INSET) * (math.log(epsilon) - first) / (last - first)


def axes(scale, left):
    for i in range(round(scale.top / scale.step) + 1):
        y = scale.y(i * scale.step)
        yield line(left, y, left + PANEL, y, GREY, 1, ' stroke-opacity="%s"' % ("0.25" if i else "1"))
        yield text(left - 7, y + 4, f"{i * scale.step:.2f}" if i else "0", anchor="end")
    for epsilon, words in TICKS:
        x = scale.x(left, epsilon)
        yield line(x, BOTTOM, x, BOTTOM + 4, GREY)
        yield text(x, BOTTOM + 18, words, anchor="middle")


def level(scale, left, row, colour, words, dashes):
    """A regret without an epsilon: a line over the panel with its error as a band."""
    mean, error = float(row["mean_regret"]), float(row["se"] or 0)
    y, half = scale.y(mean), scale.y(0) - scale.y(error)
    yield (f'<rect x="{left}" y="{y - half:.1f}" width="{PANEL}" height="{2 * half:.1f}" fill="{colour}" '
           'fill-opacity="0.18"/>')
    yield line(left, y, left + PANEL, y, colour, 1.6, dashes)
    yield words(y - half, y + half)


def curve(scale, left, rows):
    points = [(scale.x(left, float(row["epsilon"])), float(row["mean_regret"]), float(row["se"] or 0)) for row in rows]
    path = " ".join(f"{x:.1f},{scale.y(mean):.1f}" for x, mean, _ in points)
    yield f'<polyline points="{path}" fill="none" stroke="{BLUE}" stroke-width="2" stroke-linejoin="round"/>'
    for x, mean, error in points:
        low, high = scale.y(mean - error), scale.y(mean + error)
        yield line(x, low, x, high, BLUE, 1.4)
        yield line(x - 3.5, low, x + 3.5, low, BLUE, 1.4)
        yield line(x - 3.5, high, x + 3.5, high, BLUE, 1.4)
        yield f'<circle cx="{x:.1f}" cy="{scale.y(mean):.1f}" r="3.4" fill="{BLUE}"/>'
    x, mean, _ = points[2]
    yield text(x + 10, scale.y(mean) - 11, "private", BLUE, 12.5, weight="600")


def panel(scale, left, name, rows):
    title, subtitle, distance = TITLES[name]
    yield text(left, 60, title, size=14, weight="600")
    yield text(left, 78, subtitle)
    yield text(left + PANEL / 2, BOTTOM + 38, distance, anchor="middle")
    yield from axes(scale, left)
    of = {row["mechanism"]: row for row in rows}
    yield from level(scale, left, of["random"], GREY, lambda high, low: text(
        left + PANEL - 4, high - 6, "random rows", GREY, 12.5, "end", "600"), ' stroke-dasharray="5 4"')
    yield from level(scale, left, of["none"], ORANGE, lambda high, low: text(
        left + 4, high - 6, "not private", ORANGE, 12.5, "start", "600"), "")
    yield from curve(scale, left, [row for row in rows if row["mechanism"] == "auto"])


def draw(table, out):
    with open(table, newline="", encoding="ascii") as stream:
        rows = list(csv.DictReader(stream))
    scale, names = Scale(rows), list(dict.fromkeys(row["dataset"] for row in rows))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
             f'height="{HEIGHT}" role="img" font-family="system-ui, \'Segoe UI\', Helvetica, Arial, sans-serif">',
             "<title>Regret after 60 queries with and without privacy</title>",
             text(LEFTS[0], 26, "Regret after 60 queries in standard deviations of the values; lower is better", size=15,
                  weight="600")]
    for left, name in zip(LEFTS, names):
        parts += panel(scale, left, name, [row for row in rows if row["dataset"] == name])
    parts += [text(LEFTS[0], BOTTOM + 66, "ε on a log scale: further left protects more. Against a row replaced by any "
                                          "other it is 50 times as much."),
              text(LEFTS[0], BOTTOM + 83, f"Means of {rows[0]['runs']} runs; bars and bands are one standard error."),
              "</svg>"]
    with open(out, "w", encoding="utf-8") as stream:
        stream.write("\n".join(parts) + "\n")
