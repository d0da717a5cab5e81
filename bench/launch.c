/* SPDX-License-Identifier: MIT */
/*
 * Runs one command and writes what it cost: the stop-watch of bench/run.
 *
 *     launch FILE [NAME=VALUE ...] COMMAND [ARGUMENT ...]
 *
 * It exists because the kernel carries the peak memory of the process that forks into the child
 * (`ru_maxrss` survives exec), so a child started by an interpreter of 20 MB never shows less.
 * This program is small and, where libc.a is there, static. The numbers are those of the command
 * and of all children it waited for; peak memory is that of the largest of them.
 *
 * FILE receives one line: exit status, wall ns, user us, system us, peak KiB, minor and major
 * faults, first-level and last-level cache misses outside of the kernel (-1 where there is no such
 * counter, as on most virtual machines). SIGTERM is passed on to the command; if this program
 * dies, so does the command.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    l1_read_misses = PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_READ << 8 |
                     PERF_COUNT_HW_CACHE_RESULT_MISS << 16
};

static volatile pid_t command_pid;

/* In a signal handler: kill(2) only. */
static void command_end(int number)
{
    if (command_pid > 0)
        kill(command_pid, number);
}

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static long long micros(struct timeval time)
{
    return time.tv_sec * 1000000ll + time.tv_usec;
}

/* Counts nothing here: the child inherits the counter, and its exec switches it on. */
static int counter_open(uint32_t type, uint64_t config)
{
    struct perf_event_attr attr = {.type = type, .size = sizeof attr, .config = config};
    attr.disabled = attr.inherit = attr.enable_on_exec = 1;
    attr.exclude_kernel = attr.exclude_hv = 1;
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static long long counter_read(int fd)
{
    uint64_t count;
    return fd >= 0 && read(fd, &count, sizeof count) == sizeof count ? (long long)count : -1;
}

static void command_exec(char **argv, int first)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 2; i < first; i++)
        putenv(argv[i]);
    execvp(argv[first], argv + first);
    fprintf(stderr, "launch: cannot run %s: %s\n", argv[first], strerror(errno));
    _exit(127);
}

int main(int argc, char **argv)
{
    int first = 2;
    while (first < argc && strchr(argv[first], '=') != NULL)
        first++;
    if (first >= argc) {
        fputs("usage: launch FILE [NAME=VALUE ...] COMMAND [ARGUMENT ...]\n", stderr);
        return 2;
    }
    FILE *out = fopen(argv[1], "we");
    if (out == NULL) {
        fprintf(stderr, "launch: cannot write %s: %s\n", argv[1], strerror(errno));
        return 2;
    }
    int l1 = counter_open(PERF_TYPE_HW_CACHE, l1_read_misses);
    int llc = counter_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES);
    signal(SIGTERM, command_end);
    long long start = now_ns();
    pid_t pid = fork();
    if (pid == 0)
        command_exec(argv, first);
    command_pid = pid;
    int status = 0;
    struct rusage usage;
    while (wait4(pid, &status, 0, &usage) < 0)
        if (errno != EINTR)
            return 2;
    long long wall = now_ns() - start;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    fprintf(out, "%d %lld %lld %lld %ld %ld %ld %lld %lld\n", code, wall, micros(usage.ru_utime),
            micros(usage.ru_stime), usage.ru_maxrss, usage.ru_minflt, usage.ru_majflt,
            counter_read(l1), counter_read(llc));
    fclose(out);
    return code;
}
