/* SPDX-License-Identifier: MIT */
/*
 * `memoir run`: puts the library and the options in the environment and starts the program: as a
 * child, for the summary at its end, or else by becoming it. What would fail later without a word
 * (an unknown option, a program that no library can be preloaded into) is said now.
 */
#include "tool/verb_run.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/config.h"
#include "base/nearest.h"
#include "tool/command/command.h"
#include "tool/picture_kind.h"
#include "tool/process/process.h"
#include "tool/profile/write/write.h"
#include "tool/record/record.h"
#include "tool/suppress.h"
#include "tool/terminal/terminal.h"

#ifndef MEMOIR_LIBDIR
#define MEMOIR_LIBDIR "/usr/local/lib"
#endif

enum { OPTION_SIZE = 2048 };

static const char library_name[] = "libmemoir.so";

static void lost_exit(const char *wanted, int status);
static void unscanned_exit(const struct record *record, bool left, const struct child *child);
static bool exitcode_check(const struct arguments *arguments, struct error *error);
static bool output_check(const struct arguments *arguments, struct error *error);
static bool options_check(const struct arguments *arguments, struct error *error);
static void warning_keep(const char *line, size_t length);
static bool library_use(char path[PATH_MAX], const char *candidate);
static bool begins_with(const char *path, const char *bytes);
static bool program_try(char path[PATH_MAX], const char *directory, size_t length, const char *name,
                        int *reason);
static bool program_missing(const char *name, int reason, struct error *error);
static void program_nearest(const char *name, char *best, size_t size);
static bool program_judge(const char *path);
static bool environment_prepare(const struct arguments *arguments, const char *library,
                                const struct record *record, struct error *error);
static bool option_add(const char *option);
static bool variable_join(const char *name, const char *first, char separator, const char *second);

/* The first warning of base/config.c about a --set, without its "memoir: ". */
static char option_warning[512];

bool launch_run(const struct arguments *arguments, struct error *error)
{
    char library[PATH_MAX];
    char program[PATH_MAX];
    const char *name = arguments->operands[0];
    struct record record = {.lock = -1};
    struct child child;

    if (!options_check(arguments, error) || !exitcode_check(arguments, error) ||
        !output_check(arguments, error) ||
        !launch_library(library, arguments_value(arguments, FLAG_LIB), error) ||
        !launch_program(program, name, error))
        return false;
    bool fine = program_judge(program);
    bool silent = terminal_is_quiet() || arguments_value(arguments, FLAG_NO_SUMMARY);
    bool detached = arguments_value(arguments, FLAG_DETACH);
    bool judged = arguments_value(arguments, FLAG_LEAKS) != NULL;
    if (judged && !fine) {
        error_set(error, ERROR_TARGET, "--leaks: %s can't be scanned for lost blocks", name);
        return error_hint(error, "memoir run -- %s   runs it as it is", name);
    }
    bool recorded =
        fine && (!silent || judged || detached || arguments_value(arguments, FLAG_OUTPUT));
    struct suppressions *suppressions = NULL;
    if (judged && !suppress_read(&suppressions, arguments, error))
        return false;
    if ((recorded && !record_start(&record, arguments, error)) ||
        !environment_prepare(arguments, library, recorded ? &record : NULL, error))
        return false;
    if (recorded && detached && child_detach(&child, arguments->operands, program, error)) {
        record_detach(&record, child.pid);
        return true;
    }
    if (recorded && !detached && child_run(&child, arguments->operands, program, error)) {
        record.suppressions = suppressions;
        record.judged = judged;
        bool ended = child_follow(&child, record_announce, &record);
        child_release(&child);
        bool lost = ended && record_finish(&record, &child);
        if (!ended)
            record_leave(&record);
        if (lost && judged && WIFEXITED(child.status))
            lost_exit(arguments_value(arguments, FLAG_ERROR_EXITCODE), WEXITSTATUS(child.status));
        if (judged && !record.scanned)
            unscanned_exit(&record, !ended, &child);
        child_end_alike(&child);
    }
    record_drop(&record);
    if (recorded)
        return false;
    execvp(name, arguments->operands); /* and not `program`: a script without #! needs the shell */
    return child_not_started(program, errno, error);
}

