# pages.awk PAGE ...  prints for each link of a page, and for each source file that a README names, the page and where
# the file may be: from the page's folder, and from the root.  A link to a heading that the other page lacks comes with its "#".
FNR == 1 { folder = FILENAME; sub(/[^\/]*$/, "", folder) }
/^#+ / {
    slug = tolower($0)
    sub(/^#+ +/, "", slug)
    gsub(/[^a-z0-9 _\200-\377-]/, "", slug)
    gsub(/ /, "-", slug)
    heading[FILENAME "#" slug] = 1
}
{
    text = $0
    while (match(text, /\]\([^():# ]*(#[^() ]+)?/)) {
        link = substr(text, RSTART + 2, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
        file = link
        sub(/#.*/, "", file)
        if (file != "")
            print FILENAME, folder file, "-"
        if (link ~ /#/ && (file == "" || file ~ /\.md$/)) {
            there = (file == "" ? FILENAME : folder file) substr(link, length(file) + 1)
            while (sub(/[^\/.]+\/\.\.\//, "", there)) {}
            anchor[there] = FILENAME
        }
    }
    text = $0
    while (FILENAME ~ /README/ && match(text, /`[A-Za-z0-9_\/.-]+\.(c|h|sql|awk|yaml)`/)) {
        name = substr(text, RSTART + 1, RLENGTH - 2)
        print FILENAME, folder name, name
        text = substr(text, RSTART + RLENGTH)
    }
}
END {
    for (there in anchor)
        if (!(there in heading))
            print anchor[there], there, "-"
}
