/* SPDX-License-Identifier: MIT */
/*
 * Which paths of a recorder file are believed. The file is mapped in its process, which may have
 * given up rights since (a worker that dropped root, a sandbox) and may be in an attacker's hands:
 * where it has files written, the command would write them with the rights of its user. So a path
 * counts only if the file .NAME.paths beside the recorder file has it, too (struct recorder_paths):
 * the process can write to that only as long as it has the rights of its start.
 */
#ifndef RECORD_SHELF_PATHS_H
#define RECORD_SHELF_PATHS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "tool/profile/capture/capture.h"

/* Opens a plain file of this user only: another user's must not say where root writes files; or,
 * `of_any`, of any user. Returns -1 and errno if it is none. */
int paths_open(const char *path, bool of_any, struct stat *found);
int paths_open_own(const char *path);
/* Empties the capture's path if it is not believed. */
void paths_check_capture(const char *recorder, struct recorder_about *about);
/* The same for another user's recorder file: a capture in the same folder can be read, no other. */
void paths_check_beside(const char *recorder, struct recorder_about *about);
/* The same for each path that is told. */
void paths_check_told(const char *recorder, struct recorder_told told[RECORDER_TOLD_COUNT]);
/* Removes a recorder file and its .paths. */
void paths_unlink(const char *recorder);
/* Removes the .paths alone, and what a kill left of a new one. */
void paths_drop(const char *recorder);
/* Whether it is a file, or a folder, of this folder, and not one of a folder below. */
bool paths_is_within(const char *path, const char *folder);

#endif
