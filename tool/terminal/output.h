/* SPDX-License-Identifier: MIT */
/*
 * A file that a command makes: written under a temporary name in the same folder, and renamed when
 * it is whole, so that a part of it is never seen and a failure leaves what was there. "-" is
 * standard output; what is no regular file (a pipe, /dev/null) is written as it is. A symbolic link
 * is never followed. A new file has mode 0600; one that is replaced leaves its mode to the new one.
 */
#ifndef TERMINAL_OUTPUT_H
#define TERMINAL_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tool/terminal/error.h"

struct output {
    FILE *file;
    FILE *packed;    /* where `file` goes packed; NULL: it is not */
    char *path;      /* NULL: standard output */
    char *temporary; /* NULL: none */
    uint64_t bytes;  /* how many there were, after output_end */
};

/* False, with an error, if `path` is a symbolic link. Names of our own descriptors (/dev/fd/3) are
 * accepted. */
bool output_refuse_link(const char *path, struct error *error);
/* Opens a file to be written as it is, or appended to, by the same rules. NULL: errno. */
FILE *output_open(const char *path, bool append);

bool output_start(struct output *output, const char *path, struct error *error);
/* The same, but whatever is there (a pipe, a device) is not opened: a new file takes its place. */
bool output_replace(struct output *output, const char *path, struct error *error);
/* From here on what is written is packed, as the ending of the path says. */
bool output_pack(struct output *output, const char *path, struct error *error);
/* Closes it; with `whole` it gets its name, else it goes away. */
bool output_end(struct output *output, bool whole, struct error *error);
/* Whether memory was enough for all that was asked for, wherever it was written. */
bool output_whole(struct error *error);
/* "memoir: profile.pb.gz, 12 KiB", after that; nothing for standard output. */
void output_say(const struct output *output, const char *path);
/* The same about a file that another process has written. */
void output_say_file(const char *path);

#endif
