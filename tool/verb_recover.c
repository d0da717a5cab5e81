/* SPDX-License-Identifier: MIT */
/*
 * `memoir recover`: finishes recordings whose `memoir run` has returned or was killed, and recorder
 * files of programs that were started without it: with the option `recorder`, or told to write a
 * profile at their end. What still runs is left alone.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/command/command.h"
#include "tool/record/record.h"
#include "tool/terminal/terminal.h"

/* What was done, for --json. */
struct recovery {
    const struct arguments *arguments;
    bool as_json, dry; /* dry: nothing is written or removed */
    struct json json;
    size_t recovered, running;
};

static bool file_recover(struct recovery *recovery, const char *path, struct error *error);
static bool kept_recover(struct recovery *recovery, pid_t pid, struct error *error);
static bool folder_find(struct shelf_about *about, const char *path, struct error *error);
static bool shelf_recover(struct recovery *recovery, const struct shelf_about *about, bool named,
                          struct error *error);
static void running_say(struct recovery *recovery, const struct shelf_about *about, pid_t pid);

bool recover_run(const struct arguments *arguments, struct error *error)
{
    struct recovery recovery = {.arguments = arguments,
                                .as_json = arguments_value(arguments, FLAG_JSON),
                                .dry = arguments_value(arguments, FLAG_DRY_RUN)};
    const char *path = arguments->operands[0];
    struct shelf_about *list = NULL, one;
    struct stat found;
    bool ok = true;
    if (recovery.as_json) {
        json_start(&recovery.json, stdout, true);
        json_object(&recovery.json, NULL);
        json_text(&recovery.json, "schema", "memoir.recover/1");
        json_array(&recovery.json, "recordings");
    }
    char *end = NULL;
    long pid = path ? strtol(path, &end, 10) : 0;
    if (path && stat(path, &found) != 0 && pid > 0 && pid <= INT_MAX && !*end) {
        ok = kept_recover(&recovery, (pid_t)pid, error);
    } else if (path && stat(path, &found) != 0) {
        error_set(error, ERROR_INPUT, "%s: %s", path, strerror(errno));
        ok = suggest_file(path, "memoir recover --dry-run   lists what can be recovered", error);
    } else if (path && !S_ISDIR(found.st_mode)) {
        ok = file_recover(&recovery, path, error);
    } else if (path) {
        ok = folder_find(&one, path, error) && shelf_recover(&recovery, &one, true, error);
    } else {
        size_t count = shelf_list(&list);
        for (size_t i = 0; i < count; i++)
            ok = shelf_recover(&recovery, &list[i], false, error) && ok;
        ok = kept_recover(&recovery, 0, error) && ok;
    }
    free(list);
    if (recovery.as_json) {
        json_end(&recovery.json);
        json_end(&recovery.json);
        putchar('\n');
    } else if (ok && recovery.recovered + recovery.running == 0) {
        terminal_warn("there is no recording to finish");
    }
    return ok;
}

static void done_put(struct recovery *recovery, const char *path, const char *command, pid_t pid)
{
    recovery->recovered++;
    if (!recovery->as_json)
        return;
    json_object(&recovery->json, NULL);
    json_text(&recovery->json, "file", path);
    json_text(&recovery->json, "command", command);
    json_number(&recovery->json, "pid", pid);
    json_flag(&recovery->json, "running", false);
    json_end(&recovery->json);
}

/* What waits, of which process; for --dry-run. */
static void waiting_say(struct recovery *recovery, const char *path, const char *command, pid_t pid)
{
    recovery->recovered++;
    if (recovery->as_json) {
        json_object(&recovery->json, NULL);
        json_text(&recovery->json, "waits", path);
        json_text(&recovery->json, "command", command);
        json_number(&recovery->json, "pid", pid);
        json_flag(&recovery->json, "running", false);
        json_end(&recovery->json);
    } else {
        printf("%s   process %d%s%.60s\n", path, pid, command[0] ? ": " : "", command);
    }
}

