/* SPDX-License-Identifier: MIT */
/*
 * helper of cpu_events.sh: what a program could notice of perf events that sample it.
 *
 *   cpu_events allowed   prints what the kernel lets this process sample: all, user or none
 *   cpu_events files     threads begin and end while files are opened: the first free number is
 *                        always 3. Prints how many events there were, in a forked child, and in a
 *                        program that it has become
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/cpu_time.h"

enum { BURN_MS = 120, THREADS = 4, TRIES = 50, FILES_MAX = 256 };

static int opens(int no_kernel)
{
    struct perf_event_attr wish = {.type = PERF_TYPE_SOFTWARE,
                                   .size = PERF_ATTR_SIZE_VER0,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .sample_period = 1000000,
                                   .exclude_kernel = no_kernel != 0,
                                   .exclude_hv = 1};
    int fd = (int)syscall(SYS_perf_event_open, &wish, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void burn(void)
{
    CPU_BURN((uint64_t)BURN_MS * 1000000, 1);
}

static void *run(void *argument)
{
    burn();
    return argument;
}

static void *open_files(void *stop)
{
    while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fd != 3) {
            printf("descriptor %d\n", fd);
            exit(1);
        }
        close(fd);
        usleep(50);
    }
    return NULL;
}

/* Mappings of events, and descriptors that are none of the three. */
static int events(void)
{
    char line[512];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (fgets(line, sizeof line, maps) != NULL)
        count += strstr(line, "[perf_event]") != NULL;
    fclose(maps);
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) != 3) {
        puts("a descriptor is open");
        exit(1);
    }
    close(3);
    return count;
}

static void files(const char *self)
{
    pthread_t threads[THREADS], opener;
    int stop = 0, max = 0;
    for (int fd = 3; fd < FILES_MAX; fd++) /* what the test was started with */
        close(fd);
    for (int turn = 0; turn < TRIES && max == 0; turn++) { /* a thread of memoir's opens them */
        burn();
        max = events();
    }
    pthread_create(&opener, NULL, open_files, &stop);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(opener, NULL);
    printf("events %s\n", max > 0 ? "some" : "none");
    fflush(stdout);
    if (fork() == 0) {
        unsetenv("MEMOIR");
        unsetenv("LD_PRELOAD");
        execl(self, self, "count", (char *)NULL);
        _exit(1);
    }
    wait(NULL);
    pid_t child = fork();
    if (child == 0) {
        printf("child %s\n", events() == 0 ? "none" : "some");
        burn();
        exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    if (strcmp(what, "allowed") == 0)
        puts(opens(0) ? "all" : opens(1) ? "user" : "none");
    else if (strcmp(what, "count") == 0)
        printf("exec %s\n", events() == 0 ? "none" : "some");
    else
        files(arguments[0]);
    return 0;
}
