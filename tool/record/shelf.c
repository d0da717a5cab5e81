/* SPDX-License-Identifier: MIT */
/*
 * See tool/record/shelf.h. Whether a writer still lives is asked of the kernel: it holds a lock on
 * its file, or, where the program has closed all descriptors, the process of that number started at
 * the same tick. A number alone proves nothing, since it is used again. Files are opened only if
 * they are ours: every user may write to /dev/shm.
 */
#include "tool/record/shelf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tool/memory/memory.h"
#include "tool/process/process.h"
#include "tool/profile/capture/capture.h"
#include "tool/record/record_folder.h"
#include "tool/record/shelf_paths.h"
#include "tool/record/shelf_told.h"

enum { PLACES = 3, FILE_MAX = 1 << 30 };
enum { SHELF_MODE = 0711, STATES_MODE = 01733 }; /* of root's */
static const char about_name[] = "about";
static const char kept_folder[] = "/dev/shm"; /* the library's choice, whatever ours is */

/* One recorder file. */
struct state {
    char path[PATH_MAX];
    struct recorder_about about;
    bool alive;
    const char *damage; /* what is wrong with it, or NULL */
    uid_t owner;
    gid_t group;
};

static const char *place(unsigned which);
static void states_make(struct shelf_about *about);
static void line_take(const char *line, const char *key, char *value, size_t size);
static bool is_for_all(const struct shelf_about *about);
static size_t states_read(const struct shelf_about *about, struct state **states);
static bool state_take(struct state *state, const char *path, pid_t *pid, struct error *error);
static bool state_read(struct state *state, const char *path, bool of_any, const char **reason);
static char *bytes_read(int fd, size_t *size);
static bool state_is_alive(int fd, const struct state *state);
static void capture_place(const struct shelf_about *about, const struct state *state, char *to,
                          size_t size);
static void name_free(char *to, size_t size, const char *start, uint32_t pid, const char *ending);
static bool capture_write(const struct state *state, const char *to, struct error *error);
static bool is_within(const char *path, const char *folder);
static bool is_starting(const struct shelf_about *about);
static void told_write(const struct state *state, const char *bytes, size_t size);
static char *file_read(const char *path, bool of_any, size_t *size);
static bool capture_continues(const struct state *state, bool *empty);
static bool kept_write(const struct state *state, char to[PATH_MAX], struct error *error);
static void folder_drop(const char *path);

void shelf_make(struct shelf_about *about)
{
    for (unsigned i = 0; i < PLACES; i++) {
        const char *folder = place(i);
        if (!folder || strlen(folder) > PATH_MAX / 2 || strchr(folder, ',') || strchr(folder, '#'))
            continue;
        snprintf(about->path, sizeof about->path, "%s/memoir-%u-XXXXXX", folder, geteuid());
        if (!mkdtemp(about->path))
            continue;
        memcpy(about->states, about->path, sizeof about->states);
        if (geteuid() == 0)
            states_make(about);
        return;
    }
    about->path[0] = '\0';
}

/* Programs that root starts may change their user, and make files then: a folder for all, in one
 * that only lets through who knows its name, which is in the environment of these programs alone. A
 * file is removed by its owner only (the sticky bit). */
static void states_make(struct shelf_about *about)
{
    unsigned long long name;
    char path[PATH_MAX + 32];
    if (getentropy(&name, sizeof name) != 0)
        return;
    snprintf(path, sizeof path, "%s/%016llx", about->path, name);
    if (strlen(path) >= sizeof about->states || mkdir(path, 0700) != 0)
        return;
    if (chmod(path, STATES_MODE) == 0 && chmod(about->path, SHELF_MODE) == 0)
        memcpy(about->states, path, sizeof about->states);
    else
        rmdir(path);
}

static const char *place(unsigned which)
{
    const char *const places[PLACES] = {"/dev/shm", getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR")};
    return places[which] && places[which][0] == '/' ? places[which] : NULL;
}

int shelf_save(const struct shelf_about *about)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/%s", about->path, about_name);
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    flock(fd, LOCK_EX | LOCK_NB);
    sigset_t limit, before;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigprocmask(SIG_BLOCK, &limit, &before); /* a limit on the size of files ends no run */
    if (ftruncate(fd, 0) == 0)
        dprintf(fd,
                "folder:%s\nstates:%s\noutput:%s\nformat:%s\nprogram:%s\ncommand:%s\npid:%ld\n"
                "start:%llu\nrun:%ld\n",
                about->folder, about->states, about->wanted, about->format, about->program,
                about->command, (long)about->pid, about->start_ticks, (long)about->run);
    sigtimedwait(&limit, NULL, &(struct timespec){0, 0});
    sigprocmask(SIG_SETMASK, &before, NULL);
    return fd;
}