/* Ends with the status of --error-exitcode, or with 1 in place of 0. */
static void lost_exit(const char *wanted, int status)
{
    if (wanted)
        exit((int)strtol(wanted, NULL, 10));
    if (status == 0)
        exit(ERROR_FOUND);
}

/* --leaks has no answer, which is not the same as no leaks: 4 in place of 0. */
static void unscanned_exit(const struct record *record, bool left, const struct child *child)
{
    const char *why = left ? "it goes on, and will be scanned when it ends"
                      : record->ended
                          ? "it could not be scanned, or a process with a larger heap was not"
                          : "it was killed, ended by _exit or ran without libmemoir.so";
    terminal_warn("no scan for lost blocks was made of this program: %s", why);
    if (WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0)
        exit(ERROR_TARGET);
}

/* A recording is not to have the name of another format. */
static bool output_check(const struct arguments *arguments, struct error *error)
{
    const char *output = arguments_value(arguments, FLAG_OUTPUT);
    struct stat there;
    if (!output || arguments_value(arguments, FLAG_FORMAT) || !strchr(name_base(output), '.') ||
        (!write_find(output) && !picture_format_of(output)) ||
        (stat(output, &there) == 0 && S_ISDIR(there.st_mode)))
        return true;
    error_set(error, ERROR_USAGE, "--output %s: memoir run writes .memoir", output);
    return error_hint(error, "memoir run -o FILE.memoir ..., then memoir export FILE.memoir -o %s",
                      output);
}

static bool exitcode_check(const struct arguments *arguments, struct error *error)
{
    enum { STATUS_MAX = 255 };
    const char *text = arguments_value(arguments, FLAG_ERROR_EXITCODE);
    if (!text)
        return true;
    if (!arguments_value(arguments, FLAG_LEAKS))
        return error_set(error, ERROR_USAGE, "--error-exitcode is for --leaks");
    char *end;
    long status = strtol(text, &end, 10);
    if (end == text || *end != '\0' || status < 1 || status > STATUS_MAX)
        return error_set(error, ERROR_USAGE, "--error-exitcode %.20s: write a number, 1 to 255",
                         text);
    return true;
}

/* The option that a flag stands for, or NULL. */
static const char *option_of(const struct arguments_flag *flag, char *text, size_t size)
{
    static const struct {
        enum flag_id flag;
        const char *format;
    } options[] = {
        {FLAG_SET, "%s"},
        {FLAG_RATE, "heap.rate=%s"},
        {FLAG_EXACT, "heap.rate=0"},
        {FLAG_GUARD, "guard=full"},
        {FLAG_DEBUG, "debug=on"},
        {FLAG_LEAKS, "heap.rate=0,leak.at_exit=on"},
        {FLAG_EVERY, "capture.interval=%s"},
        {FLAG_CPU, "cpu=on"},
        {FLAG_WALL, "cpu=on,cpu.clock=wall"},
        {FLAG_RATE_HZ, "cpu=on,cpu.rate=%s"},
        {FLAG_LOCKS, "locks=on"},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *mark = strstr(options[i].format, "%s");
        if (flag->flag->id != options[i].flag)
            continue;
        snprintf(text, size, "%.*s%s", mark ? (int)(mark - options[i].format) : INT_MAX,
                 options[i].format, mark ? flag->value : "");
        return text;
    }
    return NULL;
}

/* Has the library's own parser look at every --set. */
static bool options_check(const struct arguments *arguments, struct error *error)
{
    struct config options;
    config_defaults(&options);
    config_warn_to(warning_keep);
    for (size_t i = 0; i < arguments->flags_count; i++) {
        const struct arguments_flag *found = &arguments->flags[i];
        char text[OPTION_SIZE];
        if (!option_of(found, text, sizeof text))
            continue;
        config_text(&options, text, strlen(text), found->flag->name);
        if (option_warning[0]) {
            error_set(error, ERROR_USAGE, "%s", option_warning);
            return error_hint(error, "memoir options");
        }
    }
    return true;
}

static void warning_keep(const char *line, size_t length)
{
    size_t skipped = strlen("memoir: ");
    if (option_warning[0] == '\0' && length > skipped + 1)
        snprintf(option_warning, sizeof option_warning, "%.*s", (int)(length - skipped - 1),
                 line + skipped);
}

