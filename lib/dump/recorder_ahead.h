/* SPDX-License-Identifier: MIT */
/*
 * Recorder files for the children of a program that changes its root folder (chroot) and can't
 * reach the folder of the recording from there. Some empty files are made before, and their
 * descriptors handed on by fork; each child that needs a file takes the next one. They are files
 * alone: by the descriptor of a folder a program could leave its root.
 *
 * Only under `memoir run`, which removes the folder with the unused files. Called with the lock of
 * dump.c.
 */
#ifndef DUMP_RECORDER_AHEAD_H
#define DUMP_RECORDER_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the files, with names that begin with `start`. False if none was made: there may be some
 * from an earlier change. */
bool ahead_make(const char *start);
/* Removes the files: the change has failed. */
void ahead_drop(void);
/* The descriptor of a file that no process has used, locked for this one; writes its name. -1 if
 * there is none. */
int ahead_take(char *name, size_t size);

#endif
