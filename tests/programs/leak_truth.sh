#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=900
# Programs with known leaks (leak_truth.py): the scan finds every lost block and no other. The full
# count is a scenario of the campaign (tests/soak/run): leak_truth.sh FIRST COUNT.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
python3 "$MEMOIR_ROOT/tests/programs/leak_truth.py" "${1:-1}" "${2:-24}"
# The control: a truth that is wrong by one block.
python3 "$MEMOIR_ROOT/tests/programs/leak_truth.py" 1 2 --planted
