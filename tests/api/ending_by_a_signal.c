/* SPDX-License-Identifier: MIT */ /* static-too linked-only */
/*
 * A program with a capture that is ended by a signal: its status is the signal's, its capture is
 * complete, and what it sees of its signals is what it would see without the library. Static
 * programs have no last snapshot; everything else holds for them as well.
 */
#define _GNU_SOURCE
#include "tests/api/check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

const char *memoir_conf = "capture:ending.memoir, heap.rate:4K";

typedef void handler(int number);
CHECK_WEAK handler *__sysv_signal(int number, handler *value);
CHECK_WEAK handler *bsd_signal(int number, handler *value);

static const int ending[] = {SIGHUP, SIGINT, SIGTERM};
static volatile sig_atomic_t seen;

static void on_signal(int number)
{
    seen = number;
}

static handler *now(int number)
{
    struct sigaction action;
    sigaction(number, NULL, &action);
    return action.sa_handler;
}

static void allocate_some(void)
{
    for (int i = 0; i < 100; i++)
        opaque_ptr(malloc(10000));
}

/* Whether the process left a capture that goes to its end: the last record is of the type 12, and
 * its length, 4 bytes later, fits. */
static int is_complete(pid_t pid)
{
    enum { HEAD = 12, LEAST = 13, MOST = 22 };
    char name[64];
    unsigned char tail[MOST] = {0};
    snprintf(name, sizeof name, "ending-%d.memoir", (int)pid);
    int fd = open(name, O_RDONLY);
    if (fd < 0)
        return 0;
    off_t size = lseek(fd, 0, SEEK_END);
    ssize_t got = pread(fd, tail, sizeof tail, size - MOST);
    close(fd);
    unlink(name);
    for (int length = LEAST; got == MOST && length <= MOST; length++)
        if (tail[MOST - length] == 12 && tail[MOST - length + 4] == length - HEAD &&
            tail[MOST - length + 1] == 0 && tail[MOST - length + 5] == 0)
            return 1;
    return 0;
}

static int is_static(void)
{
    return getauxval(AT_BASE) == 0;
}

static void by_raise(int number)
{
    raise(number);
}

static void after_a_handler(int number)
{
    handler *(*const setters[])(int, handler *) = {signal, bsd_signal, __sysv_signal, sigset};
    for (size_t i = 0; i < sizeof setters / sizeof *setters; i++) {
        if (setters[i] == NULL)
            continue;
        seen = 0;
        CHECK(now(number) == SIG_DFL);
        CHECK(setters[i](number, on_signal) == SIG_DFL);
        CHECK(now(number) == on_signal);
        raise(number);
        CHECK_EQ(seen, number);
        handler *left = now(number); /* of glibc's __sysv_signal a handler is good for once */
        CHECK(left == on_signal || setters[i] == __sysv_signal);
        CHECK(setters[i](number, SIG_IGN) == left);
        raise(number);
        CHECK(setters[i](number, SIG_DFL) == SIG_IGN);
        CHECK(setters[i](number, SIG_DFL) == SIG_DFL);
    }
    struct sigaction plain = {0}, own = {0}, before;
    own.sa_handler = on_signal;
    own.sa_flags = SA_NODEFER;
    CHECK(sigaction(number, &own, &before) == 0 && before.sa_handler == SIG_DFL);
    CHECK(sigaction(number, &plain, &before) == 0 && before.sa_handler == on_signal);
    CHECK(before.sa_flags & SA_NODEFER);
    CHECK(sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL);
    CHECK(!(before.sa_flags & SA_ONSTACK) && !sigismember(&before.sa_mask, SIGUSR1));
    if (check_failures == 0)
        raise(number);
}

static void after_waiting(int number)
{
    sigset_t one;
    int got = 0;
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_BLOCK, &one, NULL);
    raise(number);
    CHECK(sigwait(&one, &got) == 0 && got == number);
    int fd = signalfd(-1, &one, SFD_CLOEXEC);
    raise(number);
    struct signalfd_siginfo info = {0};
    CHECK(read(fd, &info, sizeof info) == sizeof info && info.ssi_signo == (unsigned)number);
    raise(number);
    if (check_failures == 0)
        sigprocmask(SIG_UNBLOCK, &one, NULL);
}

static void *allocate_always(void *unused)
{
    for (;;) {
        void *large = malloc(100000), *small = malloc(100);
        free(opaque_ptr(large));
        free(opaque_ptr(small));
    }
    return unused;
}

static void among_threads(int number)
{
    pthread_t thread;
    sigset_t one;
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, allocate_always, NULL);
    usleep(20000);
    sigemptyset(&one);
    sigaddset(&one, number);
    pthread_sigmask(SIG_BLOCK, &one, NULL); /* so that one of them gets it, inside malloc */
    kill(getpid(), number);
    kill(getpid(), number); /* of the same cause: it does not spoil the snapshot */
    for (;;)
        pause();
}

static void by_a_grandchild(int number)
{
    int status = 0;
    pid_t child = vfork();
    if (child == 0) {
        raise(number);
        _exit(5);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == number);
    CHECK(now(number) == SIG_DFL);
    char name[64];
    snprintf(name, sizeof name, "ending-%d.memoir", (int)child);
    CHECK(access(name, F_OK) != 0);
    if (check_failures == 0)
        raise(number);
}

static const struct {
    const char *name;
    void (*run)(int number);
    int times;
} ways[] = {
    {"raise", by_raise, 1},
    {"after a handler", after_a_handler, 1},
    {"after waiting", after_waiting, 1},
    {"among threads", among_threads, 10},
    {"after a child of vfork", by_a_grandchild, 1},
};

/* What the child does; it should not return. */
static void end_it(size_t way, int number)
{
    check_failures = 0;
    allocate_some();
    ways[way].run(number);
    _exit(check_failures == 0 ? 3 : 4);
}

/* The command that starts a program here, or NULL if it starts by itself. */
static const char *emulator(void)
{
    const char *command = getenv("MEMOIR_EMULATOR");
    return command != NULL && *command != '\0' ? command : NULL;
}

static void ends_by(const char *program, size_t way, int number)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0 && emulator() != NULL) {
        /* qemu fails an assertion of its own in forked children that start threads. */
        char line[1024];
        snprintf(line, sizeof line, "exec %s %s %zu %d", emulator(), program, way, number);
        execl("/bin/sh", "sh", "-c", line, NULL);
        _exit(5);
    }
    if (child == 0)
        end_it(way, number);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_AT(WIFSIGNALED(status) && WTERMSIG(status) == number, "%s: %d, status %#x",
             ways[way].name, number, (unsigned)status);
    CHECK_AT(is_static() || is_complete(child), "%s: %d has a complete capture", ways[way].name,
             number);
}

int main(int count, char **words)
{
    alarm(100);
    if (count > 2)
        end_it((size_t)atoi(words[1]), atoi(words[2]));
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
            for (int times = 0; times < (emulator() ? 1 : ways[way].times); times++)
                ends_by(words[0], way, ending[i]);
    unlink("ending.memoir");
    return check_result();
}
