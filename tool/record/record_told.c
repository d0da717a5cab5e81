/* SPDX-License-Identifier: MIT */
/*
 * See tool/record/record_told.h. All of it goes to standard error, since standard output is the
 * program's: one line on the command and how it ended, the largest process if there were several,
 * the page of tool/report, and the file with what can be asked of it.
 */
#include "tool/record/record_told.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/print.h"
#include "tool/process/process.h"
#include "tool/record/summary.h"
#include "tool/terminal/terminal.h"

static void head_print(const struct record *record, const struct child *child,
                       const struct summary *summary, int64_t time_ns);
static void background_print(const struct record *record, const struct child *child,
                             const struct summary *summary);
static void end_print(FILE *out, int status);

void told_print(const struct record *record, const struct child *child,
                const struct largest *largest)
{
    struct summary *summary = largest->summary;
    const char *command = summary_command(summary);
    bool alone = largest->count == 1 && summary_pid(summary) == child->pid;
    bool later = largest_has_later(largest);
    /* One recording has one duration, here and when its file is read. */
    int64_t time_ns = alone ? summary_duration_ns(summary) : -1;
    head_print(record, child, summary, time_ns >= 0 ? time_ns : (int64_t)child->time_ms * 1000000);
    if (!alone) {
        if (largest->count > 1)
            fprintf(stderr, "    the largest of %zu processes", largest->count);
        else
            fputs("    a process that it started", stderr);
        fprintf(stderr, ", %ld: ", (long)summary_pid(summary));
        told_command(stderr, command);
        int status;
        if (summary_pid(summary) != child->pid &&
            child_end_of(child, (pid_t)summary_pid(summary), &status))
            end_print(stderr, status);
        fputc('\n', stderr);
    }
    background_print(record, child, summary);
    if (later) {
        fputs("    as it was before it became another program (exec): ", stderr);
        told_command(stderr, command);
        fputc('\n', stderr);
    }
    /* The kernel's peak RSS is that of the largest process, whichever that was. */
    summary_print(summary, record->rows, later ? 0 : child->time_ms,
                  alone ? child->rss_peak_bytes : 0, record->suppressions);
}

/* Programs that set their own title leave empty words at the end. */
void told_command(FILE *out, const char *command)
{
    size_t length = strlen(command);
    enum { TEXT_MAX = 60 };
    char text[TEXT_MAX];
    while (length > 3 && memcmp(command + length - 3, " ''", 3) == 0)
        length -= 3;
    size_t shown = length < TEXT_MAX ? length : TEXT_MAX;
    memcpy(text, command, shown);
    for (size_t i = 0; i < shown; i++)
        if (text[i] == '\n')
            text[i] = ' ';
    terminal_clean(text, shown);
    fprintf(out, "%.*s%s", (int)shown, text, length > TEXT_MAX ? "..." : "");
}

/* A daemon that did nothing has no recording of its own; how it ended is known. */
static void background_print(const struct record *record, const struct child *child,
                             const struct summary *summary)
{
    int status;
    if (record->background == 0 || record->background == summary_pid(summary) ||
        !child_end_of(child, record->background, &status))
        return;
    fprintf(stderr, "    process %d, in the background:", (int)record->background);
    end_print(stderr, status);
    fputc('\n', stderr);
}

/* "   exit 0". */
static void end_print(FILE *out, int status)
{
    if (WIFSIGNALED(status))
        fprintf(out, "   ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        fprintf(out, "   exit %d", WEXITSTATUS(status));
}

static void head_print(const struct record *record, const struct child *child,
                       const struct summary *summary, int64_t time_ns)
{
    char time[32], rate[32];
    FILE *out = wrap_errors();
    fprintf(out, "%smemoir:%s ", terminal_error_colors() ? "\033[1m" : "",
            terminal_error_colors() ? "\033[0m" : "");
    told_command(out, record->about.command);
    if (child->unseen)
        fputs(summary_ended(summary) ? "   exited normally" : "   killed, or ended by _exit", out);
    else
        end_print(out, child->status);
    if (!child->unseen && WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGKILL &&
        oom_kills() > record->oom_before)
        fputs(", out of memory", out);
    if (time_ns > 0)
        fprintf(out, "   %s", style_time(time, time_ns));
    if (summary_rate(summary) > 0) {
        struct print print;
        print_start(&print, rate, sizeof rate);
        print_size(&print, (uint64_t)summary_rate(summary));
        fprintf(out, "   recorded 1 in %s\n", print_string(&print));
    } else {
        fprintf(out, "   %s\n",
                summary_rate(summary) == 0 ? "recorded every block" : "recorded no blocks");
    }
    wrap_end(out);
}

void told_nothing(const struct record *record, const struct child *child)
{
    char path[2 * PATH_MAX];
    struct stat begun;
    snprintf(path, sizeof path, "%s/%s", record->about.inside, RECORD_CAPTURE);
    if (stat(path, &begun) == 0 && begun.st_size == 0)
        terminal_warn("nothing was recorded: the file could not be written; choose another "
                      "with --output");
    else if (stat(path, &begun) == 0) /* the library was there */
        terminal_warn(
            "nothing was recorded: the program ended before its first snapshot, and had no "
            "recorder file; its message says why (a full /dev/shm, ulimit -f)");
    else if (!child->unseen && WIFSIGNALED(child->status))
        terminal_warn("nothing was recorded: the program was ended by signal %d (%s) before "
                      "libmemoir.so was loaded, or runs without it; memoir doctor %s says why",
                      WTERMSIG(child->status), strsignal(WTERMSIG(child->status)),
                      record->about.program);
    else
        terminal_warn("nothing was recorded: the program runs without libmemoir.so; memoir doctor "
                      "%s says why",
                      record->about.program);
}

void told_file(const struct record *record, const char *path, size_t others)
{
    char size[32];
    struct stat found = {0};
    struct print print;
    print_start(&print, size, sizeof size);
    print_size(&print, stat(path, &found) == 0 ? (uint64_t)found.st_size : 0);
    const char *shown = told_path(path);
    bool inside = shown != path;
    fprintf(stderr, "\n    %s   %s\n", shown, print_string(&print));
    if (others > 0)
        fprintf(stderr, "    and %zu more files there, of the other processes\n", others);
    if (!record->about.wanted[0] && !inside)
        fputs("    (there, because the current folder is not writable)\n", stderr);
    if (!record->about.wanted[0] && !record->about.format[0] &&
        inside) /* the newest here is what they take */
        terminal_next(record->locked
                          ? "memoir top      memoir top --metric wait      memoir threads"
                      : record->timed
                          ? "memoir top      memoir top --metric cpu      memoir top -o flame.svg "
                            "--metric cpu"
                          : "memoir top      memoir leaks      memoir time");
}

void told_lost_beside(size_t count, int64_t pid, bool kept)
{
    terminal_warn("%zu other process%s lost blocks: %s%ld%s", count, count == 1 ? "" : "es",
                  count == 1 ? "" : "one of them is ", (long)pid,
                  kept ? "" : "; --output FOLDER/ keeps all recordings, for memoir leaks FILE");
}

const char *told_path(const char *path)
{
    char here[PATH_MAX];
    size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
    bool inside = length > 0 && strncmp(path, here, length) == 0 && path[length] == '/';
    return inside ? path + length + 1 : path;
}
