#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Counts the instructions of a malloc + free pair with callgrind, sampling on, against the budget
# that lib/api/hot.h states ("at most N instructions"), and against what was promised to users: 60
# for one small size, 66 a pair where 1,000 blocks of 1 KiB are allocated and then freed.
#
# A count is the difference of a long and a short run, which cancels start and end, divided by the
# difference in pairs, less the same for the loop without its two calls. So calls and PLT count,
# and so do refills, samples and whatever else comes by now and then.
#
# Positive control: glibc's malloc, counted the same way, must break the budget.
tools=valgrind
. "$(dirname "$0")/common.sh"
[ "$(uname -m)" = x86_64 ] || { echo "the budget is for x86-64: skipped"; exit 77; }

cat >"$place/pair.c" <<'END'
/* pair SIZE BLOCKS ROUNDS: BLOCKS times malloc, then BLOCKS times free; ROUNDS times. */
#include <stdlib.h>

#ifdef NOTHING /* the arguments are where a call would want them, and that is all */
static inline void *nothing(size_t size)
{
    void *block;
    __asm__ volatile("" : "=a"(block) : "D"(size) : "memory");
    return block;
}
#define malloc(size) nothing(size)
#define free(block) __asm__ volatile("" ::"D"(block) : "memory")
#endif

static void *blocks[1000];

int main(int argc, char **argv)
{
    size_t size = strtoul(argv[1], NULL, 10), count = strtoul(argv[2], NULL, 10);
    size_t rounds = strtoul(argv[3], NULL, 10);
    if (argc != 4 || count > 1000)
        return 2;
    if (count == 1)
        for (size_t round = 0; round < rounds; round++)
            free(malloc(size));
    else
        for (size_t round = 0; round < rounds; round++) {
            for (size_t i = 0; i < count; i++)
                blocks[i] = malloc(size);
            for (size_t i = 0; i < count; i++)
                free(blocks[i]);
        }
    return 0;
}
END
for name in calls nothing; do
    flag=''
    [ $name = calls ] || flag=-DNOTHING
    "${CC:-cc}" -O2 -fno-builtin $flag -o "$place/$name" "$place/pair.c"
done

instructions() { # PRELOAD PROGRAM ARGUMENTS: of a whole run
    preload=$1
    shift
    env -u MEMOIR LD_PRELOAD="$preload" valgrind --tool=callgrind \
        --callgrind-out-file=/dev/null "$@" 2>"$place/log" >/dev/null || {
        cat "$place/log" >&2
        return 1
    }
    awk '/Collected *:/ { print $NF; found = 1 } END { exit !found }' "$place/log"
}

# each PRELOAD SIZE BLOCKS SHORT LONG: instructions a pair, to a tenth
each() {
    calls_short=$(instructions "$1" "$place/calls" "$2" "$3" "$4")
    calls_long=$(instructions "$1" "$place/calls" "$2" "$3" "$5")
    nothing_short=$(instructions "$1" "$place/nothing" "$2" "$3" "$4")
    nothing_long=$(instructions "$1" "$place/nothing" "$2" "$3" "$5")
    awk -v calls=$((calls_long - calls_short)) -v nothing=$((nothing_long - nothing_short)) \
        -v pairs=$((($5 - $4) * $3)) 'BEGIN { printf "%.1f\n", (calls - nothing) / pairs }'
}

above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'; }

budget=$(grep -o 'at most [0-9]* instructions' "$root/lib/api/hot.h" | grep -o '[0-9][0-9]*')
case $budget in
'' | *[!0-9]*) echo "lib/api/hot.h states no budget, or more than one"; exit 1 ;;
esac
verdict=0

judge() { # WHAT COUNT LIMIT
    if ! above "$2" 0; then
        echo "$1: counted as '$2': the program did not run"
        verdict=1
    elif above "$2" "$3"; then
        echo "$1: $2 instructions a pair, more than $3"
        verdict=1
    else
        echo "$1: $2 instructions a pair, at most $3"
    fi
}

if [ "$budget" -gt 60 ]; then
    echo "hot.h allows $budget instructions, 60 were promised"
    verdict=1
fi
for size in 16 64 256 1000; do # the larger, the more samples fall on a pair
    case $size in 16 | 64) limit=$budget ;; *) limit=60 ;; esac
    judge "$size bytes" "$(each "$library" $size 1 20000 220000)" "$limit"
done
judge "1000 blocks of 1 KiB" "$(each "$library" 1024 1000 50 250)" 66

glibc=$(each '' 64 1 20000 220000)
if above "$glibc" "$budget"; then
    echo "control: glibc takes $glibc, as it should be seen to"
else
    echo "control: glibc is counted with $glibc instructions only: the count is wrong"
    verdict=1
fi
exit $verdict
