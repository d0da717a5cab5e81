/* SPDX-License-Identifier: MIT */
/*
 * Files that a killed program was to write at its end, in the formats of gperftools and jemalloc:
 * made from its recorder file, as the library would have written them (lib/dump).
 */
#ifndef PROFILE_CAPTURE_RECORDER_TOLD_H
#define PROFILE_CAPTURE_RECORDER_TOLD_H

#include <stdio.h>

#include "tool/profile/capture/recorder.h"

/* What the program was told, RECORDER_TOLD_COUNT of them; false: it is no recorder file. */
bool recorder_told(const char *bytes, size_t size, struct recorder_told told[RECORDER_TOLD_COUNT]);
/* Live bytes at the last moment, for names. */
uint64_t recorder_told_live(const char *bytes, size_t size);
/* Writes one of them whose format is jemalloc's or gperftools'. False: *reason. */
bool recorder_told_write(const char *bytes, size_t size, unsigned which, FILE *file,
                         const char **reason);

#endif
