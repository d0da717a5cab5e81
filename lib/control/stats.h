/* SPDX-License-Identifier: MIT */
/* The accounting as text: at exit by option, and for malloc_stats and malloc_info. */
#ifndef CONTROL_STATS_H
#define CONTROL_STATS_H

#include "base/file/sink.h"
#include "base/print.h"

/* More than the longest text. */
enum { STATS_SIZE = 2048 };

void stats_text(struct print *out);
enum { STATS_MESSAGE = -1 }; /* not a descriptor: as a message (base/message.h) */
void stats_print(int fd);
/* Lines "own.N:START-END": mappings of the library that are not among its tables. */
void stats_mappings(struct sink *out);

#endif
