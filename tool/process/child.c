/* SPDX-License-Identifier: MIT */
/*
 * See tool/process/child.h. All signals are taken one by one while the child runs. Those that a
 * process sent to us were meant for the child; those of the terminal went to both of us already.
 * One that ended the child may come to us once more (timeout sends it to the process and to its
 * group), when the summary is not printed yet: what comes that soon is left out.
 */
#include "tool/process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tool/memory/memory.h"
#include "tool/process/descendant.h"

static bool child_start(struct child *child, char **words, const char *path, bool detached,
                        struct error *error);
static void child_become(const struct child *child, char **words, bool detached,
                         const struct sigaction *ended, int report);
static void child_wait(struct child *child);

enum { ECHO_MS = 250 }; /* a signal this soon after the program's end was sent to both of us */
static uint64_t ended_ms;

static uint64_t now_ms(void);
static bool ends_take(struct child *child);
static void echoes_skip(void);
static void on_echo(int number);

bool child_not_started(const char *path, int reason, struct error *error)
{
    error_set(error, reason == ENOENT ? ERROR_NOT_FOUND : ERROR_NOT_EXECUTABLE,
              "%s can't be started: %s", path, strerror(reason));
    if (reason == ENOENT)
        return error_hint(error, "its interpreter or loader is missing; see: file %s", path);
    return false;
}

bool child_run(struct child *child, char **words, const char *path, struct error *error)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (!child_start(child, words, path, false, error))
        return false;
    child_wait(child);
    child->time_ms = now_ms() - child->start_ms;
    if (WIFSIGNALED(child->status))
        echoes_skip();
    return true;
}

static bool child_start(struct child *child, char **words, const char *path, bool detached,
                        struct error *error)
{
    struct sigaction plain = {.sa_handler = SIG_DFL}, ended;
    sigset_t all;
    int report[2], reason = 0;

    memset(child, 0, sizeof *child);
    if (pipe2(report, O_CLOEXEC) != 0) {
        error_set(error, ERROR_INPUT, "can't create a pipe: %s", strerror(errno));
        return error_hint(error, "raise the limit of open files (ulimit -n), or close some");
    }
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &child->before);
    sigaction(SIGCHLD, &plain, &ended);
    child->start_ms = now_ms();
    child->pid = fork();
    if (child->pid == 0)
        child_become(child, words, detached, &ended, report[1]);
    int failure = errno;
    close(report[1]);
    ssize_t got = child->pid < 0 ? -1 : read(report[0], &reason, sizeof reason);
    close(report[0]);
    if (child->pid > 0 && got != (ssize_t)sizeof reason)
        return true;
    if (child->pid > 0)
        waitpid(child->pid, NULL, 0);
    child_release(child);
    return child->pid < 0
               ? error_set(error, ERROR_INPUT, "can't create a process: %s", strerror(failure))
               : child_not_started(path, reason, error);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void child_become(const struct child *child, char **words, bool detached,
                         const struct sigaction *ended, int report)
{
    int input = detached ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    if (detached)
        setsid();
    if (input >= 0)
        dup2(input, STDIN_FILENO);
    sigaction(SIGCHLD, ended, NULL);
    sigprocmask(SIG_SETMASK, &child->before, NULL);
    execvp(words[0], words); /* and not its path: a script without #! needs the shell */
    int reason = errno;
    ssize_t wrote = write(report, &reason, sizeof reason);
    _exit(wrote > 0 ? 127 : 126);
}

static void child_wait(struct child *child)
{
    sigset_t all;
    sigfillset(&all);
    while (!ends_take(child)) {
        siginfo_t info;
        int signal = sigwaitinfo(&all, &info);
        if (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)
            kill(getpid(), SIGSTOP); /* the child has stopped as well, or will not */
        /* Of a terminal that is gone the kernel tells the leader of the session alone. */
        bool ours = info.si_code <= 0 || (signal == SIGHUP && getsid(0) == getpid());
        if (signal > 0 && signal != SIGCHLD && ours)
            kill(child->pid, signal);
    }
}

/* Takes the ends of our children, those that the program left to us among them. False: the program
 * itself still runs. */
static bool ends_take(struct child *child)
{
    struct rusage usage = {0};
    int status;
    pid_t got;
    bool ended = false;
    while ((got = wait4(-1, &status, WNOHANG, &usage)) > 0) {
        if (got == child->pid) {
            child->status = status;
            child->rss_peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
            ended = true;
        } else if (list_reserve(&child->ends, &child->ends_room, child->ends_count + 1,
                                sizeof *child->ends)) {
            child->ends[child->ends_count++] = (struct child_end){got, status};
        }
    }
    return ended || (got < 0 && errno == ECHILD);
}

