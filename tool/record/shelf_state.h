/* SPDX-License-Identifier: MIT */
/*
 * One recorder file of a shelf (tool/record/shelf.h), as the command finds it: what it says of
 * itself, whether its process still writes it, and its bytes. Nothing here changes a file.
 *
 * Whether a writer still lives is asked of the kernel: it holds a lock on its file, or, where the
 * program has closed all descriptors, the process of that number started at the same tick. A number
 * alone proves nothing, since it is used again. Files are opened only if they are ours: every user
 * may write to /dev/shm.
 */
#ifndef RECORD_SHELF_STATE_H
#define RECORD_SHELF_STATE_H

#include "tool/profile/capture/capture.h"
#include "tool/record/shelf.h"

struct state {
    char path[PATH_MAX];
    struct recorder_about about;
    bool alive;
    const char *damage; /* what is wrong with it, or NULL */
    bool blank;         /* killed before anything that it had done was in it */
    uid_t owner;
    gid_t group;
};

/* All of a shelf. How many; the list is to be freed. */
size_t states_read(const struct shelf_about *about, struct state **states);
/* One, which may be another user's with `of_any`. False: errno, or `*reason` if it is no recorder
 * file. */
bool state_read(struct state *state, const char *path, bool of_any, const char **reason);
/* One of ours whose process has ended. */
bool state_take(struct state *state, const char *path, pid_t *pid, struct error *error);
/* The bytes of a file, to be freed; or NULL. */
char *state_bytes(const char *path, bool of_any, size_t *size);
/* The same of the capture that its process had written, if that is of the same user. */
char *state_capture_bytes(const struct state *state, size_t *size);

#endif
