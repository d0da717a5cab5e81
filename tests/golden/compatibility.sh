#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The tables of variables and options in docs/COMPATIBILITY.md are those of the library's source.
#   tests/golden/compatibility.sh           compares
#   tests/golden/compatibility.sh --write   writes them anew, after a change of variables.def,
#                                           jemalloc_options.def or mimalloc_options.def
set -eu
root=${MEMOIR_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
document=$root/docs/COMPATIBILITY.md

"${CC:-cc}" -w -I"$root" "$root/tests/programs/variables_table.c" -o "$scratch/table"
"$scratch/table" >"$scratch/lines"

# table OF...: the rows of these, in the order of the source
table() {
    echo "| variable | | remark |"
    echo "|---|---|---|"
    for of in "$@"; do
        awk -F '\t' -v of="$of" '
            BEGIN { word["SERVED"] = "works"; word["HINT"] = "no effect"
                    word["UNSERVED"] = "**not served**" }
            $1 == of { text = $5
                if (text == "") text = " "; else text = " " text " "
                printf "| `%s` | %s |%s|\n", $2, word[$3], text }' "$scratch/lines"
    done
}

options() {
    echo "| option | | remark |"
    echo "|---|---|---|"
    awk -F '\t' '$1 == "option" && $3 == "UNSERVED" {
        printf "| `%s` | **not served** | %s |\n", $2, $5 }' "$scratch/lines"
    # Ten a row: a line stays short enough to be read.
    awk -F '\t' 'function row() { print " | no effect | they tune parts that are built differently here. " \
            "The value is checked, and `opt.<name>` tells it |" }
        $1 == "option" && $3 == "HINT" {
            if (n > 0 && n % 10 == 0) row()
            printf "%s`%s`", n++ % 10 ? ", " : "| ", $2 }
        END { if (n > 0) row() }' "$scratch/lines"
}

# The options of mimalloc, those that only keep a number of the enum left out.
mimalloc_options() {
    echo "| option (\`MIMALLOC_<NAME>\`) | in 2.4 and 3.4, unset | | remark |"
    echo "|---|---|---|---|"
    awk -F '\t' 'BEGIN { word["WORKS"] = "works"; word["KNOWN"] = "no effect"; word["REFUSED"] = "**not served**" }
        $1 == "mimalloc_option" && $2 !~ /^deprecated_/ {
            name = "`" $2 "`"; gsub(/[|]/, "`, `", $5); if ($5 != "") name = name ", once `" $5 "`"
            split($4, initial, "/"); a = initial[1] == "" ? "-" : initial[1]; b = initial[2] == "" ? "-" : initial[2]
            printf "| %s | %s | %s | %s |\n", name, a == b ? a : a ", " b, word[$3], $6 }' "$scratch/lines"
}

# fill FILE: FILE with the tables between their marks, "<!-- variables OF... -->" and "<!-- end -->"
fill() {
    while IFS= read -r line; do
        case $line in
        '<!-- variables '*' -->')
            printf '%s\n' "$line"
            names=${line#<!-- variables }
            # shellcheck disable=SC2086 # a list of words
            table ${names% -->}
            inside=1
            ;;
        '<!-- mimalloc options -->')
            printf '%s\n' "$line"
            mimalloc_options
            inside=1
            ;;
        '<!-- options -->')
            printf '%s\n' "$line"
            options
            inside=1
            ;;
        '<!-- end -->') inside= ;;
        esac
        [ -n "${inside-}" ] || printf '%s\n' "$line"
    done <"$1"
}

inside=
fill "$document" >"$scratch/filled"
if [ "${1-}" = --write ]; then
    cp "$scratch/filled" "$document"
    exit 0
fi
failed=0
if ! cmp -s "$scratch/filled" "$document"; then
    echo "docs/COMPATIBILITY.md is out of date: run tests/golden/compatibility.sh --write"
    diff "$document" "$scratch/filled" | head -n 10
    failed=1
fi
for name in CPUPROFILE HEAPCHECK MIMALLOC_ purge_delay MALLOC_ARENA_MAX junk narenas; do
    grep -q "\`$name\*\{0,1\}\`" "$scratch/filled" || { echo "no row of $name"; failed=1; }
done

# The control: a row that is gone from the document must be noticed.
grep -v '`HEAPCHECK`' "$document" >"$scratch/changed"
fill "$scratch/changed" >"$scratch/filled"
if cmp -s "$scratch/filled" "$scratch/changed"; then
    echo "control: a missing row was not noticed"
    failed=1
fi
exit "$failed"
