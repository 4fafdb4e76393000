# awk -f layers.awk layers.txt FILE...  reports, as file:line, each #include that no rule allows, each word of a rule
# that names no folder above it, and each file whose folder has no rule; exit code 1 if any.
function fail(where, what) { print where ": " what; bad = 1 }
FNR == NR { gsub(/\/>/, "/") }
FNR == NR && /^[^#]/ { line = ""; for (i = 2; i <= NF; i++) line = line " " ($i in set ? set[$i] : $i) }
FNR == NR && /^=/ { set[substr($1, 2)] = set[substr($1, 2)] line; next }
FNR == NR && /^[^#]/ {
    words = split(line, word)
    for (i = 1; i <= words; i++)
        if (!(word[i] in rule) && word[i] !~ /^<|\.h$|\.inc$/) fail(FILENAME ":" FNR, word[i] " is not above " $1)
    rule[$1] = rule[$1] line
    if ($1 ~ /\/$/) rule[$1] = rule[$1] " " $1
    next
}
FNR == NR { next }
FNR == 1 {
    folder = FILENAME; sub(/[^\/]*$/, "", folder)
    if (!(folder in rule)) fail(FILENAME ":1", "its folder has no rule")
    split("", allowed)
    words = split(rule[folder] rule[FILENAME], word)
    for (i = 1; i <= words; i++) allowed[word[i]]
}
match($0, /^[ \t]*#[ \t]*include[ \t]*/) {
    name = substr($0, RLENGTH + 1)
    sub(/^"/, "", name); sub(/".*/, "", name); sub(/>.*/, ">", name)
    folder = name; sub(/[^\/]*$/, "", folder)
    if (!(name in allowed || folder in allowed && folder != "")) fail(FILENAME ":" FNR, "may not include " name)
}
END { exit bad }
