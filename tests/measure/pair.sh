#!/bin/sh
# SPDX-License-Identifier: MIT
# emulated-too
#
# Counts the instructions of a malloc + free pair, sampling on, against the budget that
# lib/api/hot.h states ("at most N instructions on x86-64"), and against what was promised to users:
# on x86-64, 60 for one small size, 66 a pair where 1,000 blocks of 1 KiB are allocated, then freed.
# callgrind counts; in the build for aarch64, a plugin of qemu (bench/qemu_count.c).
#
# A count is the difference of a long and a short run, which cancels start and end, divided by the
# difference in pairs, less the same for the loop without its two calls. So calls and PLT count,
# and so do refills, samples and whatever else comes by now and then.
#
# Pairs of hardened blocks have budgets of their own on x86-64, as there is no short way around them.
#
# Positive control: glibc's malloc, counted the same way, must break the budget.
emulator=${MEMOIR_EMULATOR-}
tools=valgrind
[ -z "$emulator" ] || tools="cc ${emulator%% *}"
. "$(dirname "$0")/common.sh"

case $("${CC:-cc}" -dumpmachine) in # what was promised, and what is so today where nothing was
x86_64-*) machine=x86-64 promised=60 in_turn=66 ;;
aarch64-*) machine=aarch64 promised=87 in_turn=93 ;;
*) echo "no budget for this machine: skipped"; exit 77 ;;
esac

cat >"$place/pair.c" <<'END'
/* pair SIZE BLOCKS ROUNDS: BLOCKS times malloc, then BLOCKS times free; ROUNDS times. */
#include <stdlib.h>

#ifdef NOTHING /* the arguments are where a call would want them, and that is all */
#ifdef __x86_64__
#define RESULT "rax"
#define ARGUMENT "rdi"
#else
#define RESULT "x0"
#define ARGUMENT "x0"
#endif
static inline void *no_malloc(size_t size)
{
    register size_t argument __asm__(ARGUMENT) = size;
    register void *result __asm__(RESULT);
    __asm__ volatile("" : "=r"(result) : "r"(argument) : "memory");
    return result;
}
static inline void no_free(void *block)
{
    register void *argument __asm__(ARGUMENT) = block;
    __asm__ volatile("" ::"r"(argument) : "memory");
}
#define malloc(size) no_malloc(size)
#define free(block) no_free(block)
#endif

#ifdef OPERATORS /* operator new, and operator delete with the size */
void *_Znwm(size_t size);
void _ZdlPvm(void *block, size_t size);
#define malloc(size) _Znwm(size)
#define free(block) _ZdlPvm(block, size)
#endif

#ifdef RESIZED /* twice: once it stays where it is, once it moves */
static void *resized(size_t size)
{
    void *block = realloc(malloc(size), size - 8);
    return realloc(block, 3 * size);
}
#define malloc(size) resized(size)
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
compile() { # NAME [LIBRARY]
    "${CC:-cc}" -O2 -fno-builtin "-D$(echo "$1" | tr a-z A-Z)" -o "$place/$1" "$place/pair.c" ${2+"$2"}
}
compile calls
compile nothing
[ -n "$emulator" ] || { compile operators "$library" && compile resized; }

# plugin: compiles it for the interface that this qemu has
plugin() {
    for interface in 1 2 3 4 5 6; do
        cc -O2 -shared -fPIC -DINTERFACE=$interface -o "$place/count.so" \
            "$root/bench/qemu_count.c"
        # shellcheck disable=SC2086 # a command
        ! $emulator -plugin "$place/count.so" "$place/nothing" 1 1 1 >/dev/null 2>&1 || return 0
    done
    echo "${emulator%% *} takes no plugin of ours: skipped"
    exit 77
}
[ -z "$emulator" ] || plugin

options='' # of the library
counted() { # PRELOAD PROGRAM ARGUMENTS
    preload=$1
    shift
    if [ -z "$emulator" ]; then
        env MEMOIR="$options" LD_PRELOAD="$preload" valgrind --tool=callgrind \
            --callgrind-out-file=/dev/null "$@"
    else
        # shellcheck disable=SC2086 # a command
        env -u MEMOIR $emulator -plugin "$place/count.so" -E LD_PRELOAD="$preload" "$@"
    fi
}

instructions() { # PRELOAD PROGRAM ARGUMENTS: of a whole run
    counted "$@" 2>"$place/log" >/dev/null || {
        cat "$place/log" >&2
        return 1
    }
    awk '/Collected *:|^instructions:/ { print $NF; found = 1 } END { exit !found }' "$place/log"
}

# each PRELOAD SIZE BLOCKS SHORT LONG [PROGRAM]: instructions a pair, to a tenth
each() {
    calls_short=$(instructions "$1" "$place/${6-calls}" "$2" "$3" "$4")
    calls_long=$(instructions "$1" "$place/${6-calls}" "$2" "$3" "$5")
    nothing_short=$(instructions "$1" "$place/nothing" "$2" "$3" "$4")
    nothing_long=$(instructions "$1" "$place/nothing" "$2" "$3" "$5")
    awk -v calls=$((calls_long - calls_short)) -v nothing=$((nothing_long - nothing_short)) \
        -v pairs=$((($5 - $4) * $3)) 'BEGIN { printf "%.1f\n", (calls - nothing) / pairs }'
}

above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'; }

budget=$(sed -n "s/.*at most \([0-9]*\) instructions on $machine.*/\1/p" "$root/lib/api/hot.h")
case $budget in
'' | *[!0-9]*) echo "lib/api/hot.h states no budget for $machine, or more than one"; exit 1 ;;
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

if [ "$budget" -gt $promised ]; then
    echo "hot.h allows $budget instructions, $promised were promised"
    verdict=1
fi
for size in 16 64 256 1000; do # the larger, the more samples fall on a pair
    case $size in 16 | 64) limit=$budget ;; *) limit=$promised ;; esac
    judge "$size bytes" "$(each "$library" $size 1 20000 220000)" "$limit"
done
judge "1000 blocks of 1 KiB" "$(each "$library" 1024 1000 50 250)" $in_turn
if [ $machine = x86-64 ]; then
    options=harden:on
    judge "64 bytes, hardened" "$(each "$library" 64 1 2000 22000)" 285
    judge "the same by new and delete" "$(each "$library" 64 1 2000 22000 operators)" 345
    judge "the same with two reallocs" "$(each "$library" 64 1 2000 22000 resized)" 870
    options=''
fi

glibc=$(each '' 64 1 20000 220000)
if above "$glibc" "$budget"; then
    echo "control: glibc takes $glibc, as it should be seen to"
else
    echo "control: glibc is counted with $glibc instructions only: the count is wrong"
    verdict=1
fi
exit $verdict
