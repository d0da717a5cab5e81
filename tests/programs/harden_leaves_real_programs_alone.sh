#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=900
# Real programs say and do the same with hardened blocks: the tests of these programs, in this mode.
. "$(dirname "$0")/common.sh"
for name in git perl sqlite3 shell_and_coreutils python3 compilers; do
    MEMOIR_TEST_OPTIONS=harden:on "$root/tests/programs/real_$name.sh" >"$place/said" 2>&1
    got=$?
    [ "$got" -eq 0 ] || [ "$got" -eq 77 ] || {
        fail "real_$name.sh with harden:on: exit status $got"
        cat "$place/said"
    }
done
finish
