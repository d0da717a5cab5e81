#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Other tools answer the same questions of the same files in the same way: go tool pprof's
# -diff_base, what heaptrack_print says has leaked and was the peak, and valgrind's suppressions.
set -eu
root=${MEMOIR_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
tool=${MEMOIR_TOOL:-$root/build/memoir}
lib=${MEMOIR_LIB:-$root/build/libmemoir.so}
cc=${CC:-cc}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
unset MEMOIR LD_PRELOAD NO_COLOR CLICOLOR_FORCE
export LC_ALL=C HOME="$scratch" XDG_CACHE_HOME="$scratch/cache"
failed=0 asked=0

cat >leaky.c <<'END'
#include <stdlib.h>
static void *volatile keep[10000];
static int kept;
__attribute__((noinline)) static void grows(size_t size)
{
    keep[kept++] = malloc(size);
}
__attribute__((noinline)) static void shrinks(size_t size)
{
    keep[kept++] = malloc(size);
}
int main(int argc, char **argv)
{
    int more = argc > 1 ? atoi(argv[1]) : 0;
    void *volatile peak = malloc(400000);
    for (int i = 0; i < 100 + more; i++)
        grows(1000);
    for (int i = 0; i < 200 - more; i++)
        shrinks(2000);
    free(peak);
    return 0;
}
END
$cc -g -O1 leaky.c -o leaky

# The same change of each function, in bytes.
if go version >/dev/null 2>&1; then
    asked=1
    for n in 0 50; do
        "$tool" run --exact --lib "$lib" --output $n.memoir ./leaky $n 2>/dev/null
        "$tool" export $n.memoir -o $n.pb.gz 2>/dev/null
    done
    go tool pprof -top -unit=B -diff_base 0.pb.gz 50.pb.gz 2>/dev/null |
        sed -n 's/^ *\(-*[0-9]*\)B .* \([a-z]*\)$/\2 \1/p' | grep -E '^(grows|shrinks) ' | sort >theirs
    "$tool" diff 0.memoir 50.memoir --by function --csv |
        sed -n 's/^[0-9]*,[0-9]*,\(-*[0-9]*\),.*,\(grows\|shrinks\),.*/\2 \1/p' | sort >ours
    [ "$(wc -l <ours)" -eq 2 ] || { echo "not two changes:"; cat ours; failed=1; }
    diff theirs ours || failed=1
fi

if heaptrack --version >/dev/null 2>&1 && heaptrack -o track ./leaky >/dev/null 2>&1; then
    asked=1
    track=$(echo track.*)
    heaptrack_print -f "$track" 2>/dev/null |
        sed -n 's/^total memory leaked: //p; s/^peak heap memory consumption: //p' >theirs
    "$tool" leaks "$track" --json >leaks.json || true
    leaked=$(sed -n 's/.*"\(leaked\|suppressed\)_bytes": \([0-9]*\).*/\2/p' leaks.json | paste -sd+)
    peak=$("$tool" check "$track" --max-peak 1G --json | sed -n 's/.*"after": \([0-9]*\).*/\1/p')
    # As it writes them: 684.47K, in thousands.
    awk "BEGIN { printf \"%.2fK\n%.2fK\n\", $peak / 1000, ($leaked) / 1000 }" >ours
    diff theirs ours || failed=1
fi

# Temporary blocks of each function, which heaptrack counts instead of ages.
cat >passing.c <<'END'
#include <stdlib.h>
static void *volatile keep[100];
__attribute__((noinline)) static void passing(void)
{
    void *volatile block = malloc(300);
    free(block);
}
__attribute__((noinline)) static void staying(int i)
{
    free(keep[i % 100]);
    keep[i % 100] = malloc(500);
}
int main(void)
{
    for (int i = 0; i < 2000; i++) {
        passing();
        staying(i);
    }
    return 0;
}
END
$cc -g -O1 passing.c -o passing
if heaptrack --version >/dev/null 2>&1 && heaptrack -o passed ./passing >/dev/null 2>&1; then
    asked=1
    track=$(echo passed.*)
    theirs=$(heaptrack_print -f "$track" 2>/dev/null | grep -B1 '^passing' |
        sed -n 's/^\([0-9]*\) temporary allocations.*/\1/p')
    "$tool" churn "$track" --csv >churn.csv
    ours=$(sed -n 's/^\([0-9]*\),600000,.*,passing,.*/\1/p' churn.csv)
    [ "$theirs" = 2000 ] && [ "$ours" = 2000 ] || { echo "temporary: $theirs, here $ours"; failed=1; }
    [ "$(wc -l <churn.csv)" -eq 2 ] || { cat churn.csv; failed=1; }
    "$tool" churn "$track" >churn.txt
    grep -q 'temporary: 51 % of 3.90 K blocks' churn.txt || { cat churn.txt; failed=1; }
fi
# What valgrind finds and writes suppressions for, they suppress here; the half of them, that half.
if valgrind --version >/dev/null 2>&1; then
    asked=1
    "$tool" run --exact --lib "$lib" --output valgrind.memoir ./leaky 2>/dev/null
    valgrind --leak-check=full --show-leak-kinds=all --gen-suppressions=all ./leaky 2>&1 |
        grep -v '^==' >all.supp
    grep -q 'fun:grows' all.supp && grep -q 'fun:malloc' all.supp || { echo "valgrind wrote no suppressions"; failed=1; }
    "$tool" leaks valgrind.memoir --suppressions all.supp >out || { echo "leaks in spite of valgrind's lines:"; cat out; failed=1; }
    awk '/^{/ { block = "" } { block = block $0 "\n" } /^}/ && block ~ /fun:grows/ { printf "%s", block }' all.supp >half.supp
    "$tool" leaks valgrind.memoir --suppressions half.supp >out && { echo "no leaks any more:"; cat out; failed=1; }
    grep -q shrinks out && ! grep -q grows out || { echo "the wrong half is suppressed:"; cat out; failed=1; }
fi
[ "$asked" -eq 1 ] || exit 77
exit "$failed"