bool shelf_load(struct shelf_about *about, const char *path)
{
    char name[PATH_MAX + 16], line[PATH_MAX + 64], pid[24] = "", run[24] = "", start[24] = "";
    memset(about, 0, sizeof *about);
    snprintf(about->path, sizeof about->path, "%s", path);
    snprintf(name, sizeof name, "%s/%s", path, about_name);
    int fd = paths_open_own(name);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        line_take(line, "folder:", about->folder, sizeof about->folder);
        line_take(line, "states:", about->states, sizeof about->states);
        line_take(line, "output:", about->wanted, sizeof about->wanted);
        line_take(line, "format:", about->format, sizeof about->format);
        line_take(line, "program:", about->program, sizeof about->program);
        line_take(line, "command:", about->command, sizeof about->command);
        line_take(line, "pid:", pid, sizeof pid);
        line_take(line, "start:", start, sizeof start);
        line_take(line, "run:", run, sizeof run);
    }
    fclose(file);
    if (!is_within(about->states, path))
        memcpy(about->states, about->path, sizeof about->states);
    about->pid = atoi(pid);
    about->start_ticks = strtoull(start, NULL, 10);
    about->run = atoi(run);
    return about->folder[0] == '/';
}

static void line_take(const char *line, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);
    if (strncmp(line, key, length) == 0)
        snprintf(value, size, "%.*s", (int)strcspn(line + length, "\n"), line + length);
}

size_t shelf_list(struct shelf_about **list)
{
    char start[32], path[PATH_MAX];
    size_t count = 0, room = 0;
    *list = NULL;
    snprintf(start, sizeof start, "memoir-%u-", geteuid());
    for (unsigned i = 0; i < PLACES; i++) {
        struct dirent *entry;
        DIR *listing = place(i) ? opendir(place(i)) : NULL;
        while (listing && (entry = readdir(listing))) {
            struct stat found; /* a link would lead to what another user chose */
            if (strncmp(entry->d_name, start, strlen(start)) != 0 ||
                fstatat(dirfd(listing), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0 ||
                !S_ISDIR(found.st_mode) || found.st_uid != geteuid() ||
                !list_reserve(list, &room, count + 1, sizeof **list))
                continue;
            snprintf(path, sizeof path, "%.*s/%s", PATH_MAX / 2, place(i), entry->d_name);
            count += shelf_load(&(*list)[count], path);
        }
        if (listing)
            closedir(listing);
    }
    return count;
}

bool shelf_is_held(const struct shelf_about *about)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/%s", about->path, about_name);
    int fd = paths_open_own(path);
    bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0;
    if (fd >= 0)
        close(fd);
    return held;
}

pid_t shelf_running(const struct shelf_about *about)
{
    struct state *states;
    pid_t found = 0;
    size_t count = states_read(about, &states);
    for (size_t i = 0; i < count && found == 0; i++)
        if (states[i].alive)
            found = (pid_t)states[i].about.pid;
    free(states);
    return found == 0 && is_starting(about) ? about->pid : found;
}

/* The program of a recording that run has left lives, whether or not it has made its file yet. */
static bool is_starting(const struct shelf_about *about)
{
    struct process_stat stat;
    return about->start_ticks != 0 && process_stat(&stat, about->pid) && !stat.exiting &&
           stat.start_ticks == about->start_ticks;
}

/* Whether other users may make recorder files, too. */
static bool is_for_all(const struct shelf_about *about)
{
    return strcmp(about->states, about->path) != 0;
}

static size_t states_read(const struct shelf_about *about, struct state **states)
{
    bool of_any = is_for_all(about);
    char name[PATH_MAX + NAME_MAX + 2];
    const char *reason;
    size_t count = 0, room = 0;
    struct dirent *entry;
    DIR *listing = opendir(about->states);
    *states = NULL;
    while (listing && (entry = readdir(listing))) {
        snprintf(name, sizeof name, "%s/%s", about->states, entry->d_name);
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, about_name) == 0 ||
            strlen(name) >= PATH_MAX || !list_reserve(states, &room, count + 1, sizeof **states))
            continue;
        count += state_read(&(*states)[count], name, of_any, &reason);
    }
    if (listing)
        closedir(listing);
    return count;
}

static bool state_read(struct state *state, const char *path, bool of_any, const char **reason)
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
    if (ok)
        paths_check_capture(path, &state->about);
    state->alive = ok && state_is_alive(fd, state);
    state->damage = ok && !state->alive ? recorder_damage(bytes, size) : NULL;
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

