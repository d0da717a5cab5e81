/* SPDX-License-Identifier: MIT */
/*
 * See tool/record/record.h. A recording has three stages: `memoir run` makes its folder, the
 * library fills it, and run, or `memoir recover` later, keeps one file of it and prints what was
 * found. The file is moved to its place before the folder is removed: a kill at any point leaves
 * one of them.
 */
#include "tool/record/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/config.h"
#include "base/print.h"
#include "tool/process/process.h"
#include "tool/record/guard_report.h"
#include "tool/record/largest.h"
#include "tool/record/record_folder.h"
#include "tool/record/record_name.h"
#include "tool/record/record_told.h"
#include "tool/record/summary.h"
#include "tool/terminal/terminal.h"

static const char folder_shape[] = "/.memoir-XXXXXX";
static const char dump_name[] = "dump";
static const char guard_name[] = "guard"; /* of reports about guarded blocks */
static const char state_name[] = "state"; /* of recorder files */

static void command_join(char *text, size_t size, char **words);
static bool folder_make(struct record *record, struct error *error);
static bool folder_try(struct record *record, const char *place);
static void record_keep(struct record *record);
static bool dump_find(const struct record *record, int64_t pid, char *name, size_t size);
static void file_keep(const struct record *record, const struct child *child,
                      const struct summary *summary, const char *name, char *path, size_t size);
static size_t others_keep(const struct record *record);
static void reports_print(const struct record *record);
static int folder_beside(const struct record *record);

bool record_start(struct record *record, const struct arguments *arguments, struct error *error)
{
    const char *output = arguments_value(arguments, FLAG_OUTPUT);
    const char *slash = strrchr(arguments->operands[0], '/');
    memset(record, 0, sizeof *record);
    snprintf(record->about.program, sizeof record->about.program, "%s",
             slash ? slash + 1 : arguments->operands[0]);
    record->silent = terminal_is_quiet() || arguments_value(arguments, FLAG_NO_SUMMARY);
    const char *rows = arguments_value(arguments, FLAG_ROWS);
    if (rows)
        record->rows = strtoul(rows, NULL, 10) > 0 ? (unsigned)strtoul(rows, NULL, 10) : UINT_MAX;
    record->locked = arguments_value(arguments, FLAG_LOCKS) != NULL;
    record->timed = arguments_value(arguments, FLAG_CPU) || arguments_value(arguments, FLAG_WALL) ||
                    arguments_value(arguments, FLAG_RATE_HZ);
    if (arguments_choice(arguments, FLAG_FORMAT, 0) != 0) /* the first word is memoir's own */
        snprintf(record->about.format, sizeof record->about.format, "%s",
                 arguments_value(arguments, FLAG_FORMAT));
    command_join(record->about.command, sizeof record->about.command, arguments->operands);
    record->about.run = getpid();
    record->oom_before = oom_kills();
    if (output) {
        char here[PATH_MAX] = "";
        bool whole = output[0] == '/' || getcwd(here, sizeof here);
        int length = snprintf(record->about.wanted, sizeof record->about.wanted, "%s%s%s", here,
                              here[0] ? "/" : "", output);
        if (!whole || length >= (int)sizeof record->about.wanted)
            return error_set(error, ERROR_INPUT, "--output %.80s: %s", output,
                             strerror(whole ? ENAMETOOLONG : errno));
    }
    record_resolve(record);
    if (!output_refuse_link(record->about.wanted, error) || !folder_make(record, error))
        return false;
    shelf_make(&record->about);
    record->lock = record->about.path[0] ? shelf_save(&record->about) : -1;
    return true;
}

/* Only now a link may lead to a folder: one that is put there while the program runs is not
 * followed. */
void record_resolve(struct record *record)
{
    char whole[PATH_MAX];
    struct stat behind;
    if (record->about.wanted[0] && stat(record->about.wanted, &behind) == 0 &&
        S_ISDIR(behind.st_mode) && realpath(record->about.wanted, whole))
        snprintf(record->about.wanted, sizeof record->about.wanted, "%s", whole);
}

/* The words, joined by spaces, on one line. */
static void command_join(char *text, size_t size, char **words)
{
    size_t length = 0;
    for (; *words && length + 1 < size; words++) {
        snprintf(text + length, size - length, "%s%s", length > 0 ? " " : "", *words);
        length += strlen(text + length);
    }
    for (size_t i = 0; i < length; i++)
        if (text[i] == '\n')
            text[i] = ' ';
}

enum place { PLACE_FILE, PLACE_FOLDER, PLACE_OTHER };

