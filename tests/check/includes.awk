# awk -f includes.awk FILE...  reports, as file:line, each header of the tree that a source includes and has no name of: no
# function, struct, macro, constant or type.  A header whose names are put together (##) is left out; exit code 1 if any.
function keep(name) { gives[FILENAME, ++names[FILENAME]] = name }
FNR == 1 { inside = 0 }
FILENAME ~ /\.c$/ && match($0, /^#include "/) {
    at[++count] = FILENAME ":" FNR
    from[count] = FILENAME
    header[count] = $2
    gsub(/"/, "", header[count])
    next
}
{
    line = $0
    if (!inside && line !~ /^ *\/\*/) {
        gsub(/"([^"\\]|\\.)*"/, "", line)
        sub(/\/\/.*/, "", line)
    }
    if (inside && !sub(/^.*\*\//, "", line)) next
    gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
    inside = sub(/\/\*.*/, "", line)
    if (line ~ /##/) joins[FILENAME]
    is_whole = line ~ /^(extern|typedef|static|}|#define)/
    for (before = ""; match(line, /[A-Za-z_][A-Za-z_0-9]*/); before = word) {
        word = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        has[FILENAME, word]
        if (FILENAME ~ /\.h$/ && (is_whole || line ~ /^\(/ || word ~ /^[A-Z][A-Z0-9_]+$/ || before ~ /^(struct|enum)$/ && line ~ /^( *\{|;|$)/))
            keep(word)
    }
}
END {
    split("struct enum const static inline int char void bool size_t double int64_t uint64_t return sizeof define extern typedef " \
        "MUST_CHECK NULL err error arena", common, " ")
    for (i in common) ordinary[common[i]]
    for (i = 1; i <= count; i++) {
        name = header[i]
        own = from[i]
        sub(/\.c$/, ".h", own)
        if (name == own || !(name in names) || name in joins || name ~ /base\/(status|arena)\.h$/) continue
        for (k = 1; k <= names[name] && (gives[name, k] in ordinary || !((from[i], gives[name, k]) in has)); k++) continue
        if (k > names[name]) { print at[i] ": nothing of " name " is used"; bad = 1 }
    }
    exit bad
}
