/* SPDX-License-Identifier: MIT */
/*
 * See tool/process/input.h. A word is a process's number, a URL or a file. Several inputs add up,
 * except dumps of one run, each of which has all that is live: they are moments of one profile.
 * They are recognised by what they say of their process, or by names that differ in a number only,
 * which takes a look at the next input before the present one is done.
 */
#include "tool/process/input.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/process/attach_client.h"
#include "tool/process/http.h"
#include "tool/process/proc.h"
#include "tool/terminal/terminal.h"

/* Inputs, one after the other; of the next one it may be necessary to know whose it is. */
struct reading {
    const char *const *inputs;
    size_t count, at;
    const struct input_options *options;
    int64_t *pid;
    struct profile ahead; /* inputs[at], if that was read already */
    bool is_ahead;
};

static bool all_digits(const char *word);
static bool is_url(const char *word);
static bool runs_add(struct profile *profile, struct reading *reading, struct error *error);
static bool run_read(struct profile *profile, struct reading *reading, struct error *error);
static bool next_read(struct reading *reading, struct profile *profile, struct error *error);
static bool input_read(struct profile *profile, const char *word,
                       const struct input_options *options, int64_t *pid, struct error *error);
static bool process_dump(struct profile *profile, const char *word,
                         const struct input_options *options, int64_t *pid, struct error *error);
static int scratch_open(char *path, size_t size, struct error *error);
static bool file_read(struct profile *profile, const char *path, const char *name,
                      const struct read_options *options, struct error *error);
static bool url_read(struct profile *profile, const char *url, const struct read_options *options,
                     unsigned seconds, struct error *error);
static const char *standard_input(void);
static void put_back(struct reading *reading, const struct profile *profile);
static void same_run_warn(const struct profile *profile, const struct profile *more, const char *a,
                          const char *b);
static bool names_alike(const char *a, const char *b);

enum input_kind input_kind_of(const char *word)
{
    static const char elf[] = "\177ELF";
    struct stat stat_;
    char start[4] = "";
    if (strcmp(word, "-") == 0)
        return INPUT_FILE;
    if (stat(word, &stat_) == 0 && !S_ISDIR(stat_.st_mode)) {
        FILE *file = S_ISREG(stat_.st_mode) ? fopen(word, "re") : NULL;
        bool program = file && fread(start, 1, sizeof start, file) == sizeof start &&
                       memcmp(start, elf, sizeof start) == 0;
        if (file)
            fclose(file);
        return program ? INPUT_PROGRAM : INPUT_FILE;
    }
    if (lstat(word, &stat_) == 0 && S_ISLNK(stat_.st_mode))
        return INPUT_FILE; /* that can't be opened, which is said then */
    return all_digits(word) ? INPUT_PROCESS : is_url(word) ? INPUT_URL : INPUT_NOTHING;
}

static bool all_digits(const char *word)
{
    return word[0] && word[strspn(word, "0123456789")] == '\0';
}

/* http://..., or host:port/... as the old tools took it. */
static bool is_url(const char *word)
{
    if (strncmp(word, "http://", 7) == 0 || strncmp(word, "https://", 8) == 0)
        return true;
    const char *colon = strchr(word, ':');
    if (!colon || colon == word || !isdigit((unsigned char)colon[1]) ||
        memchr(word, '/', (size_t)(colon - word)))
        return false;
    const char *behind = colon + 1 + strspn(colon + 1, "0123456789");
    return *behind == '\0' || *behind == '/';
}

bool input_looks_like_file(const char *word)
{
    static const char *const endings[] = {".memoir", ".heap", ".pb.gz",  ".pb",   ".prof",
                                          ".gz",     ".zst",  ".folded", ".json", ".pprof"};
    size_t length = strlen(word);
    if (word[0] == '/' || strncmp(word, "./", 2) == 0 || strncmp(word, "../", 3) == 0)
        return true;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(word + length - ending, endings[i]) == 0)
            return true;
    }
    return false;
}

bool input_missing(const char *word, struct error *error)
{
    if (access(word, F_OK) == 0) {
        error_set(error, ERROR_INPUT, "%s is a folder, not a profile", word);
        return error_hint(error, "memoir diff %s   compares its first and last profile", word);
    }
    error_set(error, ERROR_INPUT, "%s: %s", word, strerror(errno));
    return suggest_file(word, "memoir run -- ./program   makes a profile", error);
}

char *input_name_of(const char *const *inputs, size_t count)
{
    char text[512];
    bool process = input_kind_of(inputs[0]) == INPUT_PROCESS;
    int length = snprintf(text, sizeof text, "%s%s", process ? "process " : "", inputs[0]);
    if (count > 1 && length > 0 && (size_t)length < sizeof text)
        snprintf(text + length, sizeof text - (size_t)length, " and %zu more", count - 1);
    return strdup(text);
}

