# awk -f layers.awk layers.txt FILE...  reports each #include that no rule allows, as file:line; exit code 1 if any.
FNR == NR { gsub(/\/>/, "/") }
FNR == NR && /^=/ { for (i = 2; i <= NF; i++) set[substr($1, 2)] = set[substr($1, 2)] " " $i; next }
FNR == NR && /^[^#]/ { for (i = 2; i <= NF; i++) rule[$1] = rule[$1] " " ($i in set ? set[$i] : $i) }
FNR == NR { next }
FNR == 1 {
    best = ""
    for (prefix in rule)
        if (index(FILENAME, prefix) == 1 && length(prefix) > length(best)) best = prefix
    words = split(rule[best], allowed)
}
match($0, /^[ \t]*#[ \t]*include[ \t]*/) {
    name = substr($0, RLENGTH + 1)
    sub(/^"/, "", name); sub(/".*/, "", name); sub(/>.*/, ">", name)
    for (i = words; i > 0 && index(name, allowed[i]) != 1; i--);
    if (i == 0) { printf "%s:%d: may not include %s\n", FILENAME, FNR, name; bad = 1 }
}
END { exit bad }