static bool file_recover(struct recovery *recovery, const char *path, struct error *error)
{
    const char *output = arguments_value(recovery->arguments, FLAG_OUTPUT);
    char to[PATH_MAX] = "";
    pid_t pid = 0;
    if (output)
        snprintf(to, sizeof to, "%s", output);
    if (recovery->dry) {
        if (!shelf_look(path, &pid, error))
            return false;
        waiting_say(recovery, path, "", pid);
        return true;
    }
    if (!shelf_finish_file(path, to, &pid, error))
        return false;
    if (!to[0]) /* it exited normally, or before there was anything */
        return true;
    struct summary *summary = summary_read(to);
    done_put(recovery, to, summary ? summary_command(summary) : "", pid);
    if (!terminal_is_quiet() && !recovery->as_json) {
        fprintf(stderr, "memoir: %s, of process %d\n", to, pid);
        if (summary)
            summary_print(summary, 0, 0, 0, NULL);
    }
    summary_free(summary);
    return true;
}

/* What programs without memoir run were told to write at their end: of all that were killed, or of
 * one. */
static bool kept_recover(struct recovery *recovery, pid_t pid, struct error *error)
{
    char(*paths)[PATH_MAX];
    size_t count = shelf_kept(&paths, pid);
    bool ok = true;
    if (count > 1 && arguments_value(recovery->arguments, FLAG_OUTPUT)) {
        error_set(error, ERROR_USAGE, "-o names one file, but there are %zu recordings", count);
        error_hint(error, "memoir recover %s -o FILE   takes one", paths[0]);
        free(paths);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct error one = {0};
        if (file_recover(recovery, paths[i], pid == 0 ? &one : error))
            continue;
        if (pid == 0)
            terminal_warn("%s", one.text);
        ok = pid == 0; /* of many, one whose folder is gone is no failure */
    }
    free(paths);
    if (pid == 0 || count > 0)
        return ok;
    error_set(error, ERROR_INPUT, "process %d has left nothing to recover", pid);
    return error_hint(error, "memoir recover   finishes all recordings; memoir recover FILE, one "
                             "file of the option recorder");
}

/* The shelf, or the folder of captures that belongs to one. */
static bool folder_find(struct shelf_about *about, const char *path, struct error *error)
{
    char whole[PATH_MAX];
    struct shelf_about *list;
    bool found = realpath(path, whole) && shelf_load(about, whole);
    size_t count = found ? 0 : shelf_list(&list);
    for (size_t i = 0; !found && i < count; i++) {
        found = strcmp(list[i].folder, whole) == 0;
        if (found)
            *about = list[i];
    }
    if (count > 0)
        free(list);
    if (found)
        return true;
    error_set(error, ERROR_INPUT, "%s has no recording of memoir run to finish", path);
    error_hint(error, "memoir recover   finishes all; memoir top FILE reads any .memoir");
    return false;
}

static bool shelf_recover(struct recovery *recovery, const struct shelf_about *about, bool named,
                          struct error *error)
{
    struct record record = {.about = *about, .lock = -1, .silent = terminal_is_quiet()};
    struct child child = {.pid = about->pid, .unseen = true};
    const char *output = arguments_value(recovery->arguments, FLAG_OUTPUT);
    bool held = shelf_is_held(about);
    pid_t pid = held ? about->run : shelf_running(about);
    if (pid > 0 && named) {
        error_set(error, ERROR_TARGET,
                  held ? "memoir run, process %d, will finish it by itself"
                       : "process %d still runs and is recorded",
                  pid);
        return error_hint(error,
                          held ? "when that has ended: memoir recover %s"
                               : "when it has ended: memoir recover %s",
                          about->path);
    }
    if (pid > 0) {
        running_say(recovery, about, pid);
        return true;
    }
    if (recovery->dry) {
        waiting_say(recovery, about->path, about->command, about->pid);
        return true;
    }
    if (output) {
        snprintf(record.about.wanted, sizeof record.about.wanted, "%s", output);
        record_resolve(&record);
    }
    record.silent = record.silent || recovery->as_json;
    char path[PATH_MAX] = "";
    record_finish_as(&record, &child, path);
    if (path[0])
        done_put(recovery, path, about->command, about->pid);
    return true;
}

static void running_say(struct recovery *recovery, const struct shelf_about *about, pid_t pid)
{
    recovery->running++;
    if (recovery->as_json) {
        json_object(&recovery->json, NULL);
        json_number(&recovery->json, "pid", pid);
        json_text(&recovery->json, "command", about->command);
        json_flag(&recovery->json, "running", true);
        json_end(&recovery->json);
    } else {
        terminal_warn("process %d still runs and is recorded: %.60s", pid, about->command);
    }
}
