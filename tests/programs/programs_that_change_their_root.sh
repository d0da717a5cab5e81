#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that `memoir run` starts and that change their root folder (chroot), then fork, as daemons
# do: the folder of the recording can't be reached any more, and each of the first children that record
# something, one in 16 of the limit on descriptors, has its recording all the same. No descriptor of a folder is left in them, by which
# they could leave their root, and nothing of the recording stays behind.
. "$(dirname "$0")/common.sh"
: "${MEMOIR_TOOL:?}"
[ "$(id -u)" -eq 0 ] || skip "only root can change its root folder"
need python3
open_place
cat >"$place/leaves.c" <<'END'
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile last;
__attribute__((noinline)) void *keep_some(size_t size)
{
    return last = memset(malloc(size), 1, size);
}
static void work(char end)
{
    for (int i = 0; i < 100; i++)
        keep_some(10000);
    usleep(30000);
    for (int i = 0; i < 100; i++)
        keep_some(10000);
    if (end == 'k')
        raise(SIGKILL);
    if (end == '_')
        _exit(0);
    exit(0);
}
static int open_folders(void)
{
    struct stat found;
    int folders = 0;
    for (int fd = 0; fd < 1024; fd++)
        folders += fstat(fd, &found) == 0 && S_ISDIR(found.st_mode);
    return folders;
}
static int open_files(void)
{
    int files = 0;
    for (int fd = 0; fd < 1024; fd++)
        files += fcntl(fd, F_GETFD) >= 0;
    return files;
}
static int open_low(void)
{
    int low = 0;
    for (int fd = 0; fd < 200; fd++)
        low += fcntl(fd, F_GETFD) >= 0;
    return low;
}
/* WORDS: ROOT HOW END CHILDREN. */
int main(int count, char **words)
{
    char how = words[2][0];
    int before = open_files(), low = open_low();
    (void)count;
    keep_some(1000);
    if (how == 'b') { /* there is no such folder */
        if (chroot("/no/such/folder") == 0)
            return 2;
        printf("more files: %d\n", open_files() - before);
    } else if (chroot(words[1]) != 0 || chdir("/") != 0) {
        return 2;
    }
    printf("folders: %d\nlow: %d\n", open_folders(), open_low() - low);
    fflush(stdout);
    if (how == 'u' && (setgid(65534) != 0 || setuid(65534) != 0))
        return 2;
    if (how == 'd') { /* a daemon */
        if (fork() != 0)
            _exit(0);
        setsid();
        if (fork() != 0)
            _exit(0);
    }
    for (int i = 0; i < atoi(words[4]); i++)
        if (fork() == 0)
            work(words[3][0]);
    while (wait(NULL) > 0)
        ;
    if (how == 'd')
        work(words[3][0]);
    return 0;
}
END
build "$place/leaves.c" -o "$place/leaves"
settle
mkdir root
shelves() { # of this test
    grep -l "^folder:$place/" /dev/shm/memoir-0-*/about 2>/dev/null
}
tries() { # HOW END CHILDREN RECORDINGS
    what="$*"
    rm -rf kept
    mkdir -m 700 kept
    timeout 60 "$MEMOIR_TOOL" run --exact -o "$place/kept" ./leaves "$place/root" "$1" "$2" "$3" >out 2>errors ||
        fail "$what: exit code $?: $(cat out errors)"
    [ "$(find kept -name '*.memoir' | wc -l)" -eq "$4" ] || fail "$what: $(find kept; cat errors)"
    grep -qx 'folders: 0' out && grep -qx 'low: 0' out || fail "$what: $(cat out)"
    [ -z "$(shelves)" ] && [ -z "$(find . -name '.memoir-*')" ] || fail "$what: left $(shelves; find . -name '.memoir-*')"
    # A child has what its parent recorded until the fork, and 200 blocks of its own.
    for file in kept/*.memoir; do
        "$MEMOIR_TOOL" top --json "$file" 2>/dev/null |
            python3 -c 'import json, sys
print(sum(row["self_objects"] for row in json.load(sys.stdin)["rows"] if row["name"] == "keep_some"))'
    done | sort | uniq -c | tr -s ' \n' ' ' >counts
    expected=' 1 1 '
    [ "$4" -eq 1 ] || expected="$expected$(($4 - 1)) 201 "
    [ "$(cat counts)" = "$expected" ] || fail "$what: $(cat counts)"
}
says_nothing() {
    ! grep '^memoir: no ' errors >said || fail "$what: $(cat said)"
}
for end in k _ e; do
    tries f $end 3 4
    says_nothing
done
tries d k 0 2
says_nothing
tries d e 2 4
says_nothing
tries u k 2 3
says_nothing
(
    ulimit -n 1024
    tries f k 30 31
    says_nothing
    exit "$failures"
) || failures=1
# More than there are files for: one message each.
(
    ulimit -n 250
    tries f k 18 16
    [ "$(grep -c '^memoir: no recorder file' errors)" -eq 3 ] || fail "$what: $(cat errors)"
    exit "$failures"
) || failures=1
# Descriptors that the program itself may need are left to it.
(
    ulimit -n 20
    tries f k 1 1
    exit "$failures"
) || failures=1
# A call that fails leaves nothing open.
tries b k 1 2
grep -qx 'more files: 0' out || fail "$what: $(cat out)"
says_nothing
finish
