/* SPDX-License-Identifier: MIT */
/*
 * Files that a program was told to write at its end (HEAPPROFILE, prof_final, CPUPROFILE,
 * dump.exit) and could not, because it was killed: written from its recorder file, under the names
 * that they would have had.
 */
#ifndef RECORD_SHELF_TOLD_H
#define RECORD_SHELF_TOLD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "tool/profile/capture/capture.h"

/* Writes those of the recorder file `recorder`, of these bytes, and says which; not those whose
 * path is not believed (tool/record/shelf_paths.h). A `foreign` one, another user's, only makes new
 * files: a pipe would hold us up, and descriptors and the terminal are ours. A file that can't be
 * written is a warning. False if there is one; the name of the last that could be is in `last`. */
bool shelf_told(const char *recorder, const char *bytes, size_t size,
                const struct recorder_about *about, bool foreign, char last[PATH_MAX]);

#endif
