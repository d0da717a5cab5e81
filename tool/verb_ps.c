/* SPDX-License-Identifier: MIT */
/*
 * `memoir ps`: looks through /proc for processes with the library in them and asks each for its
 * facts. A process of another user is asked only if root wants that, and one that can't be asked
 * has its reason in its row.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/print.h"
#include "tool/command/command.h"
#include "tool/memory/memory.h"
#include "tool/process/process.h"
#include "tool/record/record.h"
#include "tool/terminal/terminal.h"

enum { SIZE_TEXT = 24, REASON_SIZE = 64 };
enum { BELL_MS = 500 }; /* for a process that does not hear the signal: the list is not to wait */

struct row {
    struct process process;
    char user[32];
    char reason[REASON_SIZE]; /* why it was not asked, or "" */
    bool sampling;
    int64_t off_s; /* how long sampling has been off; -1: from the start */
    uint64_t live_bytes, rate;
    char capture[PATH_MAX]; /* where its recording goes, or "" */
};

static bool rows_collect(struct row **rows, size_t *count, size_t *unseen, bool all,
                         struct error *error);
static void row_fill(struct row *row, bool all);
static void rows_print(const struct row *rows, size_t count);
static void rows_print_json(const struct row *rows, size_t count, size_t unseen);
static void recordings_print(void);
static void recordings_print_json(struct json *json);

bool ps_show(const struct arguments *arguments, struct error *error)
{
    struct row *rows = NULL;
    size_t count = 0, unseen = 0;
    attach_sweep();
    if (!rows_collect(&rows, &count, &unseen, arguments_value(arguments, FLAG_ALL), error)) {
        free(rows);
        return false;
    }
    if (arguments_value(arguments, FLAG_JSON)) {
        rows_print_json(rows, count, unseen);
    } else {
        rows_print(rows, count);
        recordings_print();
        if (unseen > 0)
            terminal_warn("processes that can't be inspected: %zu%s", unseen,
                          geteuid() == 0 ? "" : " (sudo memoir ps)");
        if (count == 0)
            terminal_next("memoir run -- ./program");
    }
    free(rows);
    return true;
}

static bool rows_collect(struct row **rows, size_t *count, size_t *unseen, bool all,
                         struct error *error)
{
    DIR *listing = opendir("/proc");
    struct dirent *entry;
    bool any = false;
    size_t room = 0;
    if (!listing)
        return error_set(error, ERROR_INPUT, "/proc can't be read: %s", strerror(errno));
    while ((entry = readdir(listing))) {
        struct process process;
        pid_t pid = atoi(entry->d_name);
        any = any || pid > 0;
        if (pid <= 0 || !process_read(&process, pid))
            continue;
        *unseen += process.library == PROCESS_UNKNOWN && process.rss_bytes > 0;
        if (process.library != PROCESS_WITH)
            continue;
        if (!list_reserve(rows, &room, *count + 1, sizeof **rows)) {
            closedir(listing);
            return error_memory(error);
        }
        struct row *row = &(*rows)[(*count)++];
        memset(row, 0, sizeof *row);
        row->process = process;
        row_fill(row, all);
    }
    closedir(listing);
    if (any)
        return true;
    error_set(error, ERROR_INPUT, "/proc shows no processes: it is not the kernel's /proc");
    return error_hint(error, "mount -t proc proc /proc");
}

static void row_fill(struct row *row, bool all)
{
    const struct passwd *owner = getpwuid(row->process.user);
    const char *refusal = attach_refusal(&row->process), *value;
    struct error error = {.status = ERROR_TARGET};
    char *answer = NULL;
    if (owner)
        snprintf(row->user, sizeof row->user, "%s", owner->pw_name);
    else
        snprintf(row->user, sizeof row->user, "%u", row->process.user);
    if (!refusal && row->process.user != geteuid() && !all)
        refusal = "owned by another user (use --all)";
    row->process.wait_ms = BELL_MS;
    if (!refusal && !attach_ask(&row->process, "stats", -1, &answer, &error))
        refusal = row->process.bell == PROCESS_BELL_HANGS
                      ? "answers at its next allocation (memoir ctl waits for it)"
                      : "does not answer (memoir ctl shows why)";
    if (refusal) {
        snprintf(row->reason, sizeof row->reason, "%s", refusal);
        free(answer);
        return;
    }
    if ((value = attach_fact(answer, "live_bytes")) != NULL)
        row->live_bytes = strtoull(value, NULL, 10);
    value = attach_fact(answer, "profile.off_s");
    row->off_s = value != NULL ? (int64_t)strtoull(value, NULL, 10) : -1;
    free(answer);
    if (!attach_ask(&row->process, "show", -1, &answer, &error)) {
        free(answer);
        return;
    }
    value = attach_fact(answer, "heap");
    row->sampling = value != NULL && strncmp(value, "on\n", 3) == 0;
    if ((value = attach_fact(answer, "capture")) != NULL)
        snprintf(row->capture, sizeof row->capture, "%.*s", (int)strcspn(value, "\n"), value);
    if ((value = attach_fact(answer, "heap.rate")) != NULL) {
        struct config options;
        config_defaults(&options);
        config_text(&options, value - strlen("heap.rate:"),
                    strcspn(value, "\n") + strlen("heap.rate:"), "its answer");
        row->rate = options.heap_rate;
    }
    free(answer);
}

