/* SPDX-License-Identifier: MIT */
/* TCMALLOC_TRACE: a line for every call, as gperftools' debug allocator writes them. The file is
 * opened for each line, since programs close descriptors that they did not open. */
#ifndef GUARD_DEBUG_TRACE_H
#define GUARD_DEBUG_TRACE_H

#include "lib/guard/cells.h"

/* Before the heap starts: the file, whose name stays. Made anew. */
void debug_trace_start(const char *path);
/* `call` is malloc, realloc or free. */
void debug_trace(const char *call, size_t size, const void *p, const struct cell_event *event);

#endif
