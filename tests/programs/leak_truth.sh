#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=900
# Programs with known leaks (leak_truth.py): the scan finds every lost block and no other. The full
# count is a scenario of the campaign (tests/soak/run): leak_truth.sh FIRST COUNT.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
python3 "$MEMOIR_ROOT/tests/programs/leak_truth.py" "${1:-1}" "${2:-24}"
# The same where blocks lie elsewhere, or look different: guarded, debugged and hardened.
for mode in guard:full guard:sampled,guard.rate:1,heap.rate:1 debug:on harden:on; do
    export MEMOIR=$mode
    python3 "$MEMOIR_ROOT/tests/programs/leak_truth.py" "${1:-1}" "$((${2:-24} / 4))" --built &&
        python3 "$MEMOIR_ROOT/tests/programs/leak_truth.py" 1 2 --only ignored --built ||
        { echo "with $mode"; exit 1; }
done
unset MEMOIR
# The control: a truth that is wrong by one block.
python3 "$MEMOIR_ROOT/tests/programs/leak_truth.py" 1 2 --planted
MEMOIR=guard:full python3 "$MEMOIR_ROOT/tests/programs/leak_truth.py" 1 2 --planted --built
