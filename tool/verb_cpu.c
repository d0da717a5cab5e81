/* SPDX-License-Identifier: MIT */
/*
 * `memoir cpu PID`: has the library in a process take samples of its time for a while, brings them
 * as a file, and shows the functions with the most, as `memoir top` does. A process that was
 * sampled before goes on with it, at its own rate: what it has gathered is not ours to forget.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/attach_protocol.h"
#include "tool/command/command.h"
#include "tool/process/process.h"
#include "tool/profile/read/read.h"
#include "tool/suggest.h"
#include "tool/terminal/terminal.h"
#include "tool/verb_ctl.h"

enum { USUAL_MS = 10000 /* 1,000 samples at 100 Hz */, STEP_MS = 100 };

struct sampling {
    const struct arguments *arguments;
    struct process process;
    uint64_t duration_ms;
    const char *format;
    char path[PATH_MAX];
    char name[64]; /* of the program */
    bool before;   /* it was sampled before */
    bool wall;     /* all time, waiting included */
    struct error *error;
};

static bool flags_read(struct sampling *sampling);
static bool sampling_begin(struct sampling *sampling);
static bool sampling_wait(const struct sampling *sampling);
static bool samples_fetch(const struct sampling *sampling);
static void sampling_end(const struct sampling *sampling);
static bool top_show(const struct sampling *sampling);

bool verb_cpu(const struct arguments *arguments, struct error *error)
{
    struct sampling sampling = {.arguments = arguments, .error = error};
    if (!flags_read(&sampling) || !sampling_begin(&sampling))
        return false;
    bool ok = sampling_wait(&sampling) && samples_fetch(&sampling);
    sampling_end(&sampling);
    return ok && top_show(&sampling);
}

