/* SPDX-License-Identifier: MIT */
/*
 * Source files, found where they are now: by the path that the compiler noted, below the folders
 * that the user names, and there by ever shorter ends of the path.
 */
#ifndef REPORT_SOURCE_FILE_H
#define REPORT_SOURCE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source_file {
    char *path; /* where it was found; NULL: nowhere */
    bool newer; /* than the program, or than the profile where there is no program any more */
    char *text;
    size_t size;
    size_t *lines; /* where each begins, and the end of the last */
    uint32_t count;
};

/* `folders` are joined by ':', or NULL. `module` is the program's or library's file; `time_ns` that
 * of the profile since 1970, or 0. Pair with source_file_free. */
void source_file_open(struct source_file *file, const char *path, const char *folders,
                      const char *module, int64_t time_ns);
void source_file_free(struct source_file *file);
/* A line, from 1, made fit for terminals: tabs as spaces, no control characters. */
const char *source_file_line(const struct source_file *file, uint32_t line, char *text,
                             size_t size);

#endif
