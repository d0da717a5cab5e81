/* SPDX-License-Identifier: MIT */
/*
 * See tool/record/shelf.h. This file is about the folder: made, described, found again, removed.
 * The recorder files in it are read by shelf_state.c and finished by shelf_finish.c.
 */
#include "tool/record/shelf.h"

#include <dirent.h>
#include <fcntl.h>
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
#include "tool/record/record_folder.h"
#include "tool/record/shelf_paths.h"
#include "tool/record/shelf_state.h"

enum { PLACES = 3 };
enum { STATES_MODE = 01733 }; /* of root's */

static const char *place(unsigned which);
static void states_make(struct shelf_about *about);
static void line_take(const char *line, const char *key, char *value, size_t size);
static bool is_starting(const struct shelf_about *about);
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
 * that can only be entered by its name, which is in the environment of these programs alone. A
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
    snprintf(path, sizeof path, "%s/%s", about->path, SHELF_ABOUT);
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
    snprintf(name, sizeof name, "%s/%s", path, SHELF_ABOUT);
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
    if (!paths_is_within(about->states, path))
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
    snprintf(path, sizeof path, "%s/%s", about->path, SHELF_ABOUT);
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

bool shelf_is_for_all(const struct shelf_about *about)
{
    return strcmp(about->states, about->path) != 0;
}

void shelf_drop(const struct shelf_about *about)
{
    if (about->path[0] && shelf_is_for_all(about))
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
    snprintf(about, sizeof about, "%s/%s", path, SHELF_ABOUT);
    if (fd < 0) /* there was no descriptor: a run that did not start has just this file */
        unlink(about);
    rmdir(path);
}
