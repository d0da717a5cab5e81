/* SPDX-License-Identifier: MIT */
/*
 * See tool/record/shelf_told.h. Each kind of file has the name that its own library would have
 * given it, with the next free number, so that scripts which collect such files find them. What is
 * written is what the recorder file holds at the moment of the kill.
 */
#include "tool/record/shelf_told.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tool/profile/read/read.h"
#include "tool/profile/write/write.h"
#include "tool/record/shelf_paths.h"
#include "tool/terminal/terminal.h"

struct dump {
    const char *bytes;
    size_t size;
    unsigned which;
    const struct recorder_told *told;
    const struct recorder_about *about;
    bool foreign;
    char path[PATH_MAX];
};

static bool dump_write(const struct dump *dump);
static bool contents_put(const struct dump *dump, FILE *file, const char **reason);
static bool capture_put(const struct dump *dump, FILE *file, const char **reason);
static bool pprof_put(const struct dump *dump, FILE *file, const char **reason);
static void name_memoir(struct dump *dump, uint64_t live);
static long number_after(const char *prefix, const char *start, const char *any);
static void name_jemalloc(struct dump *dump);
static void name_gperftools(struct dump *dump);
static void name_cpu(struct dump *dump);

/* ---- contents ---- */

bool shelf_told(const char *recorder, const char *bytes, size_t size,
                const struct recorder_about *about, bool foreign, char last[PATH_MAX])
{
    struct recorder_told told[RECORDER_TOLD_COUNT];
    bool all = true;
    if (about->ended || !about->ready)
        return true;
    if (!recorder_told(bytes, size, told))
        return false;
    paths_check_told(recorder, told);
    for (unsigned which = 0; which < RECORDER_TOLD_COUNT; which++) {
        struct dump dump = {bytes, size, which, &told[which], about, foreign, ""};
        if (told[which].format == RECORDER_FORMAT_NONE ||
            told[which].format > RECORDER_FORMAT_GPERFTOOLS || told[which].path[0] != '/')
            continue;
        if (which == RECORDER_TOLD_MEMOIR)
            name_memoir(&dump, recorder_told_live(bytes, size));
        else if (which == RECORDER_TOLD_JEMALLOC)
            name_jemalloc(&dump);
        else if (which == RECORDER_TOLD_GPERFTOOLS)
            name_gperftools(&dump);
        else
            name_cpu(&dump);
        if (dump_write(&dump))
            memcpy(last, dump.path, PATH_MAX);
        else
            all = false;
    }
    return all;
}

static bool dump_write(const struct dump *dump)
{
    struct error error = {0};
    struct output output;
    const char *reason = NULL;
    bool ok = dump->foreign ? output_replace(&output, dump->path, &error)
                            : output_start(&output, dump->path, &error);
    if (ok) {
        ok = contents_put(dump, output.file, &reason);
        if (!ok)
            error_set(&error, ERROR_INPUT, "%s: %s", dump->path, reason ? reason : strerror(errno));
        ok = output_end(&output, ok, &error) && ok;
    }
    if (!ok)
        terminal_warn("%s", error.text);
    else if (!terminal_is_quiet())
        output_say(&output, dump->path);
    return ok;
}

static bool contents_put(const struct dump *dump, FILE *file, const char **reason)
{
    if (dump->told->format == RECORDER_FORMAT_CAPTURE)
        return capture_put(dump, file, reason);
    if (dump->told->format == RECORDER_FORMAT_PPROF)
        return pprof_put(dump, file, reason);
    return recorder_told_write(dump->bytes, dump->size, dump->which, file, reason);
}

static bool capture_put(const struct dump *dump, FILE *file, const char **reason)
{
    size_t made;
    char *capture = recorder_capture(dump->bytes, dump->size, NULL, 0, &made, reason);
    bool ok = capture && fwrite(capture, 1, made, file) == made;
    free(capture);
    return ok;
}

