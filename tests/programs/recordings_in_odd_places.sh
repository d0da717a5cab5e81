#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=600
# The recorder file where little is allowed: a full /dev/shm and one of 64 MB, also for children with
# threads, a limit on the size of files, a read-only folder, chroot, workers that drop root (nginx's, too) or are killed at once, vfork,
# Go with cgo and its ends, libraries that were unloaded. The program does what it would do without us; what fits is recorded; what does
# not is one message.
. "$(dirname "$0")/common.sh"
need python3
: "${MEMOIR_TOOL:?}"
open_place
cp "$(readlink -f "$MEMOIR_LIB")" "$place/libmemoir.so"
chmod 755 "$place/libmemoir.so"
library=$place/libmemoir.so
cat >"$place/odd.c" <<'END'
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void *volatile last;
__attribute__((noinline)) void *keep_some(size_t size)
{
    return last = memset(malloc(size), 1, size);
}
/* Two to the power of `depth` stacks. */
__attribute__((noinline)) void many(int depth, size_t size)
{
    if (depth == 0) {
        keep_some(size);
        return;
    }
    many(depth - 1, size);
    __asm__ volatile("" ::: "memory");
    many(depth - 1, size);
    __asm__ volatile("" ::: "memory");
}
static void end(void)
{
    raise(SIGKILL);
}
static void wait_in(const char *call)
{
    struct timespec hour = {3600, 0};
    struct epoll_event event;
    sigset_t none;
    sigemptyset(&none);
    if (strcmp(call, "sigsuspend") == 0)
        sigsuspend(&none);
    else if (strcmp(call, "epoll_wait") == 0)
        epoll_wait(epoll_create1(0), &event, 1, -1);
    else if (strcmp(call, "epoll_pwait") == 0)
        epoll_pwait(epoll_create1(0), &event, 1, -1, NULL);
    else if (strcmp(call, "poll") == 0)
        poll(NULL, 0, -1);
    else if (strcmp(call, "ppoll") == 0)
        ppoll(NULL, 0, NULL, NULL);
    else if (strcmp(call, "select") == 0)
        select(0, NULL, NULL, NULL, NULL);
    else if (strcmp(call, "pselect") == 0)
        pselect(0, NULL, NULL, NULL, NULL, NULL);
    else if (strcmp(call, "nanosleep") == 0)
        nanosleep(&hour, NULL);
    else if (strcmp(call, "clock_nanosleep") == 0)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, NULL);
    else if (strcmp(call, "sleep") == 0)
        sleep(3600);
    else if (strcmp(call, "sigwaitinfo") == 0)
        sigwaitinfo(&none, NULL);
    else
        pause();
}
static volatile int over;
static void *churn(void *unused)
{
    for (unsigned i = 0; !over; i++)
        free(keep_some(16 + i * 37 % 3000));
    return unused;
}
int main(int count, char **words)
{
    pid_t child;
    (void)count;
    switch (words[1][0]) {
    case 'm': /* many stacks, then an end in order */
        many(atoi(words[2]), 16);
        puts("done");
        return 0;
    case 'c':
        keep_some(100000);
        if (chroot(words[2]) != 0 || chdir("/") != 0)
            return 2;
        keep_some(200000);
        end();
    case 'w': /* a worker that drops root */
        for (int i = 0; i < 10; i++)
            keep_some(1000);
        if (fork() != 0) {
            wait(NULL);
            return 0;
        }
        if (setgid(65534) != 0 || setuid(65534) != 0)
            return 2;
        for (int i = 0; i < 100; i++) {
            keep_some(10000);
            usleep(1000);
        }
        end();
    case 'd': {
        void *library = dlopen(words[2], RTLD_NOW);
        void *(*take)(size_t) = (void *(*)(size_t))dlsym(library, "take_in_library");
        for (int i = 0; i < 50; i++)
            last = take(3000);
        dlclose(library);
        keep_some(100);
        end();
    }
    case 'q': /* a worker that allocates at once and is killed while it sleeps */
        if ((child = fork()) == 0) {
            for (int i = 0; i < 300; i++)
                keep_some(10000);
            for (;;)
                pause();
        }
        usleep(500000);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        end();
    case 'i': /* a daemon that allocates little at once, or nothing, and is killed in its first sleep */
    case 'j': /* no daemon: in its first one after 20 ms */
    case 'l': /* no daemon: in one that began before */
    case 'k': /* a daemon that was forked twice */
        if ((child = fork()) == 0) {
            if (words[1][0] != 'j' && words[1][0] != 'l')
                setsid();
            if (words[1][0] == 'k') {
                if ((child = fork()) != 0) {
                    printf("%d\n", child);
                    exit(0);
                }
                while (getppid() == getsid(0))
                    usleep(100);
            }
            for (int i = 0; i < atoi(words[3]); i++)
                keep_some(1000);
            if (words[1][0] == 'j')
                usleep(30000);
            for (;;)
                wait_in(words[2]);
        }
        usleep(300000);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        end();
    case 'v': /* a child that shares the memory, and allocates in it; one that starts a program */
        if (vfork() == 0) {
            keep_some(300000);
            _exit(0);
        }
        if (vfork() == 0) {
            execl(words[0], words[0], "m", "4", NULL);
            _exit(9);
        }
        while (wait(NULL) > 0)
            ;
        keep_some(500000);
        end();
    case 'f': /* children whose threads allocate while their file is made */
        for (int i = 0, status; i < atoi(words[2]); i++) {
            if (fork() == 0) {
                pthread_t threads[8];
                for (int k = 0; k < 8; k++)
                    pthread_create(&threads[k], NULL, churn, NULL);
                usleep(60000);
                over = 1;
                for (int k = 0; k < 8; k++)
                    pthread_join(threads[k], NULL);
                _exit(0);
            }
            if (wait(&status) < 0 || status != 0)
                return 4;
        }
        puts("done");
        return 0;
    case 'r': /* a rise, and sleep; a fall, and sleep */
        last = malloc(100 << 20);
        usleep(50000);
        if (words[1][1] == 'f') {
            free(last);
            usleep(50000);
        }
        end();
    }
    return 3;
}
END
build "$place/odd.c" -o "$place/odd"
chmod 755 "$place/odd"
settle
run() { # OPTIONS WORDS...
    options=$1
    shift
    MEMOIR=$options LD_PRELOAD=$library ./odd "$@" >out 2>errors
}
names() { # FILE NAME
    "$MEMOIR_TOOL" top --json "$1" 2>message | grep -q "\"name\": \"$2\"" ||
        fail "$what: no $2 in $1: $(cat errors message)"
}

