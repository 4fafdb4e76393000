# decisions.awk decisions.csv FILE...  every constant of the table stands in its file with its value, and every constant
# with a name in these files or the table's stands in the table.  Text is compared as it is between "NAME =" and what
# follows, but for , ; { } and short comments.
function words(file, line, all) {
    while ((getline line < file) > 0) all = all " " line
    gsub(/\/\*[^*]*\*\/|[{},;]/, " ", all)
    gsub(/ +/, " ", all)
    return all " "
}
BEGIN { FS = "," }
FILENAME != ARGV[1] { if (!(FILENAME in text)) text[FILENAME] = words(FILENAME); nextfile }
FNR > 1 {
    if (!($2 in text)) text[$2] = words($2)
    listed[$2, $1] = 1
    rows++
    if (!index(text[$2], " " $1 " = " $3 " ")) { print $2 ": no " $1 " = " $3; bad = 1 }
}
END {
    for (file in text)
        for (rest = text[file]; match(rest, / [A-Z][A-Z_0-9]+(\[\])? = -?[0-9]/); rest = substr(rest, RSTART + RLENGTH)) {
            split(substr(rest, RSTART, RLENGTH), name, " ")
            if (!((file, name[1]) in listed)) { print file ": " name[1] " is not in " ARGV[1]; bad = 1 }
        }
    exit bad || rows == 0
}