/* What --output names: a file that may take another's place, a folder, or something to be written
 * into, such as a device, a pipe or a descriptor, which must stay what it is. Links to other things
 * are not followed (`output_open`). */
static enum place place_of(const struct record *record)
{
    struct stat there;
    if (lstat(record->about.wanted, &there) != 0 || S_ISREG(there.st_mode))
        return PLACE_FILE;
    return S_ISDIR(there.st_mode) ? PLACE_FOLDER : PLACE_OTHER;
}

/* Beside the file that --output names, so that a rename is enough in the end; without --output
 * here, or where temporary files go. */
static bool folder_make(struct record *record, struct error *error)
{
    char here[PATH_MAX];
    if (record->about.wanted[0] && place_of(record) != PLACE_OTHER) {
        snprintf(here, sizeof here, "%s", record->about.wanted);
        if (place_of(record) == PLACE_FILE)
            *strrchr(here, '/') = '\0';
        if (folder_try(record, here))
            return true;
        error_set(error, ERROR_INPUT, "--output %s: can't create a file there: %s",
                  record->about.wanted, strerror(errno));
        return error_hint(error, "give -o FILE in a folder that exists and is writable");
    }
    const char *temporary = getenv("TMPDIR");
    if ((getcwd(here, sizeof here) && folder_try(record, here)) ||
        (temporary && temporary[0] == '/' && folder_try(record, temporary)) ||
        folder_try(record, "/tmp"))
        return true;
    error_set(error, ERROR_INPUT, "can't create a folder for the recording here or in /tmp: %s",
              strerror(errno));
    return error_hint(error, "memoir run --output /elsewhere/FILE ..., or --no-summary");
}

static bool folder_try(struct record *record, const char *place)
{
    size_t length = strlen(place) + sizeof folder_shape + sizeof RECORD_CAPTURE;
    errno = ENAMETOOLONG;
    if (length >= CONFIG_PATH_SIZE || length >= sizeof record->about.folder || strchr(place, ',') ||
        strchr(place, '#'))
        return false;
    snprintf(record->about.folder, sizeof record->about.folder, "%s%s", place, folder_shape);
    if (mkdtemp(record->about.folder) && folder_hold(&record->about))
        return true;
    record->about.folder[0] = '\0';
    return false;
}

const char *record_options(const struct record *record, char *text, size_t size)
{
    int length = snprintf(text, size, "capture=%s/%s,capture.replace=off", record->about.folder,
                          RECORD_CAPTURE);
    if (record->about.path[0] && length > 0 && (size_t)length < size)
        length += snprintf(text + length, size - (size_t)length, ",recorder=%s/%s,recorder.run=on",
                           record->about.states, state_name);
    const char *own = getenv("MEMOIR");
    if (length > 0 && (size_t)length < size)
        length +=
            snprintf(text + length, size - (size_t)length, "%s%s,guard.file=%s/%s",
                     own && strstr(own, "guard") ? "" : ",guard=sampled",
                     record->silent ? "" : ",guard.stacks=off", record->about.folder, guard_name);
    if (record->about.format[0] && length > 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length,
                 ",dump.exit=on,dump.format=%s,dump.prefix=%s/%s", record->about.format,
                 record->about.folder, dump_name);
    return text;
}

void record_announce(void *context, pid_t pid)
{
    struct record *record = context;
    struct process process;
    record->background = pid;
    if (record->silent)
        return;
    if (!process_read(&process, pid))
        process.command[0] = '\0';
    fprintf(stderr, "memoir: process %d goes on in the background: ", pid);
    told_command(stderr, process.command);
    fprintf(stderr, "\n    recorded until it ends; memoir top %d asks it, Ctrl-C leaves it alone\n",
            pid);
}

void record_leave(struct record *record)
{
    if (!record->silent)
        fprintf(stderr,
                "memoir: process %d goes on and is recorded; when it has ended: memoir recover\n",
                record->background);
    record->about.run = 0;
    record_keep(record);
}

void record_detach(struct record *record, pid_t pid)
{
    struct process_stat stat;
    record->about.pid = pid;
    record->about.start_ticks = process_stat(&stat, pid) ? stat.start_ticks : 0;
    record->background = pid;
    record_leave(record);
}

/* The files stay for `memoir recover`. */
static void record_keep(struct record *record)
{
    if (record->lock >= 0)
        close(record->lock);
    record->lock = record->about.path[0] ? shelf_save(&record->about) : -1;
    if (record->lock >= 0)
        close(record->lock);
    folder_release(&record->about);
    record->about.folder[0] = record->about.path[0] = '\0';
}