what='a rise and a fall'
run recorder:$place/state r
"$MEMOIR_TOOL" report state 2>/dev/null | grep -Eq '^ +peak 100 MiB .* last seen 100 MiB' ||
    fail "$what: $("$MEMOIR_TOOL" report state 2>&1 | head -5)"
rm -f state
run recorder:$place/state rf
"$MEMOIR_TOOL" report state 2>/dev/null | grep -Eq '^ +peak 100 MiB .* last seen [0-9.]+ K?i?B' ||
    fail "$what: $("$MEMOIR_TOOL" report state 2>&1 | head -5)"
rm -f state

what='unloaded'
cat >library.c <<'END'
#include <stdlib.h>
__attribute__((noinline)) void *take_in_library(size_t size)
{
    void *block = malloc(size);
    __asm__ volatile("" ::"r"(block) : "memory");
    return block;
}
END
build -fPIC -shared library.c -o library.so
run recorder:$place/state,heap.rate:0 d ./library.so
names state take_in_library
rm -f state

for rate in 0 512K; do
    what="a worker that is killed soon, rate $rate"
    run recorder:$place/state,heap.rate:$rate q
    set -- state-*
    [ -e "$1" ] && "$MEMOIR_TOOL" report "$1" 2>/dev/null | grep -Eq '^ +peak [23]\.[0-9]+ MiB ' ||
        fail "$what: $(ls; cat errors)"
    quiet errors
    rm -f state*
done

for call in sigsuspend epoll_wait epoll_pwait poll ppoll select pselect nanosleep clock_nanosleep sleep sigwaitinfo pause; do
    for count in 50 0; do
        what="a daemon that allocates $count blocks and is killed in $call"
        run recorder:$place/state,heap.rate:0 i $call $count
        set -- state-*
        [ -e "$1" ] && "$MEMOIR_TOOL" report --json "$1" 2>/dev/null | grep -q "\"allocations\": $count," ||
            fail "$what: $(ls; cat errors)"
        quiet errors
        rm -f state*
    done
done

what="a daemon that was forked twice"
run recorder:$place/state,heap.rate:0 k pause 50
kill -KILL "$(cat out)"
[ -e "state-$(cat out)" ] || fail "$what: $(ls; cat out errors)"
rm -f state*

for call in sigsuspend epoll_wait epoll_pwait poll ppoll select pselect nanosleep clock_nanosleep sleep sigwaitinfo pause; do
    what="a child that is no daemon, allocates little and is killed in its first $call"
    run recorder:$place/state,heap.rate:0 l $call 50
    set -- state-*
    [ -e "$1" ] && "$MEMOIR_TOOL" report --json "$1" 2>/dev/null | grep -q '"allocations": 50,' ||
        fail "$what: $(ls; cat errors)"
    quiet errors
    rm -f state*
