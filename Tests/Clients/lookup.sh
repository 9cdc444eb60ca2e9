#!/bin/sh
# lookup.sh TOOL [OPTION...] -- NAME...: prints a row for each name as getaddrinfo.c does with -r, through dig, kdig or drill.
command=
while [ "$1" != -- ]; do
    command="$command $1"
    shift
done
shift
for name; do
    start=$(date +%s%3N)
    # shellcheck disable=SC2086 # The command's words.
    found=$({ $command "$name" A && $command "$name" AAAA; } | awk '
        /->>HEADER<<-/ { code = $0; sub(/.*(status|rcode): /, "", code); sub(/[,;].*/, "", code) }
        !/^;/ && ($4 == "A" || $4 == "AAAA") { print $5; found = 1 }
        END { if (!found) print code == "" ? "no-response" : code }')
    echo "$name" $found $(($(date +%s%3N) - start))
done