/* This program's file: as the kernel knows it, or without /proc as it was called. */
static void self_path(char path[PATH_MAX])
{
    const char *called = (const char *)getauxval(AT_EXECFN);
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    if (length <= 0 && (!called || !realpath(called, path)))
        path[0] = '\0';
}

bool launch_library(char path[PATH_MAX], const char *wanted, struct error *error)
{
    char self[PATH_MAX];
    char candidate[PATH_MAX + 64];

    if (wanted) {
        if (!library_use(path, wanted))
            return error_set(error, ERROR_USAGE, "--lib %s: %s", wanted, strerror(errno));
    } else {
        self_path(self);
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = '\0';
        static const char *const places[] = {"", "/../lib"};
        bool found = false;
        for (size_t i = 0; !found && i < sizeof places / sizeof *places; i++) {
            snprintf(candidate, sizeof candidate, "%s%s/%s", self, places[i], library_name);
            found = library_use(path, candidate);
        }
        if (!found && !library_use(path, MEMOIR_LIBDIR "/libmemoir.so")) {
            error_set(error, ERROR_INPUT, "%s is not in %s, %s/../lib or " MEMOIR_LIBDIR,
                      library_name, self, self);
            return error_hint(error, "memoir run --lib /path/to/%s -- COMMAND", library_name);
        }
    }
    if (path[strcspn(path, ": ")] != '\0') {
        error_set(error, ERROR_USAGE, "%s: the loader can't preload a path with a space or colon",
                  path);
        return error_hint(error, "copy it elsewhere, then: memoir run --lib /elsewhere/%s -- ...",
                          library_name);
    }
    return true;
}

/* Resolves the candidate, if it is a file that can be read. Sets errno otherwise. Absolute, because
 * the program and its children may start others from another folder. */
static bool library_use(char path[PATH_MAX], const char *candidate)
{
    struct stat stat_of_it;
    if (!realpath(candidate, path) || access(path, R_OK) != 0 || stat(path, &stat_of_it) != 0)
        return false;
    errno = EISDIR;
    if (S_ISDIR(stat_of_it.st_mode))
        return false;
    errno = ELIBBAD;
    return begins_with(path, "\177ELF");
}

/* The first bytes of a file. */
static bool begins_with(const char *path, const char *bytes)
{
    char start[8] = "";
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(start, 1, strlen(bytes), file) : 0;
    if (file)
        fclose(file);
    return got == strlen(bytes) && memcmp(start, bytes, got) == 0;
}

/* The file that execvp will start, for what is to be said about it before. */
bool launch_program(char path[PATH_MAX], const char *name, struct error *error)
{
    int reason = ENOENT;
    if (strchr(name, '/')) {
        if (program_try(path, "", 0, name, &reason))
            return true;
        return program_missing(name, reason, error);
    }
    const char *places = getenv("PATH");
    if (!places)
        places = "/bin:/usr/bin";
    while (*name) {
        size_t length = strcspn(places, ":");
        if (program_try(path, places, length, name, &reason))
            return true;
        if (places[length] == '\0')
            break;
        places += length + 1;
    }
    return program_missing(name, reason, error);
}

/* Whether directory/name can be executed. Otherwise `reason` becomes EACCES if it is there. */
static bool program_try(char path[PATH_MAX], const char *directory, size_t length, const char *name,
                        int *reason)
{
    struct stat stat_of_it;
    int written =
        snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, directory, length > 0 ? "/" : "", name);
    if (written < 0 || written >= PATH_MAX || stat(path, &stat_of_it) != 0)
        return false;
    if (S_ISDIR(stat_of_it.st_mode) || access(path, X_OK) != 0) {
        *reason = S_ISDIR(stat_of_it.st_mode) ? EISDIR : EACCES;
        return false;
    }
    return true;
}

