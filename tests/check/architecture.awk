# awk -f architecture.awk ARCHITECTURE.md FILE...  holds the drawing of the page against the includes of the files: each folder is
# drawn once; a folder includes only those to its right, or of a layer that its own names; a layer names none in vain.
function fail(what) { print "ARCHITECTURE.md: " what; bad = 1 }
FNR == NR && /^```/ { drawing = !drawing }
FNR == NR && drawing && /^\|/ {
    split($0, cell, /\|/)
    name = cell[2]; gsub(/ /, "", name)
    if (name == "layer") next
    if (name != "") { layer = name; words = split(cell[4], word, " "); for (i = 1; i <= words; i++) may[layer, word[i]] = 1 }
    words = split(cell[3], word, " ")
    for (i = 1; i <= words; i++) {
        if (word[i] in place) fail(word[i] " is drawn twice")
        place[word[i]] = ++last; of[word[i]] = layer
    }
    next
}
FNR == NR { next }
FNR == 1 {
    folder = FILENAME; sub(/^\.\//, "", folder); sub(/\/[^\/]*$/, "", folder)
    seen[folder] = 1
    if (!(folder in place)) { if (!said[folder]++) fail(folder " is not drawn"); nextfile }
}
match($0, /^[ \t]*#[ \t]*include[ \t]*"[^"]*\//) {
    to = substr($0, RSTART, RLENGTH - 1); sub(/.*"/, "", to)
    if (to == folder || !(to in place)) next
    if (of[to] == of[folder]) { if (place[to] < place[folder] && !said[folder, to]++) fail(folder " is drawn right of " to ", which it includes") }
    else if (!((of[folder], of[to]) in may)) { if (!said[folder, to]++) fail(of[folder] " does not name " of[to] ": " FILENAME) }
    else used[of[folder], of[to]] = 1
}
END {
    if (last == 0) fail("there is no drawing")
    for (folder in place) if (!(folder in seen)) fail(folder " has no sources")
    for (pair in may) if (!(pair in used)) { split(pair, part, SUBSEP); fail(part[1] " includes nothing of " part[2]) }
    exit bad
}