done

what="a child that allocates little and is killed in its second sleep"
run recorder:$place/state,heap.rate:0 j pause 50
set -- state-*
[ -e "$1" ] && "$MEMOIR_TOOL" report --json "$1" 2>/dev/null | grep -q '"allocations": 50,' ||
    fail "$what: $(ls; cat errors)"
rm -f state*

what="a child that records nothing and is no daemon"
run recorder:$place/state,heap.rate:0 j pause 0
[ "$(echo state*)" = state ] || fail "$what: $(ls)"
rm -f state*

what='vfork'
run recorder:$place/state,heap.rate:0 v
"$MEMOIR_TOOL" report --json state 2>message | grep -q '"allocations": 2,' || fail "$what: $(cat message errors)"
[ "$(find . -name 'state*' | wc -l)" -eq 2 ] || fail "$what: $(ls)"
[ "$(cat out)" = done ] || fail "$what: $(cat out errors)"
quiet errors
rm -f state*

what='a limit on the size of files'
(
    ulimit -f 2048
    run recorder:$place/state,heap.rate:0,heap.memory:1G m 14
) || fail "$what: exit code $?"
[ "$(cat out)" = done ] || fail "$what: $(cat out errors)"
[ "$(grep -c '^memoir: ' errors)" -eq 1 ] && grep -q 'ulimit -f' errors || fail "$what: said $(cat errors)"
"$MEMOIR_TOOL" top state >out 2>&1 || fail "$what: $(cat out)"
grep -q 'was full' out || fail "$what: $(cat out)"
rm -f state

if command -v go >/dev/null 2>&1 && [ "${MEMOIR_TEST_GO-yes}" = yes ]; then
    what='Go'
    mkdir go
    cat >go/main.go <<'END'
package main

// #include <stdlib.h>
// #include <string.h>
// __attribute__((noinline)) static void *from_c(size_t size) { return memset(malloc(size), 1, size); }
import "C"
import (
	"os"
	"syscall"
)

func work(done chan bool) {
	for i := 0; i < 25; i++ {
		C.from_c(10000)
	}
	done <- true
}

func main() {
	done := make(chan bool)
	for i := 0; i < 4; i++ {
		go work(done)
	}
	for i := 0; i < 4; i++ {
		<-done
	}
	switch os.Args[1] {
	case "exit":
		os.Exit(7)
	case "panic":
		go panic("told to")
		<-done
	case "fault":
		var nothing *int
		*nothing = 1
	case "kill":
		syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	case "group":
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 9, 0, 0)
	}
}
END
    if (cd go && GO111MODULE=off GOFLAGS= GOCACHE="$place/gocache" HOME="$place" CGO_ENABLED=1 \
        nice go build -o ../with_go main.go) >out 2>&1; then
        while read -r how code; do
            MEMOIR=recorder:$place/state,heap.rate:0 LD_PRELOAD=$library ./with_go "$how" 2>errors
            [ $? -eq "$code" ] || fail "$what, $how: exit code"
            quiet errors
            "$MEMOIR_TOOL" top --json state >report 2>message || fail "$what, $how: $(cat message)"
            tr -d '\n' <report | grep -Eq '"name": "from_c",[^}]*"self_objects": 100,' ||
                fail "$what, $how: $(grep -A 8 from_c report)"
            rm -f state*
        done <<'END'
exit 7
panic 2
fault 2
kill 137
group 9
return 0
END
    else
        echo "Go can't build with cgo here: $(tail -1 out)"
    fi
    rm -f state*
fi

[ "$(id -u)" -eq 0 ] || finish
what='a folder that is read-only'
mkdir shut
chmod 755 shut
command -v setpriv >/dev/null &&
    setpriv --reuid=65534 --regid=65534 --clear-groups env MEMOIR="recorder:$place/shut/state" \
        LD_PRELOAD="$library" ./odd m 4 >out 2>errors
[ "$(cat out)" = done ] && [ "$(grep -c '^memoir: no recorder file' errors)" -eq 1 ] ||
    fail "$what: $(cat out errors)"

what='chroot'
mkdir root
run recorder:$place/state,heap.rate:0 c "$place/root"
names state keep_some
quiet errors
rm -f state

what='a worker that drops root'
mkdir -m 700 private
run recorder:$place/private/state,capture:$place/private/run.memoir,heap.rate:0 w
worker=$(find private -name 'state-*')
[ -n "$worker" ] || fail "$what: no file: $(ls private; cat errors)"
[ -z "$worker" ] || names "$worker" keep_some
quiet errors
rm -rf private
mkdir -m 700 runs
(cd runs && "$MEMOIR_TOOL" run --exact -o "$place/runs" ../odd w) 2>errors
[ "$(find runs -name '*.memoir' | wc -l)" -eq 2 ] || fail "$what, memoir run: $(find runs; cat errors)"