bool input_read_all(struct profile *profile, const char *const *inputs, size_t count,
                    const struct input_options *options, int64_t *pid, struct error *error)
{
    struct reading reading = {.inputs = inputs, .count = count, .options = options, .pid = pid};
    bool ok = runs_add(profile, &reading, error);
    if (reading.is_ahead)
        profile_free(&reading.ahead);
    return ok;
}

/* Adds up, but for moments of one run. */
static bool runs_add(struct profile *profile, struct reading *reading, struct error *error)
{
    const char *const *inputs = reading->inputs;
    if (!run_read(profile, reading, error))
        return false;
    while (reading->at < reading->count) {
        size_t at = reading->at;
        struct profile more;
        profile_start(&more);
        bool ok = run_read(&more, reading, error);
        if (ok && at == 1 && !reading->options->add_up)
            same_run_warn(profile, &more, inputs[0], inputs[1]);
        if (ok && !profile_merge(profile, &more, 1))
            ok = error_set(error, ERROR_INPUT, "%s can't be added to %s: %s", inputs[at], inputs[0],
                           profile->failed ? error_out_of_memory : "their sums are too large");
        profile_free(&more);
        if (!ok)
            return false;
    }
    profile_settle(profile);
    return true;
}

/* A profile and those behind it that are of the same process: moments of one run. */
static bool run_read(struct profile *profile, struct reading *reading, struct error *error)
{
    if (!next_read(reading, profile, error))
        return false;
    size_t left = reading->count - reading->at, used = 1;
    if (left == 0 || reading->options->add_up || profile->pid <= 0)
        return true;
    struct profile *moments = calloc(left + 1, sizeof *moments);
    if (!moments)
        return error_memory(error);
    bool ok = true, one = true;
    moments[0] = *profile;
    profile_start(profile);
    while (reading->at < reading->count && ok && one) {
        profile_start(&moments[used]);
        ok = next_read(reading, &moments[used], error);
        one = !ok || series_of_one(&moments[0], &moments[used]);
        if (one)
            used++;
        else
            put_back(reading, &moments[used]);
    }
    if (ok && !series_make(profile, moments, used))
        ok = error_memory(error);
    if (ok && used > 1)
        profile_warn(profile,
                     "%zu dumps of one process, %ld: showing the last; the others are its "
                     "history",
                     used, (long)profile->pid);
    for (size_t i = 0; i < used; i++)
        profile_free(&moments[i]);
    free(moments);
    return ok;
}

/* Into an empty profile. */
static bool next_read(struct reading *reading, struct profile *profile, struct error *error)
{
    const char *input = reading->inputs[reading->at++];
    if (!reading->is_ahead)
        return input_read(profile, input, reading->options, reading->pid, error);
    profile_free(profile);
    *profile = reading->ahead;
    reading->is_ahead = false;
    return true;
}

static bool input_read(struct profile *profile, const char *word,
                       const struct input_options *options, int64_t *pid, struct error *error)
{
    enum input_kind kind = input_kind_of(word);
    if (kind == INPUT_PROCESS)
        return process_dump(profile, word, options, pid, error);
    if (kind == INPUT_URL)
        return url_read(profile, word, &options->read, options->seconds, error);
    if (kind == INPUT_FILE)
        return file_read(profile, strcmp(word, "-") == 0 ? standard_input() : word, word,
                         &options->read, error);
    if (kind == INPUT_PROGRAM) {
        error_set(error, ERROR_INPUT, "%s is a program, not a profile", word);
        return error_hint(error, "memoir run -- %s", word);
    }
    return input_missing(word, error);
}

static bool process_find(struct process *process, const char *word, struct error *error)
{
    long number = strtol(word, NULL, 10);
    if (strlen(word) <= 9 && number > 0 && process_read(process, (pid_t)number))
        return true;
    error_set(error, ERROR_TARGET, "no file and no process %s", word);
    error_hint(error, "memoir ps");
    return false;
}

/* As docs/LEAKS.md promises it. */
static void pause_tell(const struct process *process, FILE *file)
{
    double mib = (double)process->own_bytes / (1 << 20);
    double ms = 10 + 1.5 * process->threads / 100 + 20 * mib / 1024;
    fprintf(file,
            "memoir: a scan of process %d, %.0f MiB and %u %s: its threads stand still for about "
            "%.0f ms, longer if processors are busy\n",
            (int)process->pid, mib, process->threads, process->threads == 1 ? "thread" : "threads",
            ms);
}

bool input_scan_pause(const char *word, FILE *file, struct error *error)
{
    struct process process;
    if (!process_find(&process, word, error))
        return false;
    pause_tell(&process, file);
    return true;
}

