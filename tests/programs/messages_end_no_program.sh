#!/bin/sh
# SPDX-License-Identifier: MIT
# A line of the library on a standard error that nobody reads any longer, or on a log that may not
# grow, does not end the program: it gets neither SIGPIPE nor SIGXFSZ. Its own writes still do.
. "$(dirname "$0")/common.sh"
settle
cat >broken.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <fcntl.h>

/* broken pipe|socket|file PRELOAD COMMAND...: starts it with such a standard error. */
int main(int count, char **args)
{
    int ends[2] = {-1, -1};
    struct rlimit none = {0, 0};
    if (count < 4)
        return 2;
    if (strcmp(args[1], "pipe") == 0 && pipe(ends) != 0)
        return 2;
    if (strcmp(args[1], "socket") == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return 2;
    if (strcmp(args[1], "file") == 0) {
        ends[1] = open("log", O_WRONLY | O_CREAT | O_APPEND, 0600);
        setrlimit(RLIMIT_FSIZE, &none);
    }
    close(ends[0]);
    dup2(ends[1], 2);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    setenv("LD_PRELOAD", args[2], 1);
    execv(args[3], args + 3);
    return 2;
}
END
cat >target.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **args)
{
    (void)args;
    free(malloc(100));
    return count > 1 && write(2, "x", 1) != 1;
}
END
build broken.c -o broken
build target.c -o target
for kind in pipe socket file; do
    for options in stats:on verbose:on hepa:on; do
        MEMOIR=$options ./broken $kind "$MEMOIR_LIB" ./target
        code=$?
        [ $code -eq 0 ] || fail "$kind, $options: exit code $code"
    done
    CPUPROFILE_REALTIME=1 ./broken $kind "$MEMOIR_LIB" ./target
    code=$?
    [ $code -eq 0 ] || fail "$kind, a variable that is not served: exit code $code"
    (ulimit -c 0; ./broken $kind "$MEMOIR_LIB" ./target writes) 2>/dev/null
    [ $? -gt 128 ] || fail "$kind: the program's own write does not end it"
done
finish
