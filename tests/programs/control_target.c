/* SPDX-License-Identifier: MIT */
/*
 * helper: a program to be controlled from outside, in a state that the first word names. It says
 * "ready" when it is in it, and ends by SIGTERM.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/attach_protocol.h"

static int ends[2];

static void ready(void)
{
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
}

static void *reader(void *nothing)
{
    char byte;
    ssize_t got = read(ends[0], &byte, 1);
    printf("read returned %zd\n", got);
    fflush(stdout);
    return nothing;
}

/* The main thread waits in a call that signals end for good, the other one in one that goes on. */
static void waiting(void)
{
    pthread_t thread;
    struct epoll_event event;
    int poll = epoll_create1(0);
    if (pipe(ends) != 0 || pthread_create(&thread, NULL, reader, NULL) != 0)
        exit(2);
    usleep(100000);
    ready();
    while (epoll_wait(poll, &event, 1, -1) < 0) {
        printf("interrupted\n");
        fflush(stdout);
    }
}

static void *worker(void *seed)
{
    void *blocks[64] = {0};
    unsigned random = (unsigned)(size_t)seed;
    for (;;) {
        random = random * 1103515245 + 12345;
        unsigned i = random >> 16 & 63;
        if (blocks[i] && *(unsigned char *)blocks[i] != i)
            abort();
        free(blocks[i]);
        blocks[i] = malloc(1 + (random >> 8) % 5000);
        *(unsigned char *)blocks[i] = (unsigned char)i;
    }
    return NULL;
}

static void busy(void)
{
    pthread_t thread;
    for (size_t i = 1; i <= 3; i++)
        if (pthread_create(&thread, NULL, worker, (void *)i) != 0)
            exit(2);
    ready();
    for (;;) { /* errno is the program's own, whatever a handler does */
        errno = 77;
        for (int i = 0; i < 1000; i++)
            if (errno != 77)
                abort();
    }
}

/* Forks again and again, while others allocate; every child allocates, too. */
static void forks(void)
{
    pthread_t thread;
    for (size_t i = 1; i <= 2; i++)
        if (pthread_create(&thread, NULL, worker, (void *)i) != 0)
            exit(2);
    ready();
    for (;;) {
        int status = 1;
        pid_t child = fork();
        if (child == 0) {
            void *volatile block = malloc(3000);
            free(block);
            _exit(0);
        }
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
        if (status != 0)
            abort();
    }
}

static void block_all(void)
{
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
}

static void deaf(void)
{
    pthread_t thread;
    block_all();
    if (pipe(ends) != 0 || pthread_create(&thread, NULL, reader, NULL) != 0)
        exit(2);
}

static void on_urgent(int signal)
{
    (void)signal;
}

/* Gives up root when a line comes through the pipe. */
static void drop(const char *path)
{
    char line[8];
    FILE *pipe = fopen(path, "r+");
    ready();
    if (pipe == NULL || fgets(line, sizeof line, pipe) == NULL || setgid(65534) != 0 ||
        setuid(65534) != 0)
        exit(2);
    printf("dropped\n");
    fflush(stdout);
}

/* Nobody but root may look into the process any more. */
static void become_closed(void)
{
    if (prctl(PR_SET_DUMPABLE, 0) != 0)
        exit(2);
}

/* The same, when a line comes through the pipe; a second line takes it back. */
static void close_later(const char *path)
{
    char line[8];
    FILE *pipe = fopen(path, "r+");
    ready();
    for (int dumpable = 0; pipe != NULL && fgets(line, sizeof line, pipe) != NULL;
         dumpable = !dumpable) {
        if (prctl(PR_SET_DUMPABLE, dumpable) != 0)
            exit(2);
        printf("%s\n", dumpable ? "open" : "closed");
        fflush(stdout);
    }
}

