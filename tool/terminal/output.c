/* SPDX-License-Identifier: MIT */
/*
 * See tool/terminal/output.h. The temporary file lies beside the target, because rename works
 * within one file system only. Signals that end the command remove it: the handler knows its name,
 * unlinks it and lets the signal happen again, so that the status tells what it was. A limit on the
 * size of files is an error like others.
 */
#include "tool/terminal/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tool/memory/memory.h"
#include "tool/terminal/pack.h"
#include "tool/terminal/screen.h"
#include "tool/terminal/style.h"

enum { OUTPUT_MODE = 0600 };

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const char *volatile unfinished; /* its name */
static struct sigaction before[COUNT_OF(ends)], before_limit;

static bool is_link(const char *path);
static bool is_descriptor(const char *path);
static bool is_standard(const char *path);
static bool start(struct output *output, const char *path, bool open_special, struct error *error);
static FILE *temporary_open(struct output *output, const struct stat *there);
static bool unpack(struct output *output);
static bool failed(struct output *output, const char *what, struct error *error);
static void cleanup_start(const char *path);
static void leave(int number);
static void cleanup_end(void);

/* ---- a file ----------------------------------------------------------------------------- */

bool output_refuse_link(const char *path, struct error *error)
{
    char target[PATH_MAX];
    if (!is_link(path))
        return true;
    error_set(error, ERROR_INPUT, "%s is a symbolic link, which is not followed", path);
    return realpath(path, target) ? error_hint(error, "give the file itself: %s", target)
                                  : error_hint(error, "give another name, or rm %s", path);
}

static bool is_link(const char *path)
{
    struct stat there;
    return !is_descriptor(path) && lstat(path, &there) == 0 && S_ISLNK(there.st_mode);
}

/* Whether the path names a descriptor of ours, as the shell's >(...) does: a link only in form. */
static bool is_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0 &&
            !strchr(path + strlen(folders[i]), '/'))
            return true;
    return strcmp(path, "/dev/stderr") == 0 || is_standard(path);
}

/* What was opened by the name of a file that is open already is not to be replaced. */
static bool is_standard(const char *path)
{
    static const char *const names[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(path, names[i]) == 0)
            return true;
    return false;
}

FILE *output_open(const char *path, bool append)
{
    bool descriptor = is_descriptor(path);
    int flags = O_WRONLY | O_CLOEXEC | (append ? O_APPEND : O_TRUNC);
    int fd = open(path, flags | (descriptor ? 0 : O_CREAT | O_NOFOLLOW), OUTPUT_MODE);
    FILE *file = fd < 0 ? NULL : fdopen(fd, append ? "a" : "w");
    if (fd >= 0 && !file)
        close(fd);
    return file;
}

bool output_start(struct output *output, const char *path, struct error *error)
{
    memset(output, 0, sizeof *output);
    if (is_standard(path)) {
        output->file = stdout;
        return true;
    }
    return output_refuse_link(path, error) && start(output, path, true, error);
}

bool output_replace(struct output *output, const char *path, struct error *error)
{
    memset(output, 0, sizeof *output);
    return output_refuse_link(path, error) && start(output, path, false, error);
}

static bool start(struct output *output, const char *path, bool open_special, struct error *error)
{
    struct stat there;
    bool exists = stat(path, &there) == 0;
    bool special = open_special && exists && (!S_ISREG(there.st_mode) || is_descriptor(path));
    output->path = strdup(path);
    if (output->path && special)
        output->file = output_open(path, false);
    else if (output->path)
        output->file = temporary_open(output, exists ? &there : NULL);
    if (output->file)
        return true;
    int reason = errno;
    error_set(error, ERROR_INPUT, "can't write %s: %s", path, strerror(reason));
    if (reason == ENOENT || reason == ENOTDIR)
        error_hint(error, "make its folder first, or give another name");
    free(output->temporary);
    free(output->path);
    memset(output, 0, sizeof *output);
    return false;
}

/* The new file gets the mode of the one that it replaces, or 0600: profiles tell much about a
 * program. A file that another user put there, as all users may in /tmp, gives no rights.
 */
