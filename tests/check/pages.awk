# pages.awk PAGE ...  prints for each link of a page, and for each source file that a README names, the page and where
# the file may be: from the page's folder, and from the root.
{
    folder = FILENAME
    sub(/[^\/]*$/, "", folder)
    text = $0
    while (match(text, /\]\([^():# ]+/)) {
        print FILENAME, folder substr(text, RSTART + 2, RLENGTH - 2), "-"
        text = substr(text, RSTART + RLENGTH)
    }
    text = $0
    while (FILENAME ~ /README/ && match(text, /`[A-Za-z0-9_\/.-]+\.(c|h|sql|awk|yaml)`/)) {
        name = substr(text, RSTART + 1, RLENGTH - 2)
        print FILENAME, folder name, name
        text = substr(text, RSTART + RLENGTH)
    }
}
