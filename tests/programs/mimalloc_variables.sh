#!/bin/sh
# SPDX-License-Identifier: MIT
#
# mimalloc's variables: statistics at exit in its layout, its options at the start, warnings about old
# names and wrong values, what is said of options without effect; under the names of both releases.
. "$(dirname "$0")/common.sh"
settle
build -x c - -o user <<'END'
#include <stdlib.h>
int main(void)
{
    for (int i = 0; i < 1000; i++)
        malloc(1000);
    free(malloc(1 << 20));
    return 0;
}
END
compat=$(dirname "$MEMOIR_LIB")/compat
run() { env "$@" LD_PRELOAD="$lib" ./user 2>err || fail "$*: status $?"; }
has() { grep -q -- "$1" err || fail "no line '$1': $(cat err)"; }

lib=$MEMOIR_LIB
run MIMALLOC_SHOW_STATS=0
[ ! -s err ] || fail "something is said of nothing: $(cat err)"
run MIMALLOC_SHOW_STATS=1
has '^heap stats:     peak       total     current       block      total#   $'
has '^    binned:  *[0-9.]* .iB'
has '^      huge: .* 1.0 MiB     0  *ok$'
has '^   process: user: [0-9.]* s, system: [0-9.]* s, faults: [0-9]*, peak rss: [0-9.]* MiB, peak commit: '
! grep -q option err || fail "options without MIMALLOC_VERBOSE"
run mimalloc_Show_Stats=yes
has '^heap stats:'
run MIMALLOC_VERBOSE=1 MIMALLOC_PURGE_DELAY=77 MIMALLOC_ARENA_RESERVE=3GiB MIMALLOC_LARGE_OS_PAGES=0 MIMALLOC_USE_NUMA_NODES=x
has "^mimalloc: v2\.4\.1, "
has "^mimalloc: option 'purge_delay': 77 $"
has "^mimalloc: option 'arena_reserve': 3145728 KiB$"
has "^mimalloc: option 'arena_reserve' has no effect here: "
has '^mimalloc: warning: environment option "mimalloc_large_os_pages" is deprecated -- use "mimalloc_allow_large_os_pages" instead\.$'
has '^mimalloc: warning: environment option mimalloc_use_numa_nodes has an invalid value\.$'
has '^heap stats:'
has '^mimalloc: process done: '
# The names of 2.0 (Debian 12), and one that no release has.
run MIMALLOC_VERBOSE=1 MIMALLOC_DECOMMIT_DELAY=78 MIMALLOC_Abandoned_Page_Decommit=1 MIMALLOC_PAGE_RESETS=1
has "^mimalloc: option 'purge_delay': 78 $"
has "^mimalloc: option 'abandoned_page_purge': 1 $"
has '^mimalloc: warning: environment option "mimalloc_decommit_delay" is deprecated -- use "mimalloc_purge_delay" instead\.$'
has '^mimalloc: environment option "mimalloc_page_resets" is not known and has no effect$'
run MIMALLOC_DECOMMIT_DELAY=79 MEMOIR=verbose:on
has '^return.delay:79ms$'
run MIMALLOC_PAGE_RESETS=1
[ ! -s err ] || fail "unknown options are told of without MIMALLOC_VERBOSE: $(cat err)"
run MIMALLOC_SHOW_ERRORS=1 MIMALLOC_PURGE_DELAY=x MIMALLOC_MAX_WARNINGS=0
[ ! -s err ] || fail "more warnings than allowed: $(cat err)"
run MIMALLOC_PURGE_DELAY=77 MEMOIR=verbose:on
has '^return.delay:77ms$'
run MIMALLOC_PURGE_DELAY=-1 MIMALLOC_ALLOW_LARGE_OS_PAGES=1 MIMALLOC_USE_NUMA_NODES=2 MEMOIR=verbose:on
has '^return.delay:never$'
has '^thp:on$'
has '^numa.nodes:2$'
cat >fill.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
    unsigned blocks = 0;
    for (void *block; blocks < 1000 && (block = malloc(1 << 20)) != NULL; blocks++)
        memset(block, 1, 1 << 20);
    return printf("%u\n", blocks) < 0;
}
C
build fill.c -o fill
for memory in 64MiB 67108864 65536K; do
    blocks=$(env MIMALLOC_RESERVE_OS_MEMORY=$memory MIMALLOC_DISALLOW_OS_ALLOC=1 LD_PRELOAD="$MEMOIR_LIB" ./fill)
    [ "$blocks" -ge 55 ] && [ "$blocks" -le 67 ] || fail "$memory set aside: $blocks blocks of 1 MiB"
done
[ "$(MIMALLOC_RESERVE_OS_MEMORY=64MiB preload ./fill)" = 1000 ] || fail "memory that is set aside is a limit"
run MIMALLOC_RESERVE_HUGE_OS_PAGES=4000 MIMALLOC_SHOW_ERRORS=1
has '^mimalloc: warning: mi_reserve_huge_os_pages: no memory'
run MIMALLOC_PURGE_DELAY=5 MIMALLOC_RESET_DELAY=6 MEMOIR=verbose:on
has '^return.delay:5ms$'

if [ -e "$compat/libmimalloc.so.3" ]; then
    lib=$compat/libmimalloc.so.3
    run MIMALLOC_VERBOSE=1
    has '^v3\.4\.3, '
    has "^option 'purge_delay': 1000 $"
    has '^  binned    : '
    lib=$compat/libmimalloc.so
    run MIMALLOC_VERBOSE=1
    has "^mimalloc: option 'purge_delay': 10 $"
fi
# Guarded blocks: an access beyond one block in N, of the sizes in question, is reported.
build -x c - -o over <<'END'
#include <stdlib.h>
int main(int count, char **words)
{
    size_t size = strtoul(words[1], NULL, 10);
    for (long i = strtol(words[2], NULL, 10); i > 0; i--) {
        char *volatile block = malloc(size);
        block[size] = 1;
        free(block);
    }
    return 0;
}
END
# found SIZE COUNT VARIABLES...: a report; left: none
guarded() { size=$1 count=$2 && shift 2 && (ulimit -c 0 && env "$@" LD_PRELOAD="$lib" ./over $size $count >/dev/null 2>err); }
found() {
    ! guarded "$@" || fail "no report: $*"
    has "^memoir: guard: overflow: .* a block of $1 bytes"
}
left() { guarded "$@" || fail "$*: $(cat err)"; }
rate=MIMALLOC_GUARDED_SAMPLE_RATE
found 64 1000 $rate=1000
found 64 101 $rate=1000 MIMALLOC_GUARDED_SAMPLE_SEED=1100
left 64 50 $rate=1000 MIMALLOC_GUARDED_SAMPLE_SEED=1100
left 64 3000 $rate=1000 MIMALLOC_GUARDED_MIN=65
left 64 3000 $rate=1000 MIMALLOC_GUARDED_MAX=63
left 64 3000 MIMALLOC_GUARDED_MIN=1
found 100000 10 $rate=10
found 61 1 $rate=1 MIMALLOC_GUARDED_PRECISE=1
run $rate=3 MIMALLOC_VERBOSE=1
! grep -q 'no effect\|not served' err || fail "it is said to be without effect: $(cat err)"
finish