static bool program_missing(const char *name, int reason, struct error *error)
{
    char best[NAME_MAX + 1] = "";
    if (reason != ENOENT) {
        error_set(error, ERROR_NOT_EXECUTABLE, "%s can't be executed: %s", name, strerror(reason));
        if (reason != EACCES || !strchr(name, '/'))
            return false;
        if (begins_with(name, "\177ELF") || begins_with(name, "#!"))
            return error_hint(error, "chmod +x %s", name);
        return error_hint(error, "its type: file %s", name);
    }
    if (strchr(name, '/')) {
        error_set(error, ERROR_NOT_FOUND, "no such program: %s", name);
        return suggest_file(name, "give the path of a program, or a name that is in PATH", error);
    }
    error_set(error, ERROR_NOT_FOUND, "no program '%s' in PATH", name);
    if (access(name, X_OK) == 0)
        return error_hint(error, "memoir run -- ./%s", name);
    program_nearest(name, best, sizeof best);
    return best[0] ? error_hint(error, "the nearest is: %s", best)
                   : error_hint(error, "give its path, or see: echo $PATH");
}

/* The program in PATH whose name is one slip away from `name`, or two if that is long. */
static void program_nearest(const char *name, char *best, size_t size)
{
    size_t best_distance = nearest_max(strlen(name)) + 1;
    const char *places = getenv("PATH");
    while (places && *places) {
        char directory[PATH_MAX];
        size_t length = strcspn(places, ":");
        snprintf(directory, sizeof directory, "%.*s", (int)length, places);
        places += length + (places[length] == ':');
        DIR *listing = opendir(directory);
        struct dirent *entry;
        while (listing && (entry = readdir(listing))) {
            size_t distance =
                nearest_distance(name, strlen(name), entry->d_name, strlen(entry->d_name));
            if (entry->d_name[0] != '.' && distance < best_distance) {
                best_distance = distance;
                snprintf(best, size, "%s", entry->d_name);
            }
        }
        if (listing)
            closedir(listing);
    }
}

/* Warns of a program that the library can't get into; false then. */
static bool program_judge(const char *path)
{
    struct inspection found;
    inspect_program(&found, path);
    switch (found.verdict) {
    case INSPECT_FINE:
        break;
    case INSPECT_STATIC:
        terminal_warn("%s is statically linked and keeps its own malloc, because no library "
                      "can be preloaded; link it with libmemoir.a",
                      found.file);
        break;
    case INSPECT_SECURE:
        terminal_warn("%s runs setuid, setgid or with capabilities and keeps its own malloc, "
                      "because the loader ignores LD_PRELOAD; run it as its owner, or link "
                      "it with -lmemoir",
                      found.file);
        break;
    case INSPECT_MACHINE:
        terminal_warn("%s is for another machine or word size and keeps its own malloc: build "
                      "libmemoir.so for it and give it with --lib",
                      found.file);
        break;
    case INSPECT_LOADER:
        terminal_warn("%s uses another C library (%s) and may not start with this libmemoir.so: "
                      "build one for it and give it with --lib",
                      found.file, found.loader);
        break;
    }
    return found.verdict == INSPECT_FINE;
}

static bool environment_prepare(const struct arguments *arguments, const char *library,
                                const struct record *record, struct error *error)
{
    const char *preload = getenv("LD_PRELOAD");
    char text[OPTION_SIZE];
    bool done = true;
    if (!preload || strncmp(preload, library, strlen(library)) != 0)
        done = variable_join("LD_PRELOAD", library, ':', preload);
    if (done && record)
        done = option_add(record_options(record, text, sizeof text));
    for (size_t i = 0; done && i < arguments->flags_count; i++)
        if (option_of(&arguments->flags[i], text, sizeof text))
            done = option_add(text);
    return done || error_memory(error);
}

static bool option_add(const char *option)
{
    const char *before = getenv("MEMOIR");
    return before && *before ? variable_join("MEMOIR", before, ',', option)
                             : variable_join("MEMOIR", option, ',', NULL);
}

/* name=first<separator>second, or name=first where there is no second. */
static bool variable_join(const char *name, const char *first, char separator, const char *second)
{
    if (!second || !*second)
        return setenv(name, first, 1) == 0;
    size_t size = strlen(first) + strlen(second) + 2;
    char *value = malloc(size);
    if (!value)
        return false;
    snprintf(value, size, "%s%c%s", first, separator, second);
    bool done = setenv(name, value, 1) == 0;
    free(value);
    return done;
}