size_t shelf_collect(const struct shelf_about *about)
{
    struct state *states;
    struct error error = {0};
    if (is_for_all(about))
        chmod(about->states, SHELF_MODE); /* other users no longer add or exchange files */
    size_t count = states_read(about, &states), done = 0;
    for (size_t i = 0; i < count; i++) {
        char to[PATH_MAX + 64];
        if (states[i].alive)
            continue;
        capture_place(about, &states[i], to, sizeof to);
        bool written = capture_write(&states[i], to, &error);
        done += written;
        if (!written || states[i].damage != NULL) {
            /* the shelf is removed; this file of it must stay */
            name_free(to, sizeof to, about->path, states[i].about.pid, "");
            bool kept = rename(states[i].path, to) == 0;
            if (kept && written)
                terminal_warn("%s: %s; what could be read is in the recording, and the file is "
                              "kept as %s",
                              states[i].path, states[i].damage, to);
            else if (kept)
                terminal_warn("%s; nothing is lost:  memoir recover %s -o FILE", error.text, to);
            continue;
        }
        paths_unlink(states[i].path);
    }
    free(states);
    return done;
}

/* The capture that the process wrote, if it is in the folder and no other process's; else a name
 * there that is free. */
static void capture_place(const struct shelf_about *about, const struct state *state, char *to,
                          size_t size)
{
    const char *capture = state->about.capture;
    bool empty = false, here = is_within(capture, about->folder) && access(capture, F_OK) == 0;
    if (here && (capture_continues(state, &empty) || empty)) {
        snprintf(to, size, "%s%s", about->inside, strrchr(capture, '/'));
        return;
    }
    char start[PATH_MAX + 8];
    snprintf(start, sizeof start, "%s/run", about->inside);
    name_free(to, size, start, state->about.pid, ".memoir");
}

/* Whether it is a file, or a folder, of this folder, and not one of a folder below. */
static bool is_within(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/' &&
           strchr(path + length + 1, '/') == NULL && path[length + 1] != '\0' &&
           path[length + 1] != '.';
}

/* START-PID ENDING, or START-PID-2 ENDING and so on: what no file is called. Programs that one
 * process became, and first processes of containers, have the same number. */
static void name_free(char *to, size_t size, const char *start, uint32_t pid, const char *ending)
{
    snprintf(to, size, "%s-%u%s", start, pid, ending);
    for (unsigned number = 2; access(to, F_OK) == 0; number++)
        snprintf(to, size, "%s-%u-%u%s", start, pid, number, ending);
}

/* The capture of a recorder file's process as the file `to`, which may be the one it had; and the
 * files that the process was told to write. */
static bool capture_write(const struct state *state, const char *to, struct error *error)
{
    size_t size = 0, old_size = 0, made = 0;
    const char *reason = NULL;
    struct output output;
    char *bytes = file_read(state->path, true, &size);
    char *old = state->about.capture[0] ? file_read(state->about.capture, false, &old_size) : NULL;
    bool goes_on = bytes && old && recorder_continues(bytes, size, old, old_size);
    char *capture =
        bytes ? recorder_capture(bytes, size, goes_on ? old : NULL, old_size, &made, &reason)
              : NULL;
    bool ok = capture != NULL;
    if (ok)
        told_write(state, bytes, size);
    if (!ok)
        error_set(error, ERROR_INPUT, "%s: %s", state->path, reason ? reason : strerror(errno));
    else if ((ok = output_start(&output, to, error))) {
        ok = fwrite(capture, 1, made, output.file) == made;
        ok = output_end(&output, ok, error) && ok;
    }
    free(capture);
    free(old);
    free(bytes);
    return ok;
}

/* What the process was told to write, with the rights of its own user: it says itself where. What
 * can't be written is a warning. */
static void told_write(const struct state *state, const char *bytes, size_t size)
{
    char last[PATH_MAX];
    uid_t user = geteuid();
    gid_t group = getegid(), groups[NGROUPS_MAX];
    int count = getgroups(NGROUPS_MAX, groups);
    if (state->owner == user) {
        shelf_told(state->path, bytes, size, &state->about, false, last);
        return;
    }
    bool changed = count >= 0 && setgroups(0, NULL) == 0;
    if (changed && setegid(state->group) == 0 && seteuid(state->owner) == 0)
        shelf_told(state->path, bytes, size, &state->about, true, last);
    if (seteuid(user) != 0 || setegid(group) != 0 ||
        (changed && setgroups((size_t)count, groups) != 0))
        abort(); /* captures must not be written with half of the rights */
}

