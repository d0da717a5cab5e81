#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# The table of misuses in docs/PROMISES.md is what the heads of tests/misuse say, and programs that are to
# say the same share one file of expectations.
#   tests/golden/misuse_table.sh           compares
#   tests/golden/misuse_table.sh --write   writes it anew
set -eu
root=${MEMOIR_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
page=$root/docs/PROMISES.md
table=$("$root/tests/misuse/run" --table)
wanted=$(awk -v table="$table" '
    /^<!-- end of the table -->/ { skip = 0 }
    !skip { print }
    /^<!-- misuse table -->/ { print table; skip = 1 }' "$page")
if [ "${1-}" = --write ]; then
    printf '%s\n' "$wanted" >"$page"
    exit 0
fi
[ "$(printf '%s\n' "$table" | wc -l)" -gt 100 ] || { echo "the table is too short"; exit 1; }
same=$(md5sum "$root"/tests/misuse/*.expect | sort | uniq -w 32 -D)
[ -z "$same" ] || { echo "one text, several files: share one as default_WORD.expect: $same"; exit 1; }
printf '%s\n' "$wanted" | cmp - "$page" || {
    echo "docs/PROMISES.md differs: run tests/golden/misuse_table.sh --write"
    exit 1
}
