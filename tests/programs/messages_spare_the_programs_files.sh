#!/bin/sh
# SPDX-License-Identifier: MIT
# Messages of the library never end up in a file or socket of the program that happens to have
# number 2, not even the last line before an abort; and they do arrive in a log that the program
# made its standard error.
. "$(dirname "$0")/common.sh"
settle
build "$root/tests/programs/messages_spare_the_programs_files.c" -o target

run() { # HOW WHAT: what arrived is in `file`
    rm -f file
    (
        ulimit -c 0
        if [ "$1" = first ]; then
            LD_PRELOAD=$MEMOIR_LIB ./target "$1" file "$2" 2>&-
        else
            LD_PRELOAD=$MEMOIR_LIB ./target "$1" file "$2" 2>errors
        fi
    ) >/dev/null 2>&1
    code=$?
    wanted=0
    [ "$2" != abort ] || wanted=134
    [ "$code" -eq "$wanted" ] || fail "$1 $2: exit code $code"
}

for what in dump abort; do
    for how in data output journal first socket captured3; do
        run $how $what
        [ "$what" = abort ] && [ "$how" = socket ] && continue
        [ -e file ] && [ ! -s file ] || fail "$how $what: the program's file has: $(cat file)"
    done
    for how in log daemon captured reopened; do
        run $how $what
        grep -q '^memoir: ' file || fail "$how $what: the message did not reach the log"
    done
    run same $what
    grep -q '^memoir: ' errors || fail "same $what: the message did not reach standard error"
done

# What the program asks for goes to descriptor 2 whatever that is, as with libc.
run output stats
grep -q '^memoir: process' file || fail "malloc_stats does not answer"

# The statistics of the end go to a duplicate; its number may be the program's by then.
cat >taken.c <<'END'
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    int file = open("file", O_RDWR | O_CREAT, 0600);
    for (int fd = 190; fd < 260; fd++)
        if (dup2(file, fd) != fd)
            return 2;
    return 0;
}
END
build taken.c -o taken
rm -f file
MEMOIR=stats:on LD_PRELOAD=$MEMOIR_LIB ./taken 2>errors || fail "taken: exit code $?"
[ ! -s file ] || fail "the statistics are in the program's file"
grep -q '^memoir: process' errors || fail "the statistics are lost"
finish
