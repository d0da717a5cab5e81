#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=300
# redis-server under load is scanned for lost blocks every second: no request is lost, every scan has
# its answer, and the server goes on. Prints the throughput of turns with and without scans, one
# after the other, and the pauses; what these should be is no matter of a test.
#   MEMOIR_SCAN_TURNS=N   pairs of turns; 2 unless said   MEMOIR_SCAN_REQUESTS=N   of each turn
#   MEMOIR_SCAN_MIB=N     of values in the server
set -eu
for program in redis-server redis-cli redis-benchmark; do
    command -v $program >/dev/null || { echo "no $program: skipped"; exit 77; }
done
turns=${MEMOIR_SCAN_TURNS:-2} requests=${MEMOIR_SCAN_REQUESTS:-40000} mib=${MEMOIR_SCAN_MIB:-30}
failed=0
place=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || :; rm -rf "$place"' EXIT
cd "$place"
LD_PRELOAD=$MEMOIR_LIB redis-server --port 0 --unixsocket "$place/socket" --save "" --appendonly no --dir . >log 2>&1 &
server=$!
tries=0
until redis-cli -s socket PING >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 200 ] || { echo "the server does not answer"; cat log; exit 1; }
    sleep 0.05
done
keys=$((mib * 2048))
redis-cli -s socket EVAL "for i = 1, $keys do redis.call('set', 'key:' .. i, string.rep('v', 400)) end" 0 >/dev/null

commands_done() {
    redis-cli -s socket INFO stats | tr -d '\r' | sed -n 's/^total_commands_processed://p'
}

# load NAME: one turn; its requests a second and its longest answer, of SET and of GET
load() {
    before=$(commands_done)
    redis-benchmark -s socket -n "$requests" -r "$keys" -d 400 -c 20 -t set,get --csv >"$1.csv" 2>"$1.err" ||
        { echo "$1: redis-benchmark ends with $?"; cat "$1.err"; failed=1; }
    after=$(commands_done)
    # Each request is counted by the server; a few more are the benchmark's and ours.
    done=$((after - before))
    if [ "$done" -lt $((2 * requests)) ] || grep -qi "error" "$1.csv" "$1.err"; then
        echo "$1: $done of $((2 * requests)) requests were answered:"
        cat "$1.csv" "$1.err"
        failed=1
    fi
}

# scans NAME: a scan each second until the file `stop` is there
scans() {
    while [ ! -e stop ]; do
        if "$MEMOIR_TOOL" ctl "$server" leaks >answer 2>&1; then
            tr '\n' ' ' <answer >>"$1.scans"
            echo >>"$1.scans"
        else
            cat answer >>refused
        fi
        [ -e stop ] || sleep 1
    done
}

value() { # NAME COLUMN: of SET and of GET
    sed -n 's/"//g; /^SET\|^GET/p' "$1.csv" | cut -d, -f"$2" | paste -sd' ' -
}

: >refused
promised=$("$MEMOIR_TOOL" leaks --dry-run "$server")
turn=1
while [ $turn -le "$turns" ]; do
    load "alone-$turn"
    rm -f stop
    scans "scanned-$turn" &
    scanner=$!
    load "scanned-$turn"
    : >stop
    wait $scanner
    echo "turn $turn: SET and GET a second: $(value "alone-$turn" 2) alone, $(value "scanned-$turn" 2) scanned;" \
        "longest answer, ms: $(value "alone-$turn" 8) alone, $(value "scanned-$turn" 8) scanned"
    turn=$((turn + 1))
done
echo "$promised"
cat scanned-*.scans | awk '{
    for (i = 1; i <= NF; i++) { split($i, pair, ":"); v[pair[1]] = pair[2] }
    n++
    if (v["leaks.stood_us"] > stood) stood = v["leaks.stood_us"]
    if (v["leaks.took_us"] > took) took = v["leaks.took_us"]
    if (v["leaks.copied_bytes"] > copied) copied = v["leaks.copied_bytes"]
    lost += v["leaks.definite_blocks"]; in_place += v["leaks.in_place"]; sum += v["leaks.stood_us"]
} END {
    printf "scans %d, threads stood still %.1f ms at most, %.1f in the mean, a scan took %.0f ms at most, %.1f MB copied at most, lost blocks %d, in place %d\n",
        n, stood / 1000, n ? sum / n / 1000 : 0, took / 1000, copied / 1e6, lost, in_place }' >sum
cat sum
[ ! -s refused ] || { echo "scans were refused:"; cat refused; failed=1; }
grep -q '^scans [1-9]' sum || { echo "no scan was made"; failed=1; }
grep -q 'lost blocks 0,' sum || { echo "lost blocks in a server that loses none"; failed=1; }
[ "$(redis-cli -s socket PING)" = PONG ] || { echo "the server does not answer any more"; failed=1; }
redis-cli -s socket SHUTDOWN NOSAVE >/dev/null 2>&1 || :
status=0
wait "$server" || status=$?
server=
[ $status = 0 ] || { echo "the server ends with $status"; cat log; failed=1; }
exit $failed