/* Asks for a user namespace when a line comes through the pipe, until it gets one. */
static void unshare_later(const char *path)
{
    char line[8];
    struct timespec from, now;
    if (mkfifo(path, 0600) != 0)
        exit(2);
    FILE *pipe = fopen(path, "r+");
    ready();
    if (pipe == NULL || fgets(line, sizeof line, pipe) == NULL)
        exit(2);
    clock_gettime(CLOCK_MONOTONIC, &from);
    while (unshare(CLONE_NEWUSER) != 0)
        usleep(10000);
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("unshared after %ld ms\n",
           (now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000);
    fflush(stdout);
}

/* Forbids its first thread something, when a line comes through the pipe. */
static void confine(const char *path)
{
    char line[8];
    struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {1, &all};
    FILE *pipe = fopen(path, "r+");
    ready();
    if (pipe == NULL || fgets(line, sizeof line, pipe) == NULL ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        exit(2);
    printf("confined\n");
    fflush(stdout);
}

/* A child that has its parent's memory until it is killed. */
static void vfork_and_wait(void)
{
    struct timespec rest = {60, 0};
    pid_t child = vfork();
    if (child == 0) {
        ready();
        while (nanosleep(&rest, &rest) != 0)
            continue;
        _exit(0);
    }
    waitpid(child, NULL, 0);
    printf("parent\n");
    fflush(stdout);
}

/* Becomes another program, which is the same, 20 times a second. */
static void execute(char **arguments)
{
    struct timespec rest = {0, 50000000};
    if (getenv("EXECUTED") == NULL)
        ready();
    setenv("EXECUTED", "1", 1);
    while (nanosleep(&rest, &rest) != 0)
        continue;
    execv(arguments[0], arguments);
    exit(2);
}

/* Ends when a line comes through the pipe. */
static void leave(const char *path)
{
    char line[8];
    FILE *pipe = fopen(path, "r+");
    ready();
    if (pipe == NULL || fgets(line, sizeof line, pipe) == NULL)
        exit(2);
    printf("leaving\n");
    fflush(stdout);
    exit(0);
}

/* Asks another process through its socket and says with which status it was answered. */
static int knock(const char *path)
{
    static const struct {
        unsigned magic, length;
        char line[5];
    } request = {ATTACH_REQUEST, 5, "stats"};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct attach_answer answer = {0};
    int channel = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (connect(channel, (struct sockaddr *)&address, sizeof address) != 0) {
        printf("can't connect: %s\n", strerror(errno));
        return 1;
    }
    send(channel, &request, 13, MSG_NOSIGNAL); /* the answer may come first */
    if (recv(channel, &answer, sizeof answer, 0) != sizeof answer || answer.magic != ATTACH_ANSWER)
        return 1;
    printf("status %d, %u bytes\n", answer.status, answer.length);
    return 0;
}

static bool file_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return ok;
}

/* The user becomes root of a user namespace, with a /tmp of its own; its child there asks it. */
static int asked_inside(bool closed)
{
    char text[64], users[64], groups[64];
    union sigval value = {.sival_int = ATTACH_VALUE};
    int status = 0;
    snprintf(users, sizeof users, "0 %d 1\n", (int)getuid());
    snprintf(groups, sizeof groups, "0 %d 1\n", (int)getgid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || !file_write("/proc/self/uid_map", users) ||
        !file_write("/proc/self/setgroups", "deny") || !file_write("/proc/self/gid_map", groups) ||
        mount("none", "/tmp", "tmpfs", 0, "mode=1777") != 0)
        return 77;
    if (closed)
        become_closed();
    pid_t parent = getpid(), child = fork();
    if (child > 0) {
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
        return WEXITSTATUS(status);
    }
    snprintf(text, sizeof text, "/tmp/memoir-0/%d.sock", (int)parent);
    for (int i = 0; i < 100 && access(text, F_OK) != 0; i++) {
        sigqueue(parent, ATTACH_SIGNAL, value);
        usleep(50000);
    }
    return knock(text);
}

int main(int argc, char **argv)
{
    const char *state = argc > 1 ? argv[1] : "idle";
    void *volatile block = malloc(1000);
    if (strcmp(state, "knock") == 0)
        return knock(argv[2]);
    if (strcmp(state, "asked-inside") == 0)
        return asked_inside(argc > 2);
    if (strcmp(state, "waiting") == 0)
        waiting();
    else if (strcmp(state, "busy") == 0)
        busy();
    else if (strcmp(state, "forks") == 0)
        forks();
    else if (strcmp(state, "deaf") == 0)
        deaf();
    else if (strcmp(state, "own") == 0 || strcmp(state, "own-busy") == 0)
        signal(SIGURG, on_urgent);
    else if (strcmp(state, "reset-busy") == 0)
        signal(SIGURG, SIG_DFL);
    else if (strcmp(state, "deaf-busy") == 0)
        block_all();
    else if (strcmp(state, "drop") == 0)
        drop(argv[2]);
    else if (strcmp(state, "close-later") == 0)
        close_later(argv[2]);
    else if (strcmp(state, "executes") == 0)
        execute(argv);
    else if (strcmp(state, "leave") == 0)
        leave(argv[2]);
    else if (strcmp(state, "confine") == 0)
        confine(argv[2]);
    else if (strcmp(state, "vfork") == 0)
        vfork_and_wait();
    else if (strcmp(state, "unshare") == 0)
        unshare_later(argv[2]);
    else if (strcmp(state, "closed") == 0 || strcmp(state, "closed-own-busy") == 0)
        become_closed();
    else if (strcmp(state, "fork") == 0 && fork() > 0)
        wait(NULL);
    if (strcmp(state, "closed-own-busy") == 0)
        signal(SIGURG, on_urgent);
    if (strstr(state, "-busy") != NULL)
        busy();
    if (strcmp(state, "drop") != 0)
        ready();
    for (;;)
        pause();
    free(block);
    return 0;
}
