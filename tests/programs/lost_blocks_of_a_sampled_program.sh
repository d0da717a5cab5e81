#!/bin/sh
# SPDX-License-Identifier: MIT
# memoir leaks PID of a sampled program: the scan counts every lost block, and those that were not
# sampled are counted to the stacks of sampled ones of the same size, in their shares.
. "$(dirname "$0")/common.sh"
need python3
settle
build "$root/tests/programs/lost_blocks_of_a_sampled_program.c" -o target
mkfifo in
MEMOIR=heap.rate:4K LD_PRELOAD=$MEMOIR_LIB ./target <in >out 2>err &
target=$!
exec 3>in
until grep -q ready out; do
    kill -0 $target || fail "the program ended: $(cat err)"
    sleep 0.05
done
"$MEMOIR_TOOL" leaks --json $target >json 2>said
[ $? -eq 1 ] || fail "exit status: $(cat said)"
"$MEMOIR_TOOL" leaks $target >text 2>&1
echo >&3
wait $target || fail "the program ended with $?"
python3 - <<'PY' || fail "$(cat json)"
import json, math
said = json.load(open("json"))
sites = {site["name"]: site for site in said["sites"]}
assert set(sites) == {"often", "seldom", "large"}, set(sites)
assert said["leaked_bytes"] == 4000 * 208 + 5 * (1 << 20), said["leaked_bytes"]
assert sites["large"]["objects"] == 5 and sites["large"]["error"] == 0
assert sites["often"]["objects"] + sites["seldom"]["objects"] == 4000
recorded = 4000 - said["not_sampled"]
assert 0 < recorded < 1000, recorded  # 1 in 20
share, spread = sites["often"]["objects"] / 4000, math.sqrt(0.75 * 0.25 / recorded)
assert abs(share - 0.75) < 6 * spread, (share, spread)
assert sites["often"]["error"] > 0 and sites["seldom"]["error"] > sites["often"]["error"]
PY
grep -q 'lost objects were not sampled' text || fail "it does not say so: $(cat text)"
finish
