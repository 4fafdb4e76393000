"""Writes the report of tests/bench/reproduce: report.md, and index.html, which holds its pictures."""
import html
import io
import math
import os

import figures

PICTURE_WIDTH = 5.2


def plain(value):
    return "" if math.isnan(value) else f"{value:.4g}"


def word(z):
    return "not known" if math.isnan(z) else ("within noise" if abs(z) <= 2 else "**not**") + f" ({z:+.1f})"


def verdict(row):
    """Against the source's printed value, against the reference."""
    if row["is_exact"]:
        return "exact" if row["is_same"] else "**differs**"
    parts = []
    if row["source"] is not None:
        parts.append("source: " + word(row["z_source"]))
    if not math.isnan(row["z"]):
        parts.append("reference: " + word(row["z"]))
    return "; ".join(parts) or "nothing to compare with"


def cells(row):
    source = row["source"]
    printed = "" if source is None else plain(source.value) + (f" ± {plain(source.se)}" if source.se == source.se else "")
    reference = plain(row["reference"]) + (f" ± {plain(row['reference_se'])}" if row["reference_se"] == row["reference_se"] else "")
    ours = plain(row["value"]) + (f" ± {plain(row['se'])}" if row["se"] == row["se"] and row["n"] > 1 else "")
    if row["gap"] == row["gap"]:
        ours += f" (difference ± {plain(row['gap'])})"
    if row["engine"] == row["engine"]:
        ours += f"; ours, tighter: {plain(row['engine'])}"
    return [row["key"], printed, reference, ours, row["peer"], verdict(row)]


COLUMNS = ["figure", "source prints", "independent reference", "ours", "beside it", "verdict"]


def scatter(rows, name):
    """Ours against the reference, each with two standard errors; None when nothing is compared."""
    pairs = [row for row in rows if not math.isnan(row["z"])]
    if len(pairs) < 3:
        return None
    os.environ.setdefault("MPLCONFIGDIR", os.path.join(os.environ.get("BUILD", "build"), "reproduce"))
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "reproduce"
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(PICTURE_WIDTH, 0.8 * PICTURE_WIDTH))
    for is_far, colour, label in ((False, "#20639b", "within two standard errors"), (True, "#c0392b", "beyond")):
        chosen = [row for row in pairs if (abs(row["z"]) > 2) == is_far]
        axes.errorbar([row["reference"] for row in chosen], [row["value"] for row in chosen],
                      xerr=[2 * (row["reference_se"] if row["gap"] != row["gap"] else 0) for row in chosen],
                      yerr=[2 * (row["gap"] if row["gap"] == row["gap"] else max(row["se"], 0)) for row in chosen],
                      fmt="o", markersize=3, linewidth=0.7, color=colour, label=f"{label}: {len(chosen)}")
    ends = [min(row["reference"] for row in pairs), max(row["reference"] for row in pairs)]
    axes.plot(ends, ends, color="0.6", linewidth=0.8)
    axes.set_xlabel("independent reference")
    axes.set_ylabel("ours")
    axes.set_title(name)
    axes.legend(fontsize=8)
    figure.tight_layout()
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return text.getvalue()[text.getvalue().index("<svg"):]


def inline(text):
    """Markdown's bold and code as HTML, of one line."""
    out = html.escape(text)
    for mark, tag in (("**", "b"), ("`", "code")):
        parts = out.split(mark)
        out = "".join(part + (f"<{'/' * (i % 2)}{tag}>" if i + 1 < len(parts) else "") for i, part in enumerate(parts))
    return out


def is_short(row):
    """Whether it has fewer repetitions than it shall have."""
    return row["is_quick"] and row["n"] < figures.PROGRAMS[row["program"]].n