/* Asks the process for its profile as a file of ours. */
static bool process_dump(struct profile *profile, const char *word,
                         const struct input_options *options, int64_t *pid, struct error *error)
{
    char path[4096], name[64];
    struct process process;
    char *answer = NULL;
    if (!process_find(&process, word, error))
        return false;
    long number = process.pid;
    snprintf(name, sizeof name, "process %ld", number);
    bool scans = options->ask && strncmp(options->ask, "leaks", 5) == 0;
    if (scans && !terminal_is_quiet() && !attach_refusal(&process))
        pause_tell(&process, stderr);
    int fd = scratch_open(path, sizeof path, error);
    if (fd < 0)
        return false;
    progress_start("asking", name);
    bool ok = attach_ask(&process, options->ask ? options->ask : "dump memoir", fd, &answer, error);
    progress_end();
    free(answer);
    close(fd);
    ok = ok && file_read(profile, path, name, &options->read, error);
    unlink(path);
    *pid = number;
    return ok;
}

/* A file of our own, whose name is gone as soon as it is open. */
static int scratch_open(char *path, size_t size, struct error *error)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, size, "%s/memoir-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        error_set(error, ERROR_INPUT, "can't create %s: %s", path, strerror(errno));
    return fd;
}

static bool file_read(struct profile *profile, const char *path, const char *name,
                      const struct read_options *options, struct error *error)
{
    struct read_error reason = {0};
    progress_start("loading", name);
    progress_ask(place_ask);
    bool ok = profile_read_file(profile, path, options, &reason);
    progress_end();
    if (ok && profile->failed)
        return error_set(error, ERROR_INPUT, "%s: %s", name, error_out_of_memory);
    if (ok)
        return true;
    if (reason.asked) {
        error_set(error, ERROR_USAGE, "%s: %s", name, reason.reason);
        return profile->traits & TRAIT_MOMENTS
                   ? error_hint(error, "memoir time %s   lists its moments", name)
                   : error_hint(error, "memoir run --every 1s -- ./program   records several "
                                       "moments");
    }
    error_set(error, ERROR_INPUT, "%s: %s", name, reason.reason);
    if (reason.offset > 0)
        error_set(error, ERROR_INPUT, "%s: %s, at byte %lu", name, reason.reason,
                  (unsigned long)reason.offset);
    return profile->traits & TRAIT_CAPTURE
               ? error_hint(error, "memoir doctor %s", name)
               : error_hint(error, "memoir help formats   lists the formats that can be read");
}

static bool url_read(struct profile *profile, const char *url, const struct read_options *options,
                     unsigned seconds, struct error *error)
{
    char path[4096];
    int fd = scratch_open(path, sizeof path, error);
    if (fd < 0)
        return false;
    struct http_options fetching = {.seconds = seconds};
    FILE *file = fdopen(fd, "w");
    bool ok = file ? http_profile(url, &fetching, file, error) : error_memory(error);
    if (file)
        fclose(file);
    else
        close(fd);
    ok = ok && file_read(profile, path, url, options, error);
    unlink(path);
    return ok;
}

/* By its name a file can be read again; without /proc it has none. */
static const char *standard_input(void)
{
    static const char name[] = "/dev/stdin";
    return access(name, R_OK) == 0 ? name : "-";
}

static void put_back(struct reading *reading, const struct profile *profile)
{
    reading->ahead = *profile;
    reading->is_ahead = true;
    reading->at--;
}

/* Dumps of one run each have all that is live: as a sum it counts again and again. Those that do
 * not say whose they are may have names that do. */
static void same_run_warn(const struct profile *profile, const struct profile *more, const char *a,
                          const char *b)
{
    bool dumps = profile->kind == PROFILE_HEAP && profile->format == more->format &&
                 (profile->traits & TRAIT_DUMP) && names_alike(a, b);
    if (!dumps)
        return;
    terminal_warn("%s and %s look like dumps of one run: blocks live in both count "
                  "twice; to compare them: memoir diff %s %s",
                  a, b, a, b);
}

/* Whether two names differ in numbers only: prof.0001.heap and prof.0002.heap. */
static bool names_alike(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0123456789");
            b += strspn(b, "0123456789");
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

char *input_newest(void)
{
    static const char ending[] = ".memoir";
    struct timespec best = {0};
    char *name = NULL;
    DIR *folder = opendir(".");
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        struct stat stat_;
        size_t length = strlen(entry->d_name);
        if (length < sizeof ending ||
            strcmp(entry->d_name + length - sizeof ending + 1, ending) != 0 ||
            stat(entry->d_name, &stat_) != 0 || !S_ISREG(stat_.st_mode))
            continue;
        if (name && (stat_.st_mtim.tv_sec < best.tv_sec || (stat_.st_mtim.tv_sec == best.tv_sec &&
                                                            stat_.st_mtim.tv_nsec <= best.tv_nsec)))
            continue;
        best = stat_.st_mtim;
        free(name);
        name = strdup(entry->d_name);
    }
    if (folder)
        closedir(folder);
    return name;
}