/* "server-20261117-013000-4242-cpu.memoir", in this folder. */
static void path_make(struct sampling *sampling)
{
    char when[32];
    time_t now = time(NULL);
    struct tm tm;
    strftime(when, sizeof when, "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
    snprintf(sampling->path, sizeof sampling->path, "%.64s-%s-%d-cpu.memoir", sampling->name, when,
             sampling->process.pid);
}

static bool flags_read(struct sampling *sampling)
{
    const struct arguments *arguments = sampling->arguments;
    struct error *error = sampling->error;
    const char *duration = arguments_value(arguments, FLAG_DURATION);
    const char *rate = arguments_value(arguments, FLAG_RATE_HZ);
    const char *output = arguments_value(arguments, FLAG_OUTPUT);
    if (arguments->operands[1])
        return error_set(error, ERROR_USAGE, "cpu does not take '%s'", arguments->operands[1]);
    if (!ctl_process(arguments->operands[0], &sampling->process, error))
        return false;
    const char *command = sampling->process.command;
    size_t length = strcspn(command, " ");
    while (length > 0 && memchr(command, '/', length)) {
        length--;
        command++;
    }
    snprintf(sampling->name, sizeof sampling->name, "%.*s", (int)length, command);
    sampling->duration_ms = USUAL_MS;
    if (duration && (!read_time(duration, &sampling->duration_ms) || sampling->duration_ms == 0))
        return error_set(error, ERROR_USAGE, "--duration can't be '%s'; accepted: 10s, 500ms, 2m",
                         duration);
    if (rate && (strtoul(rate, NULL, 10) < 1 || strtoul(rate, NULL, 10) > 10000))
        return error_set(error, ERROR_USAGE, "--rate-hz can't be '%s'; accepted: 1 to 10000", rate);
    sampling->format = "memoir";
    if (output && (name_ends_in(output, ".pb.gz") || name_ends_in(output, ".pb")))
        sampling->format = "pprof";
    else if (output && name_ends_in(output, ".prof"))
        sampling->format = "gperftools";
    else if (output && !name_ends_in(output, ".memoir")) {
        error_set(error, ERROR_USAGE, "%s: the samples are written as .memoir, .pb.gz or .prof",
                  output);
        return error_hint(error,
                          "memoir cpu %d -o FILE.memoir, then memoir export FILE.memoir -o %s",
                          sampling->process.pid, output);
    }
    if (output)
        snprintf(sampling->path, sizeof sampling->path, "%s", output);
    else
        path_make(sampling);
    return true;
}

/* One line to the process; its answer is not wanted, unless there is a place for it. */
static bool ask(const struct sampling *sampling, const char *line, int fd, char **answer)
{
    char *own = NULL;
    bool ok = attach_ask(&sampling->process, line, fd, answer ? answer : &own, sampling->error);
    free(own);
    return ok;
}

static bool fact_is(const char *answer, const char *key, const char *value)
{
    const char *fact = attach_fact(answer, key);
    size_t length = strlen(value);
    return fact != NULL && strcspn(fact, "\n") == length && strncmp(fact, value, length) == 0;
}

static bool sampling_begin(struct sampling *sampling)
{
    const char *rate = arguments_value(sampling->arguments, FLAG_RATE_HZ);
    char *answer = NULL, line[ATTACH_LINE_MAX];
    if (!ask(sampling, "cpu", -1, &answer)) {
        free(answer);
        if (sampling->error->code == ATTACH_NO_VERB)
            return error_hint(sampling->error, "its libmemoir.so has no CPU profiler: start it "
                                               "with a newer one");
        return false;
    }
    sampling->before = fact_is(answer, "cpu", "on");
    sampling->wall = sampling->before ? fact_is(answer, "cpu.clock", "wall")
                                      : arguments_value(sampling->arguments, FLAG_WALL) != NULL;
    free(answer);
    if (sampling->before) {
        terminal_warn("process %d is sampled already: the file has all since it began",
                      sampling->process.pid);
        return true;
    }
    snprintf(line, sizeof line, "cpu start%s%s", rate ? " " : "", rate ? rate : "");
    return ask(sampling, sampling->wall ? "set cpu.clock=wall" : "set cpu.clock=cpu", -1, NULL) &&
           ask(sampling, "cpu reset", -1, NULL) && ask(sampling, line, -1, NULL);
}

static volatile sig_atomic_t interrupted;

static void interrupt_note(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* Until the time is over, or Ctrl-C. False: the process has ended. */
static bool sampling_wait(const struct sampling *sampling)
{
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
    struct sigaction action = {.sa_handler = interrupt_note}, before;
    struct timespec start, now;
    uint64_t passed_ms = 0;
    bool lives = true;
    sigaction(SIGINT, &action, &before);
    clock_gettime(CLOCK_MONOTONIC, &start);
    progress_start("sampling", sampling->name);
    while (passed_ms < sampling->duration_ms && !interrupted && lives) {
        uint64_t left = sampling->duration_ms - passed_ms;
        struct timespec rest = {.tv_nsec = (long)left * 1000000};
        nanosleep(left < STEP_MS ? &rest : &step, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
        passed_ms = (uint64_t)((now.tv_sec - start.tv_sec) * 1000 +
                               (now.tv_nsec - start.tv_nsec) / 1000000);
        progress_update(sampling->name, passed_ms, sampling->duration_ms);
        lives = kill(sampling->process.pid, 0) == 0 || errno != ESRCH;
    }
    progress_end();
    sigaction(SIGINT, &before, NULL);
    if (lives)
        return true;
    error_set(sampling->error, ERROR_TARGET, "process %d has ended, and its samples are lost",
              sampling->process.pid);
    return error_hint(sampling->error, "memoir run --cpu -- ./program   records a whole run");
}

static bool samples_fetch(const struct sampling *sampling)
{
    char line[32];
    int fd = -1;
    if (!ctl_file(sampling->path, 0, &fd, sampling->error))
        return false;
    snprintf(line, sizeof line, "cpu dump %s", sampling->format);
    bool ok = ask(sampling, line, fd, NULL);
    if (close(fd) != 0 && ok)
        ok = error_set(sampling->error, ERROR_INPUT, "%s: %s", sampling->path, strerror(errno));
    if (!ok)
        unlink(sampling->path);
    return ok;
}

/* As it was before. What goes wrong here is no error of the answer. */
static void sampling_end(const struct sampling *sampling)
{
    struct error unsaid = {0};
    struct sampling quiet = *sampling;
    quiet.error = &unsaid;
    if (sampling->before)
        return;
    ask(&quiet, "cpu stop", -1, NULL);
    ask(&quiet, "cpu reset", -1, NULL);
}

static bool top_show(const struct sampling *sampling)
{
    const char *rows = arguments_value(sampling->arguments, FLAG_ROWS);
    const struct metric *metric = &metrics[sampling->wall ? METRIC_WALL : METRIC_CPU];
    char *words[] = {(char *)sampling->path, (char *)commands_flag_name(FLAG_METRIC),
                     (char *)metric->word,   rows ? (char *)commands_flag_name(FLAG_ROWS) : NULL,
                     (char *)rows,           NULL};
    struct arguments arguments = {0};
    char file[PATH_MAX + 64], next[PATH_MAX + 128];
    bool ok = arguments_parse(&arguments, &commands[COMMAND_TOP], words, sampling->error) &&
              arguments.command->run(&arguments, sampling->error);
    arguments_free(&arguments);
    if (!ok)
        return false;
    terminal_warn("the samples are in %s", sampling->path);
    snprintf(next, sizeof next, "memoir export %s -o flame.svg",
             suggest_quoted(file, sizeof file, sampling->path));
    terminal_next(next);
    return true;
}