class Page:
    """The same lines as Markdown and as HTML."""

    def __init__(self):
        self.md, self.html = [], []

    def head(self, level, text):
        self.md += ["", "#" * level + " " + text]
        self.html.append(f"<h{level}>{inline(text)}</h{level}>")

    def say(self, text):
        self.md += ["", text]
        self.html.append(f"<p>{inline(text)}</p>")

    def points(self, items):
        self.md += [""] + ["* " + item for item in items]
        self.html.append("<ul>" + "".join(f"<li>{inline(item)}</li>" for item in items) + "</ul>")

    def table(self, columns, rows):
        self.md += ["", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        self.md += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        lines = ["<tr>" + "".join(f"<td>{inline(cell)}</td>" for cell in row) + "</tr>" for row in rows]
        self.html.append("<div><table><tr>" + "".join(f"<th>{column}</th>" for column in columns) + "</tr>" + "\n".join(lines) + "</table></div>")

    def picture(self, svg, alt):
        self.html.append(svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(alt)}"', 1))


STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}div{overflow-x:auto}
table{border-collapse:collapse;font-size:.85rem}td,th{border:1px solid #ccc;padding:.2rem .5rem;text-align:left}
svg{max-width:100%;height:auto}b{color:#a00}"""


def summary(rows, absent):
    lines = []
    for name, program in figures.PROGRAMS.items():
        mine = [row for row in rows if row["program"] == name]
        known = [row for row in mine if row["z"] == row["z"]]
        printed = [row for row in mine if row["z_source"] == row["z_source"]]
        exact = [row for row in mine if row["is_exact"]]
        if not mine and name not in absent:
            continue
        state = "not yet run" if not mine else "not yet run at full size" if is_short(mine[0]) else "full"
        if not mine and program.data:
            state = "cannot be computed without data that have no licence (DATA)"
        lines.append([f"{name}: {program.what}", f"{program.source}, {program.where}",
                      f"{sum(abs(row['z']) <= 2 for row in known)} of {len(known)}" if known else "",
                      f"{sum(abs(row['z_source']) <= 2 for row in printed)} of {len(printed)}" if printed else "",
                      f"{sum(row['is_same'] for row in exact)} of {len(exact)}" if exact else "", state])
    return lines


def section(page, name, rows, said):
    program = figures.PROGRAMS[name]
    is_quick = is_short(rows[0])
    page.head(2, f"{name}: {program.what}")
    page.say(f"{figures.SOURCES[program.source]}: {program.where}. `{program.quick if is_quick else program.full}`, "
             f"{rows[0]['n']} {program.unit}" + (f"; the long form, `{program.full}`, has {program.n}. **Not yet run at full size.**" if is_quick else "."))
    notes = sorted({row["source"].note for row in rows if row["source"] is not None and row["source"].note})
    for note in notes:
        page.say("What the source's value is: " + note + ".")
    picture = scatter(rows, name)
    if picture:
        page.picture(picture, f"{name}: ours against the reference")
    page.table(COLUMNS, [cells(row) for row in rows])
    if said:
        page.say("What the source says in words, as the program judges it" + (" (in a short form chance decides most of it)" if is_quick else "") + ":")
        page.table(["claim", "value", "holds"], [[key, value, "yes" if holds else "**no**"] for _, key, value, holds, _ in said])


def write(folder, found, absent, wrong, limit):
    rows, said = found
    page = Page()
    page.head(1, "The sources' figures, measured again")
    page.say("Two theses and three papers print most of their results as curves. \"Source prints\" is a number where they, or "
             "files that the authors published, have one. \"Independent reference\" is another implementation of the same text, "
             "which shares no code with this program; where a text leaves room it is one reading of it. Within noise: the "
             "means differ by at most two standard errors of both together; one in twenty does not, by chance alone. "
             "± is one standard error over independent repetitions. Where the source gives none, the reference's spread "
             "at the source's number of repetitions is taken. \"Beside it\" is another method in the same run.")
    page.points([f"{name}: {text}" for name, text in figures.SOURCES.items()])
    page.say("Found wrong: " + ("; ".join(wrong) if wrong else f"nothing. No figure is further than {limit:.1f} standard errors from its reference, no exact one differs") + ".")
    page.table(["what", "where", "within noise of the reference", "within noise of what the source prints", "exact", "state"], summary(rows, absent))
    far = [row for row in rows if abs(row["z_source"]) > 2 and not is_short(row)]
    page.head(2, "Printed by the sources, not reproduced")
    if not far:
        page.say("None of those that were run at full size.")
    else:
        page.table(["where", *COLUMNS], [[row["source"].where, *cells(row)] for row in far])
    page.head(2, "Claims of the sources that we do not find")
    page.points(figures.NOT_REPRODUCED)
    page.head(2, "Cannot be computed offline")
    page.table(["source", "what", "because"], [list(row) for row in figures.ABSENT] +
               [[f"{figures.PROGRAMS[name].source}, {figures.PROGRAMS[name].where}", name,
                 "needs data without a licence, in a folder named by DATA" if figures.PROGRAMS[name].data else "not yet run: " + figures.PROGRAMS[name].full]
                for name in absent])
    for name in dict.fromkeys(row["program"] for row in rows):
        section(page, name, [row for row in rows if row["program"] == name], [claim for claim in said if claim[0] == name])
    with open(os.path.join(folder, "report.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(page.md).strip() + "\n")
    with open(os.path.join(folder, "index.html"), "w", encoding="utf-8") as file:
        file.write(f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
                   f"<title>The sources' figures, measured again</title><style>{STYLE}</style>\n" + "\n".join(page.html) + "</html>\n")