/* For `memoir recover`: the folder of the recording, or a new one if it is gone, or another user
 * has put something else there. */
static bool folder_take(struct record *record)
{
    struct error error = {0};
    if (record->about.inside[0] || folder_hold(&record->about))
        return true;
    terminal_warn("%s is gone, or is not ours: captures that were in it are lost",
                  record->about.folder);
    if (folder_make(record, &error))
        return true;
    terminal_warn("%s", error.text);
    return false;
}

bool record_finish(struct record *record, const struct child *child)
{
    char kept[PATH_MAX];
    return record_finish_as(record, child, kept);
}

bool record_finish_as(struct record *record, const struct child *child, char *kept)
{
    char path[PATH_MAX + 2 * NAME_MAX] = "";
    struct largest largest = {0};
    kept[0] = '\0';
    signal(SIGPIPE, SIG_IGN); /* a closed pipe must not keep the file from being written */
    signal(SIGXFSZ, SIG_IGN);
    if (!folder_take(record))
        return false;
    bool all = !record->about.path[0] || shelf_collect(&record->about);
    if (!largest_find(&largest, record->about.inside, child->pid)) {
        reports_print(record);
        if (all)
            told_nothing(record, child);
        record_drop(record);
        return false;
    }
    struct summary *summary = largest.summary;
    int64_t lost_pid = 0;
    size_t lost_beside = record->judged ? largest_lost_beside(&largest, record->about.inside,
                                                              record->suppressions, &lost_pid)
                                        : 0;
    bool there = !record->about.format[0] ||
                 dump_find(record, summary_pid(summary), largest.name, sizeof largest.name);
    if (there)
        file_keep(record, child, summary, largest.name, path, sizeof path);
    snprintf(kept, PATH_MAX, "%.*s", PATH_MAX - 1, path);
    size_t others = others_keep(record);
    reports_print(record);
    if (!record->silent)
        told_print(record, child, &largest);
    if (!there)
        terminal_warn("no dump in the format %s was made", record->about.format);
    if (path[0] && !record->silent)
        told_file(record, path, others);
    if (lost_beside > 0)
        told_lost_beside(lost_beside, lost_pid, others > 0);
    if (there && !path[0]) { /* nothing else has the recording */
        terminal_warn("the recording stays in %s", record->about.folder);
        folder_release(&record->about);
        record->about.folder[0] = '\0';
    }
    bool lost = summary_lost(summary, record->suppressions) || lost_beside > 0;
    record->scanned = summary_scanned(summary);
    record->ended = summary_ended(summary);
    largest_free(&largest);
    record_drop(record);
    return lost;
}

/* Shows the reports about guarded blocks, and keeps their files where the recording is kept. */
static void reports_print(const struct record *record)
{
    struct dirent *entry;
    DIR *listing = opendir(record->about.inside);
    while (listing && (entry = readdir(listing))) {
        char from[2 * PATH_MAX], to[2 * PATH_MAX];
        struct error error = {0};
        const char *end = strrchr(entry->d_name, '.');
        if (strncmp(entry->d_name, guard_name, strlen(guard_name)) != 0 || !end ||
            strcmp(end, ".json") != 0)
            continue;
        snprintf(from, sizeof from, "%s/%s", record->about.inside, entry->d_name);
        snprintf(to, sizeof to, "%.*s/memoir-%s", folder_beside(record), record->about.folder,
                 entry->d_name);
        if (!record->silent && !guard_report_print(from, stderr, false, &error))
            terminal_warn("%s", error.text);
        if (rename(from, to) == 0 && !record->silent)
            fprintf(stderr, "  kept as %s\n", told_path(to));
    }
    if (listing)
        closedir(listing);
}

void record_drop(struct record *record)
{
    if (record->lock > STDERR_FILENO) /* closed first: opendir below needs a descriptor */
        close(record->lock);
    record->lock = -1;
    shelf_drop(&record->about);
    record->about.path[0] = '\0';
    folder_remove(&record->about);
}

/* The dump of a process: PREFIX-DATE-TIME-PID-... */
static bool dump_find(const struct record *record, int64_t pid, char *name, size_t size)
{
    char part[32];
    bool found = false;
    struct dirent *entry;
    DIR *listing = opendir(record->about.inside);
    snprintf(part, sizeof part, "-%ld-", (long)pid);
    while (listing && !found && (entry = readdir(listing))) {
        found = strncmp(entry->d_name, dump_name, strlen(dump_name)) == 0 &&
                strstr(entry->d_name, part);
        if (found)
            snprintf(name, size, "%s", entry->d_name);
    }
    if (listing)
        closedir(listing);
    return found;
}