static char *file_read(const char *path, bool of_any, size_t *size)
{
    struct stat found;
    int fd = paths_open(path, of_any, &found);
    char *bytes = fd < 0 ? NULL : bytes_read(fd, size);
    if (fd >= 0)
        close(fd);
    return bytes;
}

bool shelf_look(const char *path, pid_t *pid, struct error *error)
{
    struct state state;
    return state_take(&state, path, pid, error);
}

/* Reads the state of a recorder file whose process has ended. */
static bool state_take(struct state *state, const char *path, pid_t *pid, struct error *error)
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

bool shelf_finish_file(const char *path, char to[PATH_MAX], pid_t *pid, struct error *error)
{
    struct state state;
    if (!state_take(&state, path, pid, error))
        return false;
    if (to[0] == '\0' && state.about.kept)
        return kept_write(&state, to, error);
    bool empty;
    if (to[0] == '\0' && state.about.capture[0] && access(state.about.capture, W_OK) == 0 &&
        (capture_continues(&state, &empty) || empty))
        snprintf(to, PATH_MAX, "%s", state.about.capture);
    if (to[0] == '\0')
        snprintf(to, PATH_MAX, "%.*s.memoir", PATH_MAX - 16, path);
    if (!capture_write(&state, to, error))
        return false;
    if (state.damage != NULL)
        terminal_warn("%s: %s; what could be read is in %s, and the file is kept", path,
                      state.damage, to);
    else
        paths_unlink(path);
    return true;
}

/* Whether the file by the name of the capture is the process's own. */
static bool capture_continues(const struct state *state, bool *empty)
{
    size_t size = 0, old_size = 0;
    char *bytes = file_read(state->path, true, &size);
    char *old = file_read(state->about.capture, false, &old_size);
    bool continues = bytes && old && recorder_continues(bytes, size, old, old_size);
    *empty = old && old_size == 0;
    free(old);
    free(bytes);
    return continues;
}

/* Only the files that the process was told to write; `to`: the last one. */
static bool kept_write(const struct state *state, char to[PATH_MAX], struct error *error)
{
    size_t size = 0;
    char *bytes = file_read(state->path, false, &size);
    if (!bytes)
        return error_set(error, ERROR_INPUT, "%s: %s", state->path, strerror(errno));
    bool due = !state->about.ended && state->about.ready;
    bool ok =
        shelf_told(state->path, bytes, size, &state->about, false, to) && (to[0] != '\0' || !due);
    free(bytes);
    if (!ok) {
        error_set(error, ERROR_INPUT, "%s: the profile of process %u can't be written", state->path,
                  state->about.pid);
        return error_hint(error, "memoir recover %u -o FILE   keeps it as a recording",
                          state->about.pid);
    }
    char kept[PATH_MAX];
    snprintf(kept, sizeof kept, "%s/memoir-%u-damaged-%u", kept_folder, geteuid(),
             state->about.pid);
    paths_drop(state->path);
    if (state->damage == NULL)
        unlink(state->path);
    else if (rename(state->path, kept) == 0)
        terminal_warn("%s: %s; what could be read is written, and the file is kept as %s",
                      state->path, state->damage, kept);
    return true;
}

size_t shelf_kept(char (**paths)[PATH_MAX], pid_t pid)
{
    char start[48], path[PATH_MAX];
    size_t count = 0, room = 0;
    struct dirent *entry;
    DIR *listing = opendir(kept_folder);
    *paths = NULL;
    snprintf(start, sizeof start, "memoir-%u-end-", geteuid());
    while (listing && (entry = readdir(listing))) {
        struct state state;
        const char *reason;
        snprintf(path, sizeof path, "%s/%s", kept_folder, entry->d_name);
        if (strncmp(entry->d_name, start, strlen(start)) != 0 ||
            !state_read(&state, path, false, &reason) ||
            (pid > 0 ? state.about.pid != (uint32_t)pid : state.alive) ||
            !list_reserve(paths, &room, count + 1, sizeof **paths))
            continue;
        memcpy((*paths)[count++], path, sizeof path);
    }
    if (listing)
        closedir(listing);
    return count;
}

void shelf_drop(const struct shelf_about *about)
{
    if (about->path[0] && is_for_all(about))
        folder_drop(about->states);
    if (about->path[0])
        folder_drop(about->path);
}

static void folder_drop(const char *path)
{
    char about[PATH_MAX + 16];
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        folder_empty(fd);
    snprintf(about, sizeof about, "%s/%s", path, about_name);
    if (fd < 0) /* there was no descriptor: a run that did not start has just this file */
        unlink(about);
    rmdir(path);
}
