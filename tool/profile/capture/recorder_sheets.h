/* SPDX-License-Identifier: MIT */
/* The sheets of a recorder file: from a row's number to its bytes. For recorder*.c. */
#ifndef PROFILE_CAPTURE_RECORDER_SHEETS_H
#define PROFILE_CAPTURE_RECORDER_SHEETS_H

#include "tool/profile/capture/recorder.h"

enum { SHEETS_OF_KIND = 4096 };

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
/* How many rows there may be. */
uint32_t recorder_rows(const struct recorder_sheets *sheets, enum sheet_kind kind);
/* Copies one. False: there is none. */
bool recorder_row(const struct recorder_sheets *sheets, enum sheet_kind kind, uint32_t number,
                  void *row);
/* Copies a part of the log; how many bytes. */
size_t recorder_log(const struct recorder_sheets *sheets, uint64_t at, void *to, size_t size);

#endif
