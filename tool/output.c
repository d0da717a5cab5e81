/* SPDX-License-Identifier: MIT */
/* See tool/output.h. */
#include "tool/output.h"

#include "tool/pack.h"
#include "tool/report/report.h"
#include "tool/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool failed(struct output *output, const char *what, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s: %s: %s", output->path ? output->path : "-", what,
                     strerror(errno));
}

/* A file of the mode that the one in its place has, or that a new one would have. */
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
    mode_t mask = umask(0);
    umask(mask);
    FILE *file = fdopen(fd, "w");
    if (fchmod(fd, there ? there->st_mode & 07777 : 0666 & ~mask) != 0 || !file) {
        unlink(output->temporary);
        if (file)
            fclose(file);
        else
            close(fd);
        return NULL;
    }
    return file;
}

bool output_start(struct output *output, const char *path, struct error *error)
{
    struct stat there;
    memset(output, 0, sizeof *output);
    if (strcmp(path, "-") == 0) {
        output->file = stdout;
        return true;
    }
    bool exists = stat(path, &there) == 0;
    /* Behind a symbolic link, the file that it leads to is replaced. */
    output->path = exists ? realpath(path, NULL) : strdup(path);
    if (output->path && exists && !S_ISREG(there.st_mode))
        output->file = fopen(path, "we");
    else if (output->path)
        output->file = temporary_open(output, exists ? &there : NULL);
    if (output->file)
        return true;
    error_set(error, ERROR_INPUT, "%s: it can't be written: %s", path, strerror(errno));
    free(output->temporary);
    free(output->path);
    memset(output, 0, sizeof *output);
    return false;
}

bool output_pack(struct output *output, const char *path, struct error *error)
{
    FILE *file = pack_open(output->file, path);
    if (!file)
        return error_set(error, ERROR_INPUT, "out of memory");
    output->packed = output->file;
    output->file = file;
    return true;
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

bool output_end(struct output *output, bool whole, struct error *error)
{
    bool done = whole;
    if (output->packed && !unpack(output) && done)
        done = failed(output, "it can't be written", error);
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
            done = failed(output, "it can't be written", error);
    }
    if (output->temporary && done && rename(output->temporary, output->path) != 0)
        done = failed(output, "it can't be renamed", error);
    if (output->temporary && !done)
        unlink(output->temporary);
    free(output->temporary);
    free(output->path);
    output->file = NULL;
    output->path = output->temporary = NULL;
    return done;
}

void output_say(const struct output *output, const char *path)
{
    char size[32];
    if (strcmp(path, "-") != 0 && !terminal_is_quiet())
        fprintf(stderr, "memoir: %s, %s\n", path,
                style_value(size, (double)output->bytes, "bytes"));
}
