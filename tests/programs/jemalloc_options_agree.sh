#!/bin/sh
# SPDX-License-Identifier: MIT
# Every option of MALLOC_CONF that Debian's libjemalloc knows, with two dozen values each: the messages,
# the exit code and what opt.NAME tells afterwards are the same. What is not is listed here, with the reason.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
theirs=
for library in /usr/lib/*/libjemalloc.so.2; do [ ! -e "$library" ] || theirs=$library; done
[ -n "$theirs" ] || skip "libjemalloc.so.2 is not installed (libjemalloc2)"
build "$root/tests/programs/jemalloc_options_agree.c" -o ask
options=$(sed -n 's/^OPTION(\([a-z_]*\),.*/\1/p' "$root/lib/faces/jemalloc/jemalloc_options.def")
set --
for option in $options; do set -- "$@" "$option=nonsense"; done
LD_PRELOAD=$theirs ./ask "$@" >known 2>&1
known=
for option in $options; do
    case $option in
    abort_conf) continue ;; # below
    esac
    grep -q "Invalid conf pair: $option:" known || known="$known $option"
done
[ "$(echo $known | wc -w)" -ge 60 ] || fail "only these are known: $known"

# answers LIBRARY FILE: for all values, without statistics and repeated lines
answers() {
    for option in $known; do
        for value in true false 0 1 7 4095 4096 16384 -1 -2 99999999999999999999 0x10 010 nonsense '' default auto \
            always disabled primary percpu alloc free 1.5 100-1000:3 '1-10:2|20-30:3' 9223372036854775807 Jx; do
            set -- "$@" "$option=$value"
        done
    done
    library=$1 result=$2
    shift 2
    LD_PRELOAD=$library ./ask "$@" >all 2>&1 || fail "it does not answer with $library"
    awk '/^== / { if (last != "") print last; last = ""; said = ""; print; next }
        /^<jemalloc>|^status/ { if ($0 != said) print; said = $0; next }
        /^memoir: / { next }
        { last = "value " $0 }
        END { print last }' all >"$result"
}
answers "$theirs" theirs
answers "$MEMOIR_LIB" ours
[ "$(grep -c '^== ' theirs)" -ge 1600 ] || fail "too few answers: $(grep -c '^== ' theirs)"

# Initial values that are memoir's own: one arena unless asked for more, return.delay, and that of 5.3.1.
own() {
    awk -v arenas="value $(($(nproc) * 4))" '/^== / { name = $2; sub(/:.*/, "", name) }
        name == "narenas" && ($0 == "value 1" || $0 == arenas) { $0 = "value own" }
        name == "dirty_decay_ms" && ($0 == "value 5000" || $0 == "value 10000") { $0 = "value own" }
        name == "hpa_sec_nshards" && ($0 == "value 2" || $0 == "value 4") { $0 = "value own" }
        name == "narenas_ratio" && /Reducing narenas/ { next }
        { print }' "$1"
}
own theirs >theirs.own
own ours >ours.own
diff theirs.own ours.own >difference || fail "$(grep -c '^[<>]' difference) lines differ: $(head -n 20 difference)"
finish
