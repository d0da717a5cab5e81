/* SPDX-License-Identifier: MIT */
/*
 * See tool/record/shelf_state.h. Files of other users are read whole and never mapped: a file that
 * becomes shorter meanwhile is a short one, and no SIGBUS.
 */
#include "tool/record/shelf_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tool/memory/memory.h"
#include "tool/process/process.h"
#include "tool/record/shelf_paths.h"

/* No recorder file is as long: another user's may not take all memory here. */
enum { FILE_MAX = 1 << 30 };

static char *bytes_read(int fd, size_t *size);
static bool state_is_alive(int fd, const struct state *state);
static bool is_locked(int fd);

size_t states_read(const struct shelf_about *about, struct state **states)
{
    bool of_any = shelf_is_for_all(about);
    char name[PATH_MAX + NAME_MAX + 2];
    const char *reason;
    size_t count = 0, room = 0;
    struct dirent *entry;
    DIR *listing = opendir(about->states);
    *states = NULL;
    while (listing && (entry = readdir(listing))) {
        snprintf(name, sizeof name, "%s/%s", about->states, entry->d_name);
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, SHELF_ABOUT) == 0 ||
            strlen(name) >= PATH_MAX || !list_reserve(states, &room, count + 1, sizeof **states))
            continue;
        count += state_read(&(*states)[count], name, of_any, &reason);
    }
    if (listing)
        closedir(listing);
    return count;
}

bool state_read(struct state *state, const char *path, bool of_any, const char **reason)
{
    size_t size = 0;
    struct stat found = {0};
    *reason = NULL;
    snprintf(state->path, sizeof state->path, "%s", path);
    int fd = paths_open(path, of_any, &found);
    state->owner = found.st_uid;
    state->group = found.st_gid;
    char *bytes = fd < 0 ? NULL : bytes_read(fd, &size);
    int failure = errno;
    bool ok = bytes && recorder_describe(bytes, size, &state->about, reason);
    if (ok && state->owner == geteuid())
        paths_check_capture(path, &state->about);
    else if (ok)
        paths_check_beside(path, &state->about);
    state->alive = ok && state_is_alive(fd, state);
    state->damage = ok && !state->alive ? recorder_damage(bytes, size) : NULL;
    state->blank = ok && !state->alive && recorder_is_blank(bytes, size);
    if (fd >= 0)
        close(fd);
    free(bytes);
    errno = failure;
    return ok;
}

/* Recorder files have no holes: another user's that has some would take memory here that it did
 * not take there. */
static char *bytes_read(int fd, size_t *size)
{
    enum { BLOCK_SIZE = 512 };
    struct stat found;
    if (fstat(fd, &found) != 0 || found.st_size > FILE_MAX ||
        (found.st_uid != geteuid() && found.st_blocks * BLOCK_SIZE < found.st_size))
        return NULL;
    char *bytes = malloc((size_t)found.st_size + 1);
    ssize_t got;
    *size = 0;
    while (bytes && *size < (size_t)found.st_size &&
           (got = pread(fd, bytes + *size, (size_t)found.st_size - *size, (off_t)*size)) > 0)
        *size += (size_t)got;
    return bytes;
}

/* Its writer lives: it holds a lock; or, if the program has closed all descriptors, the process
 * with its id has the same start time, and its user if that is not ours: another user's file may
 * name any process. */
static bool state_is_alive(int fd, const struct state *state)
{
    const struct recorder_about *about = &state->about;
    struct process_stat stat;
    struct process process;
    if (is_locked(fd))
        return true;
    if (about->ended || about->start_ticks == 0 || !process_stat(&stat, (pid_t)about->pid) ||
        stat.exiting || stat.start_ticks != about->start_ticks)
        return false;
    return state->owner == geteuid() ||
           (process_read(&process, (pid_t)about->pid) && process.user == state->owner);
}

/* A killed process keeps its lock until the kernel has taken its memory back, which takes 0.1 s or
 * more for a GiB: its end is waited for, 10 s for all files, as a process that shares descriptors
 * with one that ended keeps the lock, too. The owner's number is 0 in another namespace. */
static bool is_locked(int fd)
{
    enum { STEP_MS = 10, END_MS = 10000 };
    const struct timespec step = {0, STEP_MS * 1000000L};
    static unsigned waited_ms;
    for (;; waited_ms += STEP_MS) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if (fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
            return false;
        if (lock.l_pid <= 0 || !process_is_over(lock.l_pid) || waited_ms >= END_MS)
            return true;
        nanosleep(&step, NULL);
    }
}

bool state_take(struct state *state, const char *path, pid_t *pid, struct error *error)
{
    const char *reason;
    if (!state_read(state, path, false, &reason))
        return error_set(error, ERROR_INPUT, "%s: %s", path,
                         reason           ? reason
                         : errno == EPERM ? "another user's: recover it as that user"
                                          : strerror(errno));
    *pid = (pid_t)state->about.pid;
    if (!state->alive)
        return true;
    error_set(error, ERROR_TARGET, "%s: process %u still writes it", path, state->about.pid);
    return error_hint(error, "memoir top %u", state->about.pid);
}

char *state_bytes(const char *path, bool of_any, size_t *size)
{
    struct stat found;
    int fd = paths_open(path, of_any, &found);
    char *bytes = fd < 0 ? NULL : bytes_read(fd, size);
    if (fd >= 0)
        close(fd);
    return bytes;
}

char *state_capture_bytes(const struct state *state, size_t *size)
{
    struct stat found;
    int fd = state->about.capture[0] ? paths_open(state->about.capture, true, &found) : -1;
    char *bytes = fd < 0 || found.st_uid != state->owner ? NULL : bytes_read(fd, size);
    if (fd >= 0)
        close(fd);
    return bytes;
}
