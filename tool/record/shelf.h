/* SPDX-License-Identifier: MIT */
/*
 * The shelf of a recording: a folder in memory (/dev/shm, mode 0700) with the recorder files of all
 * processes of one `memoir run`. They hold what is known at every moment, so that nothing is lost
 * however a process ends, or run itself.
 *
 *     about     what the recording is and where its captures are, lines "key:value"; locked while
 *               run lives and will finish it
 *     state...  one recorder file for each process, removed by the library where the process ended
 *               in order and its capture is complete
 *
 * A program that root starts may change its user, and start others. So that these have their files,
 * root's shelf has mode 0711, and the files are in a folder of it with a name that can't be
 * guessed, in which all may make files and none but root may list or read those of others.
 */
#ifndef RECORD_SHELF_H
#define RECORD_SHELF_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tool/terminal/terminal.h"

/* The file of a shelf that says what the recording is. */
#define SHELF_ABOUT "about"

enum { SHELF_MODE = 0711 }; /* of root's */

struct shelf_about {
    char path[PATH_MAX];   /* of the shelf */
    char states[PATH_MAX]; /* of the recorder files: the same, or a folder in it */
    char folder[PATH_MAX]; /* of the captures */
    char inside[PATH_MAX]; /* the same by its descriptor `held`, or "" (record_folder.h) */
    int held;
    char wanted[PATH_MAX]; /* --output, absolute, or "" */
    char format[16];       /* --format, or "" */
    char program[NAME_MAX];
    char command[512];
    pid_t pid;                      /* of the program; 0: not started yet */
    unsigned long long start_ticks; /* of that process; 0: not known */
    pid_t run;                      /* the process that finishes it */
};

/* Makes the folders; path "" if there is no place for one. */
void shelf_make(struct shelf_about *about);
/* Writes what the recording is. Returns the descriptor that holds the lock, or -1. */
int shelf_save(const struct shelf_about *about);
/* What a shelf says of itself. False: it is none of ours. */
bool shelf_load(struct shelf_about *about, const char *path);
/* All shelves of this user. How many; the list is to be freed. */
size_t shelf_list(struct shelf_about **list);
/* Whether other users may make recorder files, too. */
bool shelf_is_for_all(const struct shelf_about *about);
/* A process that still writes there, or will when its program has started; or 0. */
pid_t shelf_running(const struct shelf_about *about);
/* Whether a `memoir run` lives that will finish it. */
bool shelf_is_held(const struct shelf_about *about);
/* Makes the captures of processes that did not exit normally complete, in `folder`, and removes
 * their recorder files. False: some could not be written, and their files are kept, as was told. */
bool shelf_collect(const struct shelf_about *about);
/* The same for one recorder file, into the file `to`; if that is "", into the capture that the
 * process had, or else into `path` with .memoir behind it, and `to` becomes that name. If it was
 * only kept for what the program was told to write, that is written, and `to` is the last of these
 * files, or "". */
bool shelf_finish_file(const char *path, char to[PATH_MAX], pid_t *pid, struct error *error);
/* Whether it is a recorder file that can be finished, and of which process. Changes nothing. */
bool shelf_look(const char *path, pid_t *pid, struct error *error);
/* Recorder files that were kept for what programs were told to write at their end, of this user:
 * those of killed processes, or those of process `pid` if it is not 0. How many; the list is to be
 * freed. */
size_t shelf_kept(char (**paths)[PATH_MAX], pid_t pid);
/* Removes the shelf. */
void shelf_drop(const struct shelf_about *about);

#endif
