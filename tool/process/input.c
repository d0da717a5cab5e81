/* SPDX-License-Identifier: MIT */
/* See tool/process/input.h. */
#include "tool/process/input.h"

#include "tool/process/attach_client.h"
#include "tool/process/http.h"
#include "tool/process/proc.h"
#include "tool/terminal/terminal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool input_missing(const char *word, struct error *error)
{
    if (access(word, F_OK) == 0) {
        error_set(error, ERROR_INPUT, "%s is a folder, not a profile", word);
        return error_hint(error, "memoir diff %s   compares its first and last profile", word);
    }
    error_set(error, ERROR_INPUT, "%s: %s", word, strerror(errno));
    return suggest_file(word, "memoir run -- ./program   makes a profile", error);
}

/* By its name a file can be read again; without /proc it has none. */
static const char *standard_input(void)
{
    static const char name[] = "/dev/stdin";
    return access(name, R_OK) == 0 ? name : "-";
}

static bool file_read(struct profile *profile, const char *path, const char *name,
                      const struct read_options *options, struct error *error)
{
    struct read_error reason = {0};
    progress_start("loading", name);
    progress_ask(place_ask);
    bool right = profile_read_file(profile, path, options, &reason);
    progress_end();
    if (right && profile->failed)
        return error_set(error, ERROR_INPUT, "%s: out of memory", name);
    if (right)
        return true;
    if (reason.asked) {
        error_set(error, ERROR_USAGE, "%s: %s", name, reason.reason);
        bool several = profile->format == reader_capture.name ||
                       profile->format == reader_massif.name ||
                       profile->format == reader_heaptrack.name;
        return several ? error_hint(error, "memoir time %s   shows what there is", name)
                       : error_hint(error, "memoir run --every 1s -- ./program   records several "
                                           "moments");
    }
    error_set(error, ERROR_INPUT, "%s: %s", name, reason.reason);
    if (reason.offset > 0)
        error_set(error, ERROR_INPUT, "%s: %s, at byte %lu", name, reason.reason,
                  (unsigned long)reason.offset);
    return profile->format == reader_capture.name
               ? error_hint(error, "memoir doctor %s", name)
               : error_hint(error, "memoir help formats lists what can be read");
}

/* A file of our own that nobody else sees the name of for long. */
static int scratch_open(char *path, size_t size, struct error *error)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, size, "%s/memoir-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        error_set(error, ERROR_INPUT, "%s can't be made: %s", path, strerror(errno));
    return fd;
}

/* Asks the process for its profile as a file of ours. */
static bool process_dump(struct profile *profile, const char *word,
                         const struct read_options *options, int64_t *pid, struct error *error)
{
    char path[4096], name[64];
    struct process process;
    char *answer = NULL;
    long number = strtol(word, NULL, 10);
    if (strlen(word) > 9 || number <= 0 || !process_read(&process, (pid_t)number)) {
        error_set(error, ERROR_TARGET, "no file and no process %s", word);
        return error_hint(error, "memoir ps");
    }
    snprintf(name, sizeof name, "process %ld", number);
    int fd = scratch_open(path, sizeof path, error);
    if (fd < 0)
        return false;
    progress_start("asking", name);
    bool right = attach_ask(&process, "dump memoir", fd, &answer, error);
    progress_end();
    free(answer);
    close(fd);
    right = right && file_read(profile, path, name, options, error);
    unlink(path);
    *pid = number;
    return right;
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
    bool right = file ? http_profile(url, &fetching, file, error)
                      : error_set(error, ERROR_INPUT, "out of memory");
    if (file)
        fclose(file);
    else
        close(fd);
    right = right && file_read(profile, path, url, options, error);
    unlink(path);
    return right;
}

bool input_read(struct profile *profile, const char *word, const struct input_options *options,
                int64_t *pid, struct error *error)
{
    enum input_kind kind = input_kind_of(word);
    if (kind == INPUT_PROCESS)
        return process_dump(profile, word, &options->read, pid, error);
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
