/* SPDX-License-Identifier: MIT */
/*
 * helper: built by profiler_calls_agree.sh. Prints what the functions of gperftools' CPU profiler
 * answer and which files they write; with "switch", what its switch of CPUPROFILESIGNAL does.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/stat.h>

#include "memoir/compat/gperftools/profiler.h"

#pragma weak ProfilerStart
#pragma weak ProfilerStartWithOptions
#pragma weak ProfilerStop
#pragma weak ProfilerFlush
#pragma weak ProfilerEnable
#pragma weak ProfilerDisable
#pragma weak ProfilerRegisterThread
#pragma weak ProfilerGetCurrentState
#pragma weak ProfilingIsEnabledForAllThreads

static void burn(int ms)
{
    struct timespec now;
    long from = 0, us;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        us = now.tv_sec * 1000000 + now.tv_nsec / 1000;
        from = from == 0 ? us : from;
    } while (us - from < ms * 1000L);
}

static void tell(const char *when)
{
    struct ProfilerState state;
    memset(&state, 1, sizeof state);
    ProfilerGetCurrentState(&state);
    bool now = time(NULL) - state.start_time <= 60;
    printf("%s: enabled %d, for all threads %d, '%s', started %s, samples %s\n", when,
           state.enabled, ProfilingIsEnabledForAllThreads(), state.profile_name,
           state.start_time == 0 ? "never"
           : now                 ? "now"
                                 : "long ago",
           state.samples_gathered == 0  ? "none"
           : state.samples_gathered > 0 ? "some"
                                        : "wrong");
}

static void is_there(const char *path)
{
    struct stat about;
    printf("%s %s\n", path, stat(path, &about) != 0 ? "is not there" : "is there");
}

static int asked, asked_in_vain, refuses_all;
static pthread_t refused;

static int choose(void *argument)
{
    asked += argument == &asked;
    return !refuses_all && !pthread_equal(pthread_self(), refused);
}

static int choose_in_vain(void *argument)
{
    (void)argument;
    asked_in_vain++;
    return 1;
}

static void *work(void *unused)
{
    ProfilerRegisterThread();
    burn(200);
    return unused;
}

static void filters(void)
{
    struct ProfilerOptions options = {choose, &asked}, others = {choose_in_vain, NULL};
    struct ProfilerState state;
    pthread_t thread;
    refused = pthread_self();
    printf("with a filter %d\n", ProfilerStartWithOptions("filtered.prof", &options) != 0);
    printf("with another %d\n", ProfilerStartWithOptions("other.prof", &others));
    burn(200);
    tell("refused thread");
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    ProfilerGetCurrentState(&state);
    ProfilerStop();
    printf("other thread: %s\n", state.samples_gathered >= 10 && state.samples_gathered <= 30
                                     ? "its samples"
                                     : "not its samples");
    printf("asked %d, in vain %d\n", asked > 0, asked_in_vain);
    others.filter_in_thread = NULL;
    printf("without one %d\n", ProfilerStartWithOptions("other.prof", &others) != 0);
    burn(100);
    tell("without a filter");
    ProfilerStop();
}

static void calls(void)
{
    tell("before");
    ProfilerStop();
    ProfilerFlush();
    printf("start %d\n", ProfilerStart("a.prof") != 0);
    tell("started");
    printf("again %d\n", ProfilerStart("b.prof"));
    is_there("b.prof");
    ProfilerDisable();
    burn(200);
    ProfilerEnable();
    tell("running");
    if (mkdir("elsewhere", 0700) != 0 || chdir("elsewhere") != 0)
        return;
    ProfilerFlush();
    is_there("a.prof");
    ProfilerStop();
    is_there("a.prof");
    is_there("../a.prof");
    tell("stopped");
    ProfilerStop();
    printf("start %d\n", ProfilerStart("../c.prof") != 0);
    tell("started anew");
    ProfilerStop();
    is_there("../c.prof");
    printf("no folder %d\n", ProfilerStart("missing/d.prof"));
    tell("not started");
    if (chdir("..") == 0)
        filters();
}

/* Two signals at once, then two with work between them, the last one at the end. */
static void switches(void)
{
    raise(SIGUSR2);
    raise(SIGUSR2);
    raise(SIGUSR2);
    burn(200);
    raise(SIGUSR2);
}

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "switch") == 0)
        switches();
    else
        calls();
    fflush(stdout);
    return 0;
}
