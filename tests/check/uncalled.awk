# nm -A ARCHIVE... | awk -f uncalled.awk EXCEPTIONS - SOURCE...  reports each function of an archive that no source names but
# where it is declared and defined.  A function that a macro defines has no name in a source, and is passed over.
FNR == 1 { file++; is_comment = 0 }
file == 1 { if (/^[^#]/) kept[++rules] = "^(" $1 ")$"; next }
FILENAME == "-" { if (NF > 1 && $(NF - 1) == "T") { split($1, part, ":"); defined[$NF] = part[2] }; next }
{
    line = $0
    gsub(/"(\\.|[^"\\])*"/, "", line)
    while (1) {
        if (is_comment) {
            if ((at = index(line, "*/")) == 0) next
            line = substr(line, at + 2)
            is_comment = 0
        }
        if ((at = index(line, "/*")) == 0) break
        head = substr(line, 1, at - 1)
        count_words(head)
        line = substr(line, at + 2)
        is_comment = 1
    }
    sub(/\/\/.*/, "", line)
    count_words(line)
}
function count_words(text,   words, len, i) {
    len = split(text, words, /[^A-Za-z0-9_]+/)
    for (i = 1; i <= len; i++)
        if (words[i] in defined) { if (FILENAME ~ /\.h$/ || text ~ /^[a-z].*\);$/) declared[words[i]]++; else named[words[i]]++ }
}
END {
    for (name in defined) {
        for (i = rules; i > 0; i--)
            if (name ~ kept[i]) break
        if (i == 0 && named[name] > 0 && named[name] + declared[name] <= 1 + (declared[name] > 0)) {
            print defined[name] ": no product code calls " name
            bad = 1
        }
    }
    if (file < 3) { print "nothing to check"; bad = 1 }
    exit bad
}
