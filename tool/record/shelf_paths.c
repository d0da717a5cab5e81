/* SPDX-License-Identifier: MIT */
/* See tool/record/shelf_paths.h. */
#include "tool/record/shelf_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool paths_read(const char *recorder, struct recorder_paths *paths);
static void name_make(const char *recorder, char name[PATH_MAX + 16]);
static void own_unlink(const char *name);

int paths_open(const char *path, bool of_any, struct stat *found)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, found) != 0 || !S_ISREG(found->st_mode) ||
                    (!of_any && found->st_uid != geteuid()))) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

int paths_open_own(const char *path)
{
    struct stat found;
    return paths_open(path, false, &found);
}

void paths_check_capture(const char *recorder, struct recorder_about *about)
{
    struct recorder_paths paths;
    if (about->capture[0] &&
        (!paths_read(recorder, &paths) || strcmp(paths.capture, about->capture) != 0))
        about->capture[0] = '\0';
}

void paths_check_beside(const char *recorder, struct recorder_about *about)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(recorder, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - recorder) : 0, recorder);
    if (!paths_is_within(about->capture, folder))
        about->capture[0] = '\0';
}

void paths_check_told(const char *recorder, struct recorder_told told[RECORDER_TOLD_COUNT])
{
    struct recorder_paths paths;
    bool known = paths_read(recorder, &paths);
    for (unsigned i = 0; i < RECORDER_TOLD_COUNT; i++)
        if (!known || strcmp(paths.told[i], told[i].path) != 0)
            told[i].path[0] = '\0';
}

static bool paths_read(const char *recorder, struct recorder_paths *paths)
{
    char name[PATH_MAX + 16];
    name_make(recorder, name);
    int kept = errno, fd = paths_open_own(name);
    bool whole = fd >= 0 && read(fd, paths, sizeof *paths) == (ssize_t)sizeof *paths &&
                 memcmp(paths->magic, RECORDER_PATHS_MAGIC, sizeof paths->magic) == 0;
    if (fd >= 0)
        close(fd);
    errno = kept;
    paths->capture[sizeof paths->capture - 1] = '\0';
    for (unsigned i = 0; i < RECORDER_TOLD_COUNT; i++)
        paths->told[i][sizeof paths->told[i] - 1] = '\0';
    return whole;
}

static void name_make(const char *recorder, char name[PATH_MAX + 16])
{
    const char *slash = strrchr(recorder, '/'), *base = slash ? slash + 1 : recorder;
    snprintf(name, PATH_MAX + 16, "%.*s.%s.paths", (int)(base - recorder), recorder, base);
}

void paths_unlink(const char *recorder)
{
    paths_drop(recorder);
    unlink(recorder);
}

void paths_drop(const char *recorder)
{
    char name[PATH_MAX + 16], temporary[PATH_MAX + 32];
    name_make(recorder, name);
    snprintf(temporary, sizeof temporary, "%s.new", name);
    own_unlink(name);
    own_unlink(temporary);
}

static void own_unlink(const char *name)
{
    int fd = paths_open_own(name);
    if (fd < 0)
        return;
    close(fd);
    unlink(name);
}

bool paths_is_within(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/' &&
           strchr(path + length + 1, '/') == NULL && path[length + 1] != '\0' &&
           path[length + 1] != '.';
}
