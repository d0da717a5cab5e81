#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# Whatever MEMOIR holds, the program runs as without it: an unknown key is one warning that names
# the nearest key, a bad value one warning, very long values and no environment at all are fine.
. "$(dirname "$0")/common.sh"

build "$root/tests/programs/environment.c" -o "$place/program"

run() { # VALUE
    MEMOIR=$1 preload "$place/program" >"$place/out" 2>"$place/errors"
    code=$?
    [ $code -eq 0 ] || fail "MEMOIR=$(echo "$1" | cut -c 1-60): exit code $code"
    [ "$(cat "$place/out")" = works ] || fail "MEMOIR=$(echo "$1" | cut -c 1-60): $(cat "$place/out")"
}
lines() { # COUNT
    got=$(wc -l <"$place/errors")
    [ "$got" -eq "$1" ] || fail "$got lines, not $1: $(head -n 2 "$place/errors")"
}
says() { # WORD
    grep -q "^memoir: .*$1" "$place/errors" || fail "no line says $1: $(head -n 2 "$place/errors")"
}

for good in "" "heap:on" "heap:off" "heap.rate:64K" "return.delay:0" "thp:off,heap.rate:0" "cache:64K" \
    "thp:on" "numa.nodes:1" ",," " heap : on , thp = off "; do
    run "$good"
    lines 0
done
while read -r bad nearest; do
    run "$bad"
    lines 1
    says "$nearest"
done <<END
heap.rat:1K heap.rate
hea:on heap
return.dely:1s return.delay
statz:on stats
numa.node:1 numa.nodes
heap.rate:banana heap.rate
thp:perhaps thp
END
run "xyzzy:on"
says "no option 'xyzzy' (all: memoir options)"
run "stats:on"
[ -s "$place/errors" ] || fail "stats:on printed nothing"
# ls closes standard error before the end.
MEMOIR=stats:on preload ls / >/dev/null 2>"$place/errors"
grep -q "blocks allocated" "$place/errors" || fail "stats:on printed nothing for ls"
run "verbose:on,heap.rate:3K"
grep -q "^heap.rate:3K" "$place/errors" || fail "verbose:on does not show heap.rate: $(cat "$place/errors")"

# A variable can be 128 KiB long, and there can be many.
long=$(head -c 130000 /dev/zero | tr '\0' 'x')
run "$long"
run "heap.rate:$long"
run "$(head -c 130000 /dev/zero | tr '\0' ',')"
pairs=$(yes 'heap:on,' | head -n 14000 | tr -d '\n')
run "$pairs"
lines 0
(
    i=0
    while [ $i -lt 12 ]; do
        export "LONG_$i=$long"
        i=$((i + 1))
    done
    MEMOIR=heap.rate:1M preload "$place/program" >"$place/out" 2>"$place/errors"
) || fail "1.5 MB of environment: exit code $?"
printf '\377\001\002:\200,=:,:=' >"$place/bytes"
run "$(cat "$place/bytes")"

# A file of options, missing, empty, 1 MB, a folder, or naming itself.
run "conf:$place/missing"
run "conf:$place"
: >"$place/empty"
run "conf:$place/empty"
lines 0
yes 'heap.rate:64K' | head -c 1048000 >"$place/large"
run "conf:$place/large"
printf 'conf:%s\nheap.rate:64K\n' "$place/self" >"$place/self"
run "conf:$place/self"

# No environment at all, an environment that is cleared at run time, no arguments.
env -i LD_PRELOAD="$MEMOIR_LIB" "$place/program" >"$place/out" 2>&1 || fail "env -i: exit code $?"
build -static "$root/tests/programs/environment.c" "$MEMOIR_STATIC" -o "$place/static"
env -i "$place/static" >"$place/out" 2>&1 || fail "env -i, static: exit code $?"
expect 0 "$place/static" bare "$place/static"
expect 0 env MEMOIR=heap:on LD_PRELOAD="$MEMOIR_LIB" "$place/program" clear
finish
