#!/bin/sh
# SPDX-License-Identifier: MIT
# The protocol, a line in and text out: what each verb answers, and what it does.
. "$(dirname "$0")/common.sh"
build -DMEMOIR_VERSION='"1.2.3"' "$root/tests/programs/control_verbs.c" \
    $(find "$root/base" "$root/lib" -name "*.c") \
    -o "$place/control_verbs"
cd "$place" || exit 2
expect 0 ./control_verbs 2>"$place/said"
grep -c '^memoir: no dump ' "$place/said" | grep -qx 1 || fail "said: $(cat "$place/said")"
finish
