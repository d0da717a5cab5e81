#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitized-too quick-too
#
# The answers of diff, leaks, sizes, churn, time, check and shell, to the letter, on real recordings:
# two versions of a small program that leaks, every block recorded. questions.txt has the commands
# (behind "$ ") and what they answer; questions.sh --write writes it anew. What depends on the
# clock is not compared: of churn and time only what does not.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
settle
set -e
export MEMOIR_TOOL TERM=dumb
expected=$root/tests/golden/questions.txt

mkdir v1 v2 dir
cat >v1/leaky.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *volatile keep[10000];
static int kept;
__attribute__((noinline)) static void leak_buffer(size_t size)
{
    keep[kept++] = malloc(size);
}
__attribute__((noinline)) static void handle(void)
{
    char *volatile scratch = malloc(100);
    leak_buffer(1000);
    free(scratch);
}
__attribute__((noinline)) static void init_tables(void)
{
    keep[kept++] = malloc(300000);
}
__attribute__((noinline)) static void cache(int i)
{
    static void *volatile slots[16];
    free(slots[i % 16]);
    slots[i % 16] = malloc(5000);
}
int main(int argc, char **argv)
{
    init_tables();
    for (int i = 0; i < 1000; i++) {
        handle();
        cache(i);
        if (argc > 1)
            usleep((useconds_t)atoi(argv[1]));
    }
    return 0;
}
END
# The second version: a line more above, larger buffers, a new place, and the tables are gone.
sed -e 's/^static int kept;/&\nstatic int shadows;/' -e 's/leak_buffer(1000)/leak_buffer(1500)/' \
    -e 's/malloc(300000)/malloc(10)/' -e 's/^int main/__attribute__((noinline)) static void shadow(void)\n{\n    if (shadows++ < 100)\n        keep[kept++] = malloc(2000);\n}\n&/' \
    -e 's/^        cache(i);/&\n        shadow();/' v1/leaky.c >v2/leaky.c
for v in v1 v2; do
    (cd $v && $CC -g -O1 -ffile-prefix-map="$PWD"=src leaky.c -o leaky)
    "$MEMOIR_TOOL" run --exact --lib "$MEMOIR_LIB" --output $v.memoir ./$v/leaky 2>run.log || {
        cat run.log
        exit 1
    }
done
"$MEMOIR_TOOL" run --exact --every 200ms --lib "$MEMOIR_LIB" --output long.memoir ./v1/leaky 1000 2>run.log
cp v1.memoir dir/a.memoir
cp v2.memoir dir/b.memoir
touch -d '2020-01-01' dir/a.memoir
printf '# places\n*leaky.c 2M\nhandle 1M\n^cache$ 1000 allocs\n' >budget
printf 'a 1\nb two\n' >broken

memoir() {
    "$MEMOIR_TOOL" "$@"
}

while IFS= read -r line; do
    case $line in
    '$ '*) ;;
    *) continue ;;
    esac
    printf '%s\n' "$line"
    status=0
    (eval "${line#??}") >out 2>err || status=$?
    sed 's/ ([0-9.]* [mµn]*s [-→]>* *[0-9.]* [mµn]*s)//; s/ ([0-9.]* [mµn]*s → [0-9.]* [mµn]*s)//' out
    sed 's/^/! /' err
    [ "$status" -eq 0 ] || echo "= $status"
done <"$expected" >answer

if [ "${1-}" = --write ]; then
    cp answer "$expected"
    exit 0
fi
diff -u "$expected" answer
