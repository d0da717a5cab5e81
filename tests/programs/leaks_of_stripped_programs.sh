#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated
# memoir leaks --suppress accepts the leaks that it found and no others, in a stripped program, too:
# code without a name is accepted by its place in the file.
. "$(dirname "$0")/common.sh"
need strip
settle
cat >source.c <<'C'
#include <stdlib.h>
static __attribute__((noinline)) void *one(void) { return (char *)malloc(1000) + 1; }
static __attribute__((noinline)) void *two(void) { return (char *)malloc(2000) + 2; }
void *volatile kept;
int main(int argc, char **argv)
{
    for (int i = 0; i < 10; i++)
        kept = argc > 1 ? two() : one();
    for (int i = 0; i < 10; i++)
        kept = one();
    kept = NULL;
    return 0;
}
C
build source.c -o program
strip program
for runs in first again; do
    MEMOIR=heap.rate:0,capture:$runs.memoir preload ./program
done
MEMOIR=heap.rate:0,capture:other.memoir preload ./program more

expect 0 "$MEMOIR_TOOL" leaks first.memoir --suppress >accepted
grep -q '^leak:^program+0x[0-9a-f]*\$$' accepted || fail "no place: $(cat accepted)"
! grep -q '^leak:program$' accepted || fail "all of the program: $(cat accepted)"
expect 0 "$MEMOIR_TOOL" leaks first.memoir --suppressions accepted >said
expect 0 "$MEMOIR_TOOL" leaks again.memoir --suppressions accepted >said
expect 1 "$MEMOIR_TOOL" leaks other.memoir --suppressions accepted >said
grep -q 'at 1 site ' said || fail "not one: $(cat said)"
"$MEMOIR_TOOL" leaks first.memoir --by line --suppress >lines
expect 0 "$MEMOIR_TOOL" leaks again.memoir --suppressions lines >said
finish
