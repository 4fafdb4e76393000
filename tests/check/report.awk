# report.awk REPORT  prints the programs whose commands begin the tables of the report of the benches, and the rows of the tables
# that have a command in each; a line with a double dagger has a program that is gone.
function program(row) {
    if (row !~ /^\| `/ || row ~ /‡|make |gnomon /)
        return
    sub(/^\| `(DATA=\.\.\. |POINTS=[0-9]+ )?/, "", row)
    sub(/^tests\/(bench|fault)\//, "", row)
    match(row, /^[a-z_0-9]+(\.py|\.mjs)?/)
    if (RLENGTH > 0 && row !~ /^tests\//)
        print substr(row, 1, RLENGTH)
}
/^\|---/ { each = above ~ /^\| (command|`tests\/bench\/\.\.\.`) and day/; if (!each) program(above) }
!/^\|/ { each = 0 }
each && !/^\|---/ { program($0) }
{ above = $0 }
