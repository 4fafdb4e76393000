# nm -A ARCHIVE | awk -f symbols.awk symbols.txt -  reports each undefined symbol that is not on the list.
FNR == NR && /^[^#]/ { pattern[++rules] = "^(" $1 ")$"; only[rules] = $2 }
FNR == NR { next }
$(NF - 1) == "U" || $(NF - 1) == "w" { split($1, part, ":"); need[part[2] " " $NF] = 1; next }
{ defined[$NF] = 1 }
END {
    for (use in need) {
        split(use, part, " ")
        for (i = rules; i > 0; i--)
            if (part[2] ~ pattern[i] && (only[i] == "" || only[i] == part[1])) break
        if (i == 0 && !(part[2] in defined)) { print part[1] ": needs " part[2]; bad = 1 }
    }
    if (FNR == 0) { print "nothing to check"; bad = 1 }
    exit bad
}
