# parts.awk  prints the files of one part: awk -v part=K/N of lines SECONDS FILE, the slowest first; each file, where it is named
# first, goes to the part that has the fewest seconds then.
BEGIN { split(part, of, "/") }
!/^#/ && !named[$2]++ {
    least = 1
    for (k = 2; k <= of[2]; k++) if (sum[k] < sum[least]) least = k
    sum[least] += $1
    if (least == of[1]) print $2
}
