#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=900
# Real programs say and do the same with hardened blocks: the tests of these programs, in this mode.
. "$(dirname "$0")/common.sh"
for name in git perl python3; do # all of them: ./dev soak programs
    MEMOIR_TEST_OPTIONS=harden:on "$root/tests/programs/real_$name.sh" >"$place/said" 2>&1
    got=$?
    [ "$got" -eq 0 ] || [ "$got" -eq 77 ] || {
        fail "real_$name.sh with harden:on: exit status $got"
        cat "$place/said"
    }
done
finish
