#!/bin/sh
# SPDX-License-Identifier: MIT
# run-serial: resident memory is compared.
# `memoir frag` against the truth: programs that keep one block in a hundred free the blocks of one
# site, then of all, and ask the kernel what returned. Recording every block, the figures are right
# to 6 % (tables of the allocator return, too); with samples, within the error that is told.
. "$(dirname "$0")/common.sh"
need python3
build -pthread "$root/tests/programs/frag_knows_what_pins_pages.c" -o "$place/program"
cd "$place" || exit 2
pid=''
trap 'kill $pid 2>/dev/null; rm -rf "$place"' EXIT

measure() { # PATTERN RATE: answer.json, truth
    rm -f ready go
    LD_PRELOAD=$MEMOIR_LIB MEMOIR=heap.rate:$2 ./program "$1" ready go >truth 2>errors &
    pid=$!
    for _ in $(seq 600); do
        [ -e ready ] && break
        sleep 0.05
    done
    "$MEMOIR_TOOL" frag $pid --json >answer.json 2>>errors || fail "$1: frag: $(cat errors)"
    rm -f file.memoir
    "$MEMOIR_TOOL" ctl $pid dump file.memoir >/dev/null 2>said || fail "$1: dump: $(cat said)"
    touch go
    wait $pid || fail "$1: the program ended with $?"
    quiet errors
    "$MEMOIR_TOOL" frag file.memoir --json >file.json 2>>errors || fail "$1: file: $(cat errors)"
}

compare() { # PATTERN EXACT
    python3 - "$1" "$2" <<'END' || failed=1
import json, sys
pattern, exact = sys.argv[1], sys.argv[2] == "exact"
truth = {w[0]: (int(w[1]), int(w[2])) for w in map(str.split, open("truth")) if w[0] != "pid"}
for name in "answer.json", "file.json":
    answer = json.load(open(name))
    sites = {s["name"]: s for s in answer["sites"]}
    keeper, other = sites.get("keeper"), sites.get("other_keeper")
    def check(what, got, want, error=0, little=262144):
        slack = 0.06 * want + little + 2.5 * error
        if abs(got - want) > slack:
            print("%s, %s, %s: %s is %d, in truth %d, slack %d"
                  % (pattern, name, "exact" if exact else "sampled", what, got, want, slack))
            sys.exit(1)
    if keeper is None:
        sys.exit("%s: no site keeper in %s" % (pattern, list(sites)))
    both = [s for s in (keeper, other) if s]
    error = max(s["pinned_error"] for s in both)
    assert exact == (error == 0) or pattern == "large", (pattern, error)
    shares = sum(s["pinned_bytes"] for s in both)
    check("what all sites pin", shares, truth["all"][1], error if pattern in ("among", "phases") else 0)
    relative = keeper["pinned_error"] / keeper["pinned_bytes"]
    check("what keeper holds", keeper["held_bytes"], truth["keeper"][0],
          relative * truth["keeper"][0], 4096)
    alone = keeper["alone_bytes"]
    if not exact and other: # at least: the blocks beside a sample are not known
        alone = max(alone, truth["keeper"][1])
    check("what keeper alone pins", alone, truth["keeper"][1], keeper["pinned_error"])
    share = keeper["pinned_bytes"] / shares
    want = {"among": 0.25, "phases": 0.5}.get(pattern, 1)
    if abs(share - want) > 0.01 + 2.5 * keeper["pinned_error"] / shares:
        sys.exit("%s: keeper's share is %.2f, not %.2f" % (pattern, share, want))
    full = keeper["held_bytes"] / keeper["pinned_bytes"]
    if pattern in ("large", "dense") and full < 0.93 or pattern not in ("large", "dense") and full > 0.2:
        sys.exit("%s: %.2f full" % (pattern, full))
END
}

for pattern in uniform among phases classes large dense threads; do
    measure $pattern 0
    compare $pattern exact
done
for pattern in uniform among phases large dense threads; do
    measure $pattern 16K
    compare $pattern sampled
done
# In production: a site that holds 1 MiB is found by two samples or so.
measure uniform 512K
python3 -c '
import json
answer = json.load(open("answer.json"))
assert answer["spans_bytes"] > 50 << 20 and answer["live_bytes"] < answer["spans_bytes"] / 20
assert abs(sum(answer["by_fill"]) - answer["spans_bytes"]) < 1 << 20
assert answer["sum"]["pinned_bytes"] + answer["not_sampled_bytes"] >= 50 << 20
' || failed=1
# While four threads make and end spans: each request is answered, and the program goes on.
for rate in 0 4K; do
    rm -f ready go
    LD_PRELOAD=$MEMOIR_LIB MEMOIR=heap.rate:$rate ./program busy ready go >truth 2>errors &
    pid=$!
    for _ in $(seq 100); do
        [ -e ready ] && break
        sleep 0.05
    done
    for _ in $(seq 20); do
        "$MEMOIR_TOOL" frag $pid --json >answer.json 2>>errors || fail "busy: $(cat errors)"
    done
    grep -q '"known": true' answer.json || fail "busy: nothing is known"
    kill -0 $pid || fail "busy: the program has ended: $(cat errors)"
    kill -9 $pid
    wait $pid 2>/dev/null
    quiet errors
done
finish
