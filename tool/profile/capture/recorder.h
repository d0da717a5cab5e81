/* SPDX-License-Identifier: MIT */
/*
 * Recorder files (base/file/recorder_format.h, docs/FORMATS.md): what a process knew at its last
 * moment, made into a capture. Nothing in the bytes is believed: they may be those of a process
 * that was killed inside any store, or still runs, or never were a recorder file.
 */
#ifndef PROFILE_CAPTURE_RECORDER_H
#define PROFILE_CAPTURE_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file/recorder_format.h"

struct recorder_about {
    uint32_t pid;
    uint64_t start_ticks;        /* of the process, as in /proc/PID/stat; 0: not known */
    uint64_t start_ms;           /* when the file was made, by the monotonic clock, */
    uint64_t start_wall_ns;      /* and since 1970 */
    uint64_t last_ms;            /* the last sign of life */
    bool ready;                  /* else killed before all was in it that was known at its start */
    bool ended, full, child;     /* exited normally; some stacks are missing; of a fork */
    bool kept;                   /* only for what the program was told to write at its end */
    char capture[RECORDER_PATH]; /* the capture of the process; "": none */
};

/* The reason of the last snapshot of a program that did not exit normally; the second one where it
 * was killed before all was in the file that was known when that was made. */
#define RECORDER_KILLED       "Killed"
#define RECORDER_KILLED_EARLY "Killed at the start of the recording"

bool recorder_is(const char *bytes, size_t size);
/* What its head says. False: it is no recorder file, or one of another version; *reason. */
bool recorder_describe(const char *bytes, size_t size, struct recorder_about *about,
                       const char **reason);
/* The damage of a file with a good head: missing or empty parts. NULL: none is visible. */
const char *recorder_damage(const char *bytes, size_t size);
/* Whether its process was killed before anything that it had done was in it. */
bool recorder_is_blank(const char *bytes, size_t size);
/* Whether a capture is the process's own, which the recorder file goes on from; not that of one
 * with the same number that began later. */
bool recorder_continues(const char *bytes, size_t size, const char *old, size_t old_size);
/* The last moment of a capture: a snapshot, a mark or a point of the heap over time. */
uint64_t recorder_last_of(const char *old, size_t size);
/*
 * The bytes of a capture, *made of them, to be freed; NULL: *reason. With `old`, the process's own
 * capture as far as it was written (NULL: none), its whole records come first. The last snapshot is
 * that of the recorder file, and the capture is complete.
 */
char *recorder_capture(const char *bytes, size_t size, const char *old, size_t old_size,
                       size_t *made, const char **reason);

#endif