static bool pprof_put(const struct dump *dump, FILE *file, const char **reason)
{
    struct profile profile;
    struct read_error wrong;
    struct read_input input = {.name = dump->path, .bytes = dump->bytes, .size = dump->size};
    struct write_options options = {0};
    *reason = "memory is out";
    profile_start(&profile);
    bool ok = reader_recorder.read(&input, &profile, &wrong) && !profile.failed;
    if (ok) {
        int type = profile_type_named(&profile, TYPE_INUSE_SPACE);
        options.type = type < 0 ? 0 : (unsigned)type;
        ok = writer_pprof.write(&profile, &options, file);
    }
    profile_free(&profile);
    return ok;
}

/* ---- names ---- */

static void name_memoir(struct dump *dump, uint64_t live)
{
    static const char *const endings[] = {"", ".memoir", ".pb.gz", ".heap", ".heap"};
    static const char units[] = "BKMGT";
    const struct recorder_about *about = dump->about;
    time_t when =
        (time_t)((about->start_wall_ns / 1000000 + about->last_ms - about->start_ms) / 1000);
    struct tm parts = {0}; /* a damaged file may name no moment */
    char moment[32] = "", own[32];
    unsigned unit = 0;
    for (; live >= 10000 && unit < sizeof units - 2; unit++)
        live >>= 10;
    if (gmtime_r(&when, &parts) == NULL ||
        strftime(moment, sizeof moment, "%Y%m%d-%H%M%S", &parts) == 0)
        moment[0] = '\0';
    snprintf(own, sizeof own, "-%u-", about->pid);
    long last = number_after(dump->told->path, "-", own);
    snprintf(dump->path, sizeof dump->path, "%s-%s%s%04ld-exit-%llu%c%s", dump->told->path, moment,
             own, last < 0 ? 1 : last + 1, (unsigned long long)live, units[unit],
             endings[dump->told->format]);
}

/* The largest number behind `prefix` and `start` in the file names of the prefix's folder, or -1.
 * With `any`, the number follows that text, and other text may stand before it. */
static long number_after(const char *prefix, const char *start, const char *any)
{
    const char *slash = strrchr(prefix, '/');
    char folder[PATH_MAX], name[PATH_MAX];
    long largest = -1;
    struct dirent *entry;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - prefix + 1), prefix);
    snprintf(name, sizeof name, "%s%s", slash + 1, start);
    DIR *listing = opendir(folder);
    while (listing && (entry = readdir(listing))) {
        const char *at = entry->d_name;
        if (strncmp(at, name, strlen(name)) != 0)
            continue;
        at += strlen(name);
        if (any && !(at = strstr(at, any)))
            continue;
        at += any ? strlen(any) : 0;
        char *end;
        long number = strtol(at, &end, 10);
        if (end > at && number > largest && number < INT_MAX)
            largest = number;
    }
    if (listing)
        closedir(listing);
    return largest;
}

static void name_jemalloc(struct dump *dump)
{
    char own[64] = "";
    if (dump->told->space != 0)
        snprintf(own, sizeof own, ".%llu", (unsigned long long)dump->told->space);
    snprintf(own + strlen(own), sizeof own - strlen(own), ".%u.", dump->about->pid);
    snprintf(dump->path, sizeof dump->path, "%s%s%ld.f.heap", dump->told->path, own,
             number_after(dump->told->path, own, NULL) + 1);
}

static void name_gperftools(struct dump *dump)
{
    const struct recorder_told *told = dump->told;
    char own[32] = "";
    if (told->owner != dump->about->pid)
        snprintf(own, sizeof own, "_%u", dump->about->pid);
    char start[40];
    snprintf(start, sizeof start, "%s.", own);
    long last = number_after(told->path, start, NULL);
    snprintf(dump->path, sizeof dump->path, "%s%s.%04ld.heap", told->path, own,
             last < 0 ? 1 : last + 1);
}

static void name_cpu(struct dump *dump)
{
    char own[32] = "";
    if (dump->told->owner != dump->about->pid)
        snprintf(own, sizeof own, "_%u", dump->about->pid);
    snprintf(dump->path, sizeof dump->path, "%s%s", dump->told->path, own);
}
