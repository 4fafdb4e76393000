# Adds up the checks in a step's log: its lines "N passed, N failed", which may go on with ", N skipped", or node's "# pass N"
# and "# fail N", or nothing.
/^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ { passed += $1; failed += $3; skipped += $5; seen = 1 }
/^# pass [0-9]+$/ { passed += $3; seen = 1 }
/^# (fail|cancelled) [0-9]+$/ { failed += $3; seen = 1 }
END { if (seen) printf "%d passed, %d failed%s\n", passed, failed, skipped ? ", " skipped " skipped" : "" }