what='killed, under a limit on files'
(ulimit -f 8 && "$MEMOIR_TOOL" run -o nothing.memoir sh -c 'kill -9 $$') 2>errors
grep -q 'no recorder file.*ulimit -f' errors && grep -q 'its message says why' errors ||
    fail "$what: $(cat errors)"

if unshare -m true 2>/dev/null; then
    what='killed, with /dev/shm full'
    cat >full.sh <<'END'
mount -t tmpfs -o size=16k none /dev/shm || exit 77
"$1" run -o nothing.memoir sh -c 'kill -9 $$' 2>errors
END
    unshare -m sh full.sh "$MEMOIR_TOOL"
    [ $? -eq 77 ] || grep -q 'ended before its first snapshot, and had no recorder file' errors ||
        fail "$what: $(cat errors)"
    for size in 512k 64m; do
        what="/dev/shm of $size"
        cat >inside.sh <<'END'
mount -t tmpfs -o size=$1 none /dev/shm || exit 77
MEMOIR=recorder:/dev/shm/state,heap.rate:0,heap.memory:1G LD_PRELOAD=$2 ./odd m $3 >out 2>errors || exit 1
[ ! -e /dev/shm/state ] || "$4" top /dev/shm/state >top 2>&1 || exit 2
END
        case $size in
        512k) depth=12 ;;
        *) depth=18 ;;
        esac
        unshare -m sh inside.sh $size "$library" $depth "$MEMOIR_TOOL"
        code=$?
        [ $code -eq 77 ] && continue
        [ $code -eq 0 ] && [ "$(cat out)" = done ] || fail "$what: $code: $(cat out errors top)"
        [ "$(grep -c '^memoir: ' errors)" -eq 1 ] && grep -q 'make space\|make room' errors ||
            fail "$what: said $(cat errors)"
    done
    for size in 328k 384k 584k; do
        what="children with threads, /dev/shm of $size"
        cat >children.sh <<'END'
mount -t tmpfs -o size=$1 none /dev/shm || exit 77
MEMOIR=recorder:/dev/shm/state LD_PRELOAD=$2 ./odd f 40 >out 2>errors
END
        unshare -m sh children.sh $size "$library"
        code=$?
        [ $code -eq 77 ] && continue
        [ $code -eq 0 ] && [ "$(cat out)" = done ] || fail "$what: $code: $(cat out; sort errors | uniq -c)"
        [ "$(grep -c '^memoir: ' errors)" -le 41 ] || fail "$what: said $(cat errors)"
    done
fi

PATH=$PATH:/usr/sbin
if command -v nginx >/dev/null && id www-data >/dev/null 2>&1; then
    what=nginx
    port=$(python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    mkdir nginx
    cat >nginx/conf <<END
user www-data;
daemon off;
worker_processes 1;
pid $place/nginx/pid;
error_log $place/nginx/errors;
events { worker_connections 64; }
http { access_log off; client_body_temp_path $place/nginx/body; proxy_temp_path $place/nginx/proxy;
  fastcgi_temp_path $place/nginx/f; uwsgi_temp_path $place/nginx/u; scgi_temp_path $place/nginx/s;
  server { listen 127.0.0.1:$port; location / { return 200 "yes"; } } }
END
    mkdir -m 700 served
    MEMOIR=heap.rate:1K "$MEMOIR_TOOL" run --lib "$library" -o "$place/served" nginx -c "$place/nginx/conf" 2>errors &
    runs=$!
    for _ in $(seq 100); do
        python3 -c "import urllib.request
for i in range(200): urllib.request.urlopen('http://127.0.0.1:$port/').read()" 2>/dev/null && break
        sleep 0.1
    done
    worker=$(pgrep -P "$(cat nginx/pid)")
    kill -STOP "$(cat nginx/pid)" # it would start another worker
    kill -9 "$worker" "$(cat nginx/pid)"
    wait $runs
    [ -n "$(find served -name "*$worker*.memoir")" ] || [ "$(find served -name '*.memoir' | wc -l)" -ge 2 ] ||
        fail "$what: no recording of the worker $worker: $(find served; cat errors)"
    found=$(find served -name "*$worker*.memoir")
    [ -z "$found" ] || "$MEMOIR_TOOL" top "$found" 2>&1 | grep -q ngx_ || fail "$what: $("$MEMOIR_TOOL" top "$found" 2>&1 | head -8)"
    ! grep -q '^memoir: no ' errors || fail "$what: $(cat errors)"
fi
finish
