"""Maps of the walks that macro_graphs --save FOLDER left in FOLDER/walks.csv: for each graph and start asked for, the
sites coloured by their value and one panel for each agent with its walk.  DATA names the folder of the data.
usage: macro_map.py FOLDER [GRAPH START]...      writes FOLDER/GRAPH-START.svg; without a start, where regrets differ most
Text and lines have middle tones that read on a light and on a dark page alike."""
import csv
import os
import sys

WORLDS = {"intel_lab": ("intel_lab/temperature_field_145_t1.csv", "x_m", "y_m", "value_c", 1, "°C", 5.0),
          "taxi_demand": ("taxi_demand/slot18_regions.csv", "x", "y", "value", 0, "(log)", 2.6)}
AGENTS = ("H=1", "H=2", "H=4", "ei")
GREY, WALK = "#797979", "#c2391a"
LOW, HIGH = (47, 108, 201), (240, 188, 46)
WIDTH, MARGIN, GAP, HEAD = 380, 16, 18, 46


def colour(share):
    return "#%02x%02x%02x" % tuple(round(a + (b - a) * share) for a, b in zip(LOW, HIGH))


def read_world(name):
    path, x, y, value, first, unit, radius = WORLDS[name]
    with open(os.path.join(os.environ["DATA"], path), newline="") as stream:
        sites = [(float(r[x]), float(r[y]), float(r[value])) for r in csv.DictReader(stream)]
    return sites, unit, radius


def read_walks(folder):
    walks = {}
    with open(os.path.join(folder, "walks.csv"), newline="") as stream:
        for r in csv.DictReader(stream):
            walks.setdefault((r["graph"], int(r["start"])), {}).setdefault(r["agent"], []).append(int(r["site"]))
    return walks


def regret(sites, walk):
    return max(s[2] for s in sites) - max(sites[k][2] for k in walk)


def panel(sites, radius, walk, label, left, top, scale, height, near):
    low, high = min(s[2] for s in sites), max(s[2] for s in sites)
    x0, y0 = near[0], near[2]

    def at(k):
        return left + MARGIN + scale * (sites[k][0] - x0), top + HEAD + height - scale * (sites[k][1] - y0)

    def shown(k):
        return near[0] <= sites[k][0] <= near[1] and near[2] <= sites[k][1] <= near[3]

    out = [f'<text x="{left + MARGIN}" y="{top + 20}" fill="{GREY}" font-size="15" font-weight="bold">{label}</text>',
           f'<text x="{left + MARGIN}" y="{top + 36}" fill="{GREY}" font-size="12">regret {regret(sites, walk):.2f}, '
           f'mean {sum(sites[k][2] for k in walk[1:]) / (len(walk) - 1):.2f}</text>']
    for k in filter(shown, range(len(sites))):
        x, y = at(k)
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour((sites[k][2] - low) / (high - low))}"/>')
    points = " ".join("%.1f,%.1f" % at(k) for k in walk)
    out.append(f'<polyline points="{points}" fill="none" stroke="{WALK}" stroke-width="2.5" stroke-linejoin="round"/>')
    for k, size, fill in ((walk[0], 6, "#ffffff"), (max(walk, key=lambda k: sites[k][2]), 6, WALK)):
        x, y = at(k)
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{fill}" stroke="{WALK}" stroke-width="2"/>')
    x, y = at(max(range(len(sites)), key=lambda k: sites[k][2]))
    if shown(max(range(len(sites)), key=lambda k: sites[k][2])):
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="none" stroke="{GREY}" stroke-width="2"/>')
    return "\n".join(out)


def picture(name, start, walks, sites, unit, radius):
    """Only the part of the graph that some walk comes near, if that is small."""
    seen = [sites[k] for walk in walks.values() for k in walk]
    pad = 4 if len(sites) > 500 else 1e9
    near = (max(min(s[0] for s in sites), min(s[0] for s in seen) - pad), min(max(s[0] for s in sites), max(s[0] for s in seen) + pad),
            max(min(s[1] for s in sites), min(s[1] for s in seen) - pad), min(max(s[1] for s in sites), max(s[1] for s in seen) + pad))
    scale = (WIDTH - 2 * MARGIN) / max(near[1] - near[0], near[3] - near[2])
    height = scale * (near[3] - near[2])
    rows = (len(AGENTS) + 1) // 2
    total = 40 + rows * (height + HEAD + GAP) + 34
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDTH + GAP}" height="{total:.0f}" font-family="sans-serif">',
           f'<text x="{MARGIN}" y="24" fill="{GREY}" font-size="16" font-weight="bold">{name.replace("_", " ")}, start {start}: '
           f'four macro-actions of five sites; ei: twenty sites one by one</text>']
    for i, agent in enumerate(AGENTS):
        out.append(panel(sites, radius, walks[agent], agent, (i % 2) * (WIDTH + GAP), 34 + (i // 2) * (height + HEAD + GAP),
                         scale, height, near))
    low, high = min(s[2] for s in sites), max(s[2] for s in sites)
    for i in range(40):
        out.append(f'<rect x="{MARGIN + 62 + 4 * i}" y="{total - 26:.0f}" width="4" height="12" fill="{colour(i / 39)}"/>')
    out.append(f'<text x="{MARGIN}" y="{total - 15:.0f}" fill="{GREY}" font-size="12">{low:.1f} {unit}</text>')
    out.append(f'<text x="{MARGIN + 230}" y="{total - 15:.0f}" fill="{GREY}" font-size="12">{high:.1f} {unit}; white: start, '
               f'filled: best that was met, ring: the hottest of all</text></svg>')
    return "\n".join(out) + "\n"


def main():
    folder, rest = sys.argv[1], sys.argv[2:]
    walks = read_walks(folder)
    asked = [(rest[i], int(rest[i + 1])) for i in range(0, len(rest), 2)]
    for name in [] if asked else sorted({graph for graph, _ in walks}):
        sites = read_world(name)[0]
        gain = {key: regret(sites, own["H=1"]) - regret(sites, own["H=4"]) for key, own in walks.items() if key[0] == name}
        asked.append(max(gain, key=gain.get))
    for name, start in asked:
        sites, unit, radius = read_world(name)
        with open(os.path.join(folder, f"{name}-{start}.svg"), "w") as out:
            out.write(picture(name, start, walks[name, start], sites, unit, radius))
        print(f"{folder}/{name}-{start}.svg")


main()
