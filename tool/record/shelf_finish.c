/* SPDX-License-Identifier: MIT */
/*
 * Recorder files into captures, and into the files that the program was told to write: for
 * processes that were killed. A recorder file is removed when all of it is written; one that can't
 * be read as a whole stays, and the message says where.
 */
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/memory/memory.h"
#include "tool/record/shelf.h"
#include "tool/record/shelf_paths.h"
#include "tool/record/shelf_state.h"
#include "tool/record/shelf_told.h"

static const char kept_folder[] = "/dev/shm"; /* the library's choice, whatever ours is */

static void capture_place(const struct shelf_about *about, const struct state *state, char *to,
                          size_t size);
static void name_free(char *to, size_t size, const char *start, uint32_t pid, const char *ending);
static bool capture_continues(const struct state *state, bool *empty);
static bool capture_write(const struct state *state, const char *to, struct error *error);
static void told_write(const struct state *state, const char *bytes, size_t size);
static bool kept_write(const struct state *state, char to[PATH_MAX], struct error *error);
static void kept_tell(const struct shelf_about *about, const struct error *error, const char *to);
static bool is_told(const char *bytes, size_t size);
static bool kept_remove(const struct state *state);

bool shelf_collect(const struct shelf_about *about)
{
    struct state *states;
    struct error error = {0};
    if (shelf_is_for_all(about))
        chmod(about->states, SHELF_MODE); /* other users no longer add or exchange files */
    size_t count = states_read(about, &states);
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        char to[PATH_MAX + 64];
        if (states[i].alive)
            continue;
        if (states[i].blank && states[i].about.child) {
            paths_unlink(states[i].path);
            continue;
        }
        capture_place(about, &states[i], to, sizeof to);
        bool written = capture_write(&states[i], to, &error);
        if (!written || states[i].damage != NULL) {
            /* the shelf is removed; this file of it must stay */
            name_free(to, sizeof to, about->path, states[i].about.pid, "");
            bool kept = rename(states[i].path, to) == 0;
            if (kept && written)
                terminal_warn("%s: %s; what could be read is in the recording, and the file is "
                              "kept as %s",
                              states[i].path, states[i].damage, to);
            else if (kept)
                kept_tell(about, &error, to);
            all &= written || !kept;
            continue;
        }
        paths_unlink(states[i].path);
    }
    free(states);
    return all;
}

/* The error may name the folder by its descriptor, which says nothing to a user. */
static void kept_tell(const struct shelf_about *about, const struct error *error, const char *to)
{
    const char *inside = strstr(error->text, about->inside);
    if (inside == NULL || !about->inside[0])
        terminal_warn("%s; nothing is lost:  memoir recover %s -o FILE", error->text, to);
    else
        terminal_warn("%.*s%s%s; nothing is lost:  memoir recover %s -o FILE",
                      (int)(inside - error->text), error->text, about->folder,
                      inside + strlen(about->inside), to);
}

/* The capture that the process wrote, if it is in the folder and no other process's; else a name
 * there that is free. */
static void capture_place(const struct shelf_about *about, const struct state *state, char *to,
                          size_t size)
{
    const char *capture = state->about.capture;
    bool empty = false,
         here = paths_is_within(capture, about->folder) && access(capture, F_OK) == 0;
    if (here && (capture_continues(state, &empty) || empty)) {
        snprintf(to, size, "%s%s", about->inside, strrchr(capture, '/'));
        return;
    }
    char start[PATH_MAX + 8];
    snprintf(start, sizeof start, "%s/run", about->inside);
    name_free(to, size, start, state->about.pid, ".memoir");
}

/* Whether the file by the name of the capture is the process's own. */
static bool capture_continues(const struct state *state, bool *empty)
{
    size_t size = 0, old_size = 0;
    char *bytes = state_bytes(state->path, true, &size);
    char *old = state_capture_bytes(state, &old_size);
    bool continues = bytes && old && recorder_continues(bytes, size, old, old_size);
    *empty = old && old_size == 0;
    free(old);
    free(bytes);
    return continues;
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
    char *bytes = state_bytes(state->path, true, &size);
    char *old = state_capture_bytes(state, &old_size);
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
        ok = fwrite(capture, 1, made, output.file) == made ||
             error_set(error, ERROR_INPUT, "can't write %s: %s", to, strerror(errno));
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

bool shelf_look(const char *path, pid_t *pid, struct error *error)
{
    struct state state;
    return state_take(&state, path, pid, error);
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

/* Only the capture that a client began, and the files that the process was told to write; `to`: the
 * last one. */
static bool kept_write(const struct state *state, char to[PATH_MAX], struct error *error)
{
    bool empty;
    if (state->about.capture[0] && !state->about.ended && capture_continues(state, &empty)) {
        snprintf(to, PATH_MAX, "%s", state->about.capture);
        return capture_write(state, to, error) && kept_remove(state);
    }
    size_t size = 0;
    char *bytes = state_bytes(state->path, false, &size);
    if (!bytes)
        return error_set(error, ERROR_INPUT, "%s: %s", state->path, strerror(errno));
    bool due = !state->about.ended && state->about.ready && is_told(bytes, size);
    bool ok =
        shelf_told(state->path, bytes, size, &state->about, false, to) && (to[0] != '\0' || !due);
    free(bytes);
    if (!ok) {
        error_set(error, ERROR_INPUT, "%s: the profile of process %u can't be written", state->path,
                  state->about.pid);
        return error_hint(error, "memoir recover %u -o FILE   keeps it as a recording",
                          state->about.pid);
    }
    return kept_remove(state);
}

static bool is_told(const char *bytes, size_t size)
{
    struct recorder_told told[RECORDER_TOLD_COUNT];
    bool any = false;
    if (!recorder_told(bytes, size, told))
        return true;
    for (unsigned i = 0; i < RECORDER_TOLD_COUNT; i++)
        any |= told[i].format != RECORDER_FORMAT_NONE;
    return any;
}

/* All that could be read of it is written. */
static bool kept_remove(const struct state *state)
{
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
