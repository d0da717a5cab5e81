#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=900
# Real programs say and do the same with the option debug: the tests of these programs, in this mode.
. "$(dirname "$0")/common.sh"
real_programs debug:on redis sqlite3 # all of them: ./dev soak programs
if command -v node >/dev/null 2>&1; then
    MEMOIR=debug:on LD_PRELOAD=$MEMOIR_LIB node -e 'let a = []; for (let i = 0; i < 1e5; i++)
        a.push({i, s: "x" + i}); console.log(JSON.stringify(a).length)' >"$place/out" 2>"$place/said"
    [ "$?:$(cat "$place/out")" = "0:2477781" ] || fail "node: $(cat "$place/out" "$place/said")"
    quiet "$place/said"
fi
finish
