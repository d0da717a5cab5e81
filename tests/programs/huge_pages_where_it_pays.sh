#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated
#
# thp:auto asks for huge pages in a heap that is large and dense, by the kernel's own account; not
# in a small one, nor in one that is hardly touched, nor for one giant block, nor where memory was
# returned: what is resident after half was freed is what it is without huge pages.
. "$(dirname "$0")/common.sh"
[ -d /sys/kernel/mm/transparent_hugepage ] || skip "this kernel has no huge pages"
build "$root/tests/programs/huge_pages_where_it_pays.c" -o "$place/program"

heap() { # OPTIONS KIND: sets `advised` and `resident`, in MiB
    said=$(MEMOIR=$1 preload "$place/program" "$2")
    case $? in
    0) ;;
    77) skip "the kernel does not show what it was told" ;;
    *) fail "$2: the program failed" ;;
    esac
    advised=${said% *} resident=${said#* }
}

heap thp:on small
[ "$advised" -ge 30 ] || fail "thp:on: only $advised MiB advised, so nothing below means anything"
for mode in "" thp:auto; do
    for kind in small sparse beginnings giant; do
        heap "$mode" $kind
        [ "$advised" -eq 0 ] || fail "$kind: $advised MiB are advised to be huge"
    done
    heap "$mode" dense
    [ "$advised" -ge 150 ] || fail "dense: only $advised MiB of 300 are advised to be huge"
done
heap thp:off dense
[ "$advised" -eq 0 ] || fail "thp:off: $advised MiB are advised to be huge"
heap thp:off half
plain=$resident
[ "$plain" -le 200 ] || fail "half of the heap was not returned: $plain MiB"
heap thp:auto half
[ "$resident" -le $((plain + 8)) ] || fail "half freed: $resident MiB are resident, $plain without huge pages"
[ "$advised" -le 10 ] || fail "half freed: $advised MiB are still advised to be huge"
finish