static void echoes_skip(void)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM};
    struct sigaction skip = {.sa_handler = on_echo, .sa_flags = SA_RESTART}, now;
    ended_ms = now_ms();
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(signals[i], &skip, NULL);
}

static void on_echo(int number)
{
    int kept = errno;
    if (now_ms() - ended_ms > ECHO_MS) {
        struct sigaction plain = {.sa_handler = SIG_DFL};
        sigaction(number, &plain, NULL);
        raise(number);
    }
    errno = kept;
}

bool child_detach(struct child *child, char **words, const char *path, struct error *error)
{
    if (!child_start(child, words, path, true, error))
        return false;
    child_release(child);
    return true;
}

/* No process with the library is left, at first at *alone_ms (0: now). One that was killed with the
 * child may have no memory any more and still its recorder file: a GiB takes 0.1 s or more. */
static bool is_worth_waiting(uint64_t *alone_ms)
{
    enum { END_MS = 10000 };
    *alone_ms = *alone_ms == 0 ? now_ms() : *alone_ms;
    return now_ms() - *alone_ms < END_MS && descendant_is_exiting();
}

bool child_follow(struct child *child, void (*announce)(void *context, pid_t pid), void *context)
{
    enum {
        STEP_MS = 10,    /* between two looks: most descendants end with the program, */
        MOMENT_MS = 500, /* those that live for longer than this are announced, */
        LOOK_MS = 1000,  /* and then looked at this often */
        START_MS = 2000, /* within which a program must have loaded the library */
    };
    struct timespec step = {0, STEP_MS * 1000000L};
    uint64_t from_ms = now_ms(), seen_ms = from_ms, alone_ms = 0;
    bool announced = false, starting;
    pid_t pid = 0;
    sigset_t all;
    sigfillset(&all);
    for (;;) {
        ends_take(child);
        pid = descendant_with_library(pid, &starting);
        if (pid > 0) {
            seen_ms = now_ms();
            alone_ms = 0;
        } else if ((!starting || now_ms() - seen_ms >= START_MS) && !is_worth_waiting(&alone_ms)) {
            break;
        }
        if (pid > 0 && !announced && now_ms() - from_ms >= MOMENT_MS) {
            announced = true;
            step = (struct timespec){LOOK_MS / 1000, 0};
            child->time_ms = 0;
            announce(context, pid);
        }
        siginfo_t info;
        int signal = sigtimedwait(&all, &info, &step);
        if (signal <= 0 || signal == SIGCHLD || pid == 0 || now_ms() - ended_ms <= ECHO_MS)
            continue;
        if (info.si_code <= 0 && pid > 0)
            kill(pid, signal);
        else if (signal == SIGINT || signal == SIGHUP || signal == SIGQUIT)
            return false;
        else if (signal == SIGTSTP)
            kill(getpid(), SIGSTOP);
    }
    ends_take(child); /* of one that ended since the last time */
    if (announced)
        child->time_ms = now_ms() - child->start_ms;
    return true;
}

bool child_end_of(const struct child *child, pid_t pid, int *status)
{
    *status = child->status;
    for (size_t i = child->ends_count; pid != child->pid && i > 0; i--) {
        *status = child->ends[i - 1].status;
        if (child->ends[i - 1].pid == pid) /* the last one with this number */
            return true;
    }
    return pid == child->pid;
}

void child_release(const struct child *child)
{
    sigprocmask(SIG_SETMASK, &child->before, NULL);
}

_Noreturn void child_end_alike(const struct child *child)
{
    if (WIFSIGNALED(child->status)) {
        struct rlimit none = {0, 0};
        struct sigaction plain = {.sa_handler = SIG_DFL};
        sigset_t one;
        setrlimit(RLIMIT_CORE, &none); /* the core of the child is enough */
        sigemptyset(&one);
        sigaddset(&one, WTERMSIG(child->status));
        sigaction(WTERMSIG(child->status), &plain, NULL);
        kill(getpid(), WTERMSIG(child->status));
        sigprocmask(SIG_UNBLOCK, &one, NULL);
        _exit(128 + WTERMSIG(child->status));
    }
    exit(WEXITSTATUS(child->status));
}