static const char *size_text(char text[SIZE_TEXT], uint64_t bytes)
{
    struct print print;
    print_start(&print, text, SIZE_TEXT);
    print_size(&print, bytes);
    return print_string(&print);
}

/* "512 KiB", "exact", "off", "off 3m": the numbers of a profile that is off are as old. */
static const char *sampling_text(char text[SIZE_TEXT], const struct row *row)
{
    enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };
    int64_t s = row->off_s;
    if (row->sampling)
        return row->rate == 0 ? "exact" : size_text(text, row->rate);
    if (s < 0)
        return "off";
    snprintf(text, SIZE_TEXT, "off %ld%c",
             (long)(s < MINUTE ? s
                    : s < HOUR ? s / MINUTE
                    : s < DAY  ? s / HOUR
                               : s / DAY),
             s < MINUTE ? 's'
             : s < HOUR ? 'm'
             : s < DAY  ? 'h'
                        : 'd');
    return text;
}

static void rows_print(const struct row *rows, size_t count)
{
    char heap[SIZE_TEXT], rss[SIZE_TEXT], rate[SIZE_TEXT];
    int width = (int)terminal_width() - 52;
    width = width < 20 ? 20 : width;
    FILE *out = wrap_output();
    fprintf(out, "%7s  %-8s  %10s  %10s  %-9s %s\n", "PID", "USER", "HEAP", "RSS", "SAMPLING",
            "COMMAND");
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        bool asked = row->reason[0] == '\0';
        const char *sampling = asked ? sampling_text(rate, row) : "?";
        fprintf(out, "%7d  %-8.8s  %10s  %10s  %-9s ", row->process.pid, row->user,
                asked ? size_text(heap, row->live_bytes) : "?",
                size_text(rss, row->process.rss_bytes), sampling);
        fprintf(out, "%.*s", terminal_fits() ? width : INT_MAX, row->process.command);
        if (!asked) {
            fprintf(out, "  ");
            terminal_put(out, TERMINAL_DIM, row->reason, 0);
        }
        fprintf(out, "\n");
    }
    wrap_end(out);
}

static void rows_print_json(const struct row *rows, size_t count, size_t unseen)
{
    struct json json;
    json_start(&json, stdout, true);
    json_object(&json, NULL);
    json_text(&json, "schema", "memoir.ps/1");
    json_array(&json, "processes");
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        json_object(&json, NULL);
        json_number(&json, "pid", row->process.pid);
        json_text(&json, "user", row->user);
        json_text(&json, "version", row->process.version);
        json_number(&json, "rss_bytes", (int64_t)row->process.rss_bytes);
        json_text(&json, "command", row->process.command);
        if (row->reason[0]) {
            json_text(&json, "reason", row->reason);
        } else {
            json_number(&json, "live_bytes", (int64_t)row->live_bytes);
            if (row->capture[0])
                json_text(&json, "recording", row->capture);
            json_flag(&json, "sampling", row->sampling);
            if (row->sampling)
                json_number(&json, "rate_bytes", (int64_t)row->rate);
            else if (row->off_s >= 0)
                json_number(&json, "off_seconds", row->off_s);
        }
        json_end(&json);
    }
    json_end(&json);
    recordings_print_json(&json);
    json_number(&json, "unseen", (int64_t)unseen);
    json_end(&json);
    putchar('\n');
}

/* What `memoir recover` will finish, or can finish now. */
static void recordings_print(void)
{
    struct shelf_about *list;
    size_t count = shelf_list(&list);
    bool waiting = false;
    int room = (int)terminal_width() - 21; /* what the first two columns leave */
    room = room < 8 ? 8 : room > 60 ? 60 : room;
    for (size_t i = 0; i < count; i++) {
        pid_t pid = shelf_running(&list[i]);
        if (shelf_is_held(&list[i]))
            continue; /* its run finishes it */
        if (!waiting)
            puts("\nrecordings without a memoir run");
        waiting = true;
        if (pid > 0)
            printf("%7d  under way   ", pid);
        else
            printf("%7s  has ended   ", "");
        printf("%.*s\n", room, list[i].command);
    }
    if (waiting)
        terminal_next("memoir recover   finishes those that have ended");
    free(list);
}

static void recordings_print_json(struct json *json)
{
    struct shelf_about *list;
    size_t count = shelf_list(&list);
    json_array(json, "recordings");
    for (size_t i = 0; i < count; i++) {
        pid_t pid = shelf_running(&list[i]);
        json_object(json, NULL);
        json_text(json, "command", list[i].command);
        json_text(json, "folder", list[i].path);
        json_flag(json, "running", pid > 0);
        if (pid > 0)
            json_number(json, "pid", pid);
        if (shelf_is_held(&list[i]))
            json_number(json, "run", list[i].run);
        json_end(json);
    }
    json_end(json);
    free(list);
}
