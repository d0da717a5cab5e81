/* SPDX-License-Identifier: MIT */
/* The sheets of a recorder file: from a row's number to its bytes. For recorder*.c. */
#ifndef PROFILE_CAPTURE_RECORDER_SHEETS_H
#define PROFILE_CAPTURE_RECORDER_SHEETS_H

#include "tool/profile/capture/recorder.h"

enum { SHEETS_OF_KIND = 4096 }; /* MIRROR_SHEETS of lib/watch/mirror.h */

struct recorder_sheets {
    const char *bytes;
    size_t size;
    struct recorder_head head;                    /* a copy: the file may change */
    uint32_t places[SHEET_KINDS][SHEETS_OF_KIND]; /* sheets of the file; 0: none */
    uint32_t counts[SHEET_KINDS];                 /* one behind the last that is there */
};

/* False: *reason. */
bool recorder_sheets_open(struct recorder_sheets *sheets, const char *bytes, size_t size,
                          const char **reason);
/* `*last_ms` becomes this moment if it is later and makes sense: a damaged one may be anything. */
void recorder_moment_note(uint64_t *last_ms, uint64_t time_ms);
/* How many rows there may be. */
uint32_t recorder_rows(const struct recorder_sheets *sheets, enum sheet_kind kind);
/* Copies one. False: there is none. */
bool recorder_row(const struct recorder_sheets *sheets, enum sheet_kind kind, uint32_t number,
                  void *row);

/* A record of the log, until the next one is read in this thread. */
struct recorder_log_record {
    uint32_t type, length;
    const uint8_t *payload;
};
/* The record at `*at`, which is then what is behind it. False: there is no whole one. */
bool recorder_log_next(const struct recorder_sheets *sheets, uint64_t *at,
                       struct recorder_log_record *record);

/* Names of threads that the heap's profile knows, for those of the CPU profile and of waits for
 * locks. */
struct recorder_named;
struct recorder_names {
    struct recorder_named *items; /* by tid */
    size_t count;
};

/* False: memory is out; it can be used and freed nevertheless. */
bool recorder_names_make(struct recorder_names *names, const struct recorder_sheets *sheets);
/* Writes the name of a thread, if it has one. */
void recorder_names_find(const struct recorder_names *names, uint32_t tid, char name[16]);
void recorder_names_free(struct recorder_names *names);

#endif