static FILE *temporary_open(struct output *output, const struct stat *there)
{
    if (asprintf(&output->temporary, "%s.XXXXXX", output->path) < 0) {
        output->temporary = NULL;
        return NULL;
    }
    int fd = mkstemp(output->temporary);
    if (fd < 0) {
        free(output->temporary);
        output->temporary = NULL;
        return NULL;
    }
    FILE *file = fdopen(fd, "w");
    bool own = there && there->st_uid == geteuid();
    if (fchmod(fd, own ? there->st_mode & 0777 : OUTPUT_MODE) != 0 || !file) {
        unlink(output->temporary);
        if (file)
            fclose(file);
        else
            close(fd);
        return NULL;
    }
    cleanup_start(output->temporary);
    return file;
}

bool output_pack(struct output *output, const char *path, struct error *error)
{
    FILE *file = pack_open(output->file, path);
    if (!file)
        return error_memory(error);
    output->packed = output->file;
    output->file = file;
    return true;
}

bool output_whole(struct error *error)
{
    return !shortage_is_noted() || error_memory(error);
}

bool output_end(struct output *output, bool whole, struct error *error)
{
    bool done = whole && output_whole(error);
    if (output->packed && !unpack(output) && done)
        done = failed(output, "write", error);
    if (output->file) {
        long at = ftell(output->file);
        output->bytes = at > 0 ? (uint64_t)at : 0;
        errno = 0;
        bool written = fflush(output->file) == 0 && !ferror(output->file);
        if (!written && errno == 0)
            errno = EIO; /* one of the writes before: its reason is gone */
        if (output->path && fclose(output->file) != 0)
            written = false;
        if (done && !written)
            done = failed(output, "write", error);
    }
    if (output->temporary && done && rename(output->temporary, output->path) != 0)
        done = failed(output, "rename a file to", error);
    if (output->temporary && !done)
        unlink(output->temporary);
    if (output->temporary)
        cleanup_end();
    free(output->temporary);
    free(output->path);
    output->file = NULL;
    output->path = output->temporary = NULL;
    return done;
}

/* The file itself again, with all that was packed in it. */
static bool unpack(struct output *output)
{
    bool whole = fflush(output->file) == 0 && !ferror(output->file);
    whole = fclose(output->file) == 0 && whole;
    output->file = output->packed;
    output->packed = NULL;
    return whole;
}

void output_say(const struct output *output, const char *path)
{
    char size[32], clean[PATH_MAX];
    if (is_standard(path) || terminal_is_quiet())
        return;
    snprintf(clean, sizeof clean, "%s", path);
    terminal_clean(clean, strlen(clean));
    fprintf(stderr, "memoir: %s, %s\n", clean,
            style_value(size, (double)output->bytes, UNIT_BYTES));
}

void output_say_file(const char *path)
{
    struct stat there;
    if (stat(path, &there) == 0)
        output_say(&(struct output){.bytes = (uint64_t)there.st_size}, path);
}

static bool failed(struct output *output, const char *what, struct error *error)
{
    return error_set(error, ERROR_INPUT, "can't %s %s: %s", what,
                     output->path ? output->path : "standard output", strerror(errno));
}

/* ---- signals that end the command remove the temporary file ----------------------------- */

static void cleanup_start(const char *path)
{
    struct sigaction leaves = {.sa_handler = leave, .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
    struct sigaction ignores = {.sa_handler = SIG_IGN};
    unfinished = path;
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (sigaction(ends[i], NULL, &before[i]) == 0 && before[i].sa_handler == SIG_DFL)
            sigaction(ends[i], &leaves, NULL);
    sigaction(SIGXFSZ, &ignores,
              &before_limit); /* writing beyond the size limit fails as other errors do */
}

/* The signal is raised again without a handler, so that the parent sees by which one we end. */
static void leave(int number)
{
    if (unfinished)
        unlink(unfinished);
    raise(number);
}

static void cleanup_end(void)
{
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (before[i].sa_handler == SIG_DFL)
            sigaction(ends[i], &before[i], NULL);
    sigaction(SIGXFSZ, &before_limit, NULL);
    unfinished = NULL;
}