/* A pipe that no process reads holds up neither run nor the recordings that recover would finish
 * next. */
static FILE *other_open(const char *path)
{
    /* 2 s: a reader that is started together with the program is there by then. */
    enum { LOOKS = 20, LOOK_US = 100000 };
    struct stat itself;
    if (lstat(path, &itself) != 0 || !S_ISFIFO(itself.st_mode))
        return output_open(path, false);
    int fd = -1;
    for (unsigned i = 0; i < LOOKS && fd < 0; i++) {
        fd = open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno != ENXIO)
            return NULL;
        if (fd < 0)
            usleep(LOOK_US);
    }
    FILE *file = fd < 0 || fcntl(fd, F_SETFL, 0) != 0 ? NULL : fdopen(fd, "w");
    if (fd >= 0 && !file)
        close(fd);
    return file;
}

/* Copies the bytes of a file into one that exists. */
static bool file_copy(const char *from, const char *to)
{
    char bytes[65536];
    size_t got;
    FILE *in = fopen(from, "re"), *out = in ? other_open(to) : NULL;
    bool ok = out != NULL;
    while (ok && (got = fread(bytes, 1, sizeof bytes, in)) > 0)
        ok = fwrite(bytes, 1, got, out) == got;
    ok = ok && !ferror(in);
    if (out && fclose(out) != 0)
        ok = false;
    if (in)
        fclose(in);
    return ok;
}

/* Moves the file to where --output says, else beside the folder under a name of ours. */
static void file_keep(const struct record *record, const struct child *child,
                      const struct summary *summary, const char *name, char *path, size_t size)
{
    const char *suffix =
        record->about.format[0] ? strstr(name, ".pb.gz") ? ".pb.gz" : ".heap" : ".memoir";
    enum place place = record->about.wanted[0] ? place_of(record) : PLACE_FOLDER;
    char from[2 * PATH_MAX], beside[PATH_MAX], other[NAME_MAX / 2];
    /* As the user typed it, unless this is the recording of a process that it started. */
    const char *program = !record->about.wanted[0] && summary_pid(summary) == child->pid
                              ? record->about.program
                              : record_name_program(summary, other, sizeof other);
    snprintf(from, sizeof from, "%s/%s", record->about.inside, name);
    snprintf(beside, sizeof beside, "%.*s", folder_beside(record), record->about.folder);
    if (place == PLACE_FOLDER)
        record_name(program, summary, from, record->about.wanted[0] ? record->about.wanted : beside,
                    suffix, path, size);
    else
        snprintf(path, size, "%s", record->about.wanted);
    if (place == PLACE_OTHER ? file_copy(from, path) : rename(from, path) == 0)
        return;
    struct error error = {0}; /* also with --quiet: the recording is not where it was wanted */
    error_set(&error, ERROR_INPUT, "can't write %s: %s", path,
              errno == ENXIO ? "no process reads the pipe" : strerror(errno));
    record_name(program, summary, from, beside, suffix, path, size);
    if (rename(from, path) == 0)
        error_hint(&error, "the recording is %s", path);
    else
        path[0] = '\0';
    terminal_error(&error);
}

/* Keeps the recordings of other processes that the program started, if --output is a folder; how
 * many. */
static size_t others_keep(const struct record *record)
{
    size_t count = 0;
    struct dirent *entry;
    bool wanted =
        record->about.wanted[0] && !record->about.format[0] && place_of(record) == PLACE_FOLDER;
    DIR *listing = wanted ? opendir(record->about.inside) : NULL;
    while (listing && (entry = readdir(listing))) {
        char from[2 * PATH_MAX], path[PATH_MAX + 2 * NAME_MAX], program[NAME_MAX / 2];
        snprintf(from, sizeof from, "%s/%s", record->about.inside, entry->d_name);
        struct summary *summary = entry->d_name[0] == '.' ? NULL : summary_read(from);
        if (!summary)
            continue;
        record_name(record_name_program(summary, program, sizeof program), summary, from,
                    record->about.wanted, ".memoir", path, sizeof path);
        count += rename(from, path) == 0;
        summary_free(summary);
    }
    if (listing)
        closedir(listing);
    return count;
}

/* How much of the folder's name is that of the folder around it. */
static int folder_beside(const struct record *record)
{
    return (int)(strrchr(record->about.folder, '/') - record->about.folder);
}
