/* SPDX-License-Identifier: MIT */
/* Undoes gzip and zstd, known by their first bytes; several parts in succession are one. */
#ifndef PROFILE_PARSE_UNPACK_H
#define PROFILE_PARSE_UNPACK_H

#include "tool/profile/parse/paged.h"
#include "tool/profile/parse/read_input.h"

enum unpack_result {
    UNPACK_PLAIN,   /* not packed */
    UNPACK_WHOLE,   /* it is in `out` */
    UNPACK_TORN,    /* what there is of it is in `out` */
    UNPACK_REFUSED, /* damaged, or more than memory can hold */
};

/* `out` is empty before, and the caller's to free. Offsets of errors are in the packed bytes. */
enum unpack_result unpack(const char *bytes, size_t size, struct paged *out,
                          struct read_error *error);

#endif
