/* SPDX-License-Identifier: MIT */
/*
 * The folder of captures of one `memoir run`. It lies beside the recording, which may be where
 * another user can rename it and put a link to any other folder in its place: root would then write
 * and remove files there. So the folder is opened once, and its files are named by the descriptor.
 */
#ifndef RECORD_RECORD_FOLDER_H
#define RECORD_RECORD_FOLDER_H

#include <stdbool.h>

#include "tool/record/shelf.h"

/* Opens it; `inside` names it from then on. False if it is not there, or not ours. */
bool folder_hold(struct shelf_about *about);
/* Closes it. */
void folder_release(struct shelf_about *about);
/* Removes it, with its files. */
void folder_remove(struct shelf_about *about);
/* Removes all that is in a folder, and closes it. */
void folder_empty(int fd);

#endif
