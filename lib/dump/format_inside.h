/* SPDX-License-Identifier: MIT */
/*
 * What the writers of lib/dump/format.h share: their declarations, and the arithmetic between our
 * estimates and the numbers that a reader of heap_v2 expects in a file.
 *
 * Such a reader sees n objects of b bytes, takes b / n for their size and multiplies both by 1 / (1
 * - exp(-(b / n) / rate)). Our estimates were made one size at a time, which is more precise; so we
 * write the numbers that the reader's arithmetic turns into our estimates.
 */
#ifndef DUMP_FORMAT_INSIDE_H
#define DUMP_FORMAT_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/dump/format.h"
#include "lib/heap/observer.h"

int format_capture(const struct format_options *options, struct sink *sink);
int format_pprof(const struct format_options *options, struct sink *sink);
int format_jemalloc(const struct format_options *options, struct sink *sink);
int format_gperftools(const struct format_options *options, struct sink *sink);
int format_growth(const struct format_options *options, struct sink *sink);
int format_cpu(const struct format_options *options, struct sink *sink);
int format_pprof_cpu(const struct format_options *options, struct sink *sink);

/* A sum over sites. */
struct estimate {
    double objects, bytes;
    uint64_t seen_objects, seen_bytes;
};

/* Two numbers of a file. */
struct pair {
    uint64_t objects, bytes;
};

void estimate_add(struct estimate *sum, uint64_t objects, uint64_t bytes, double weight);
/* The numbers to write for a reader that scales by `rate`; 0: it does not scale. */
struct pair estimate_pair(const struct estimate *sum, int64_t rate);
/* The recorded numbers. */
struct pair estimate_seen(const struct estimate *sum);

/* The rate for the header of a file: the current one, or while nothing is recorded the largest of
 * the sites; 0 for exact. */
int64_t format_rate(void);
/* " 0x..." for every frame, with at least `digits` digits. For a stack without frames, an address
 * that readers, which subtract 1, show as 0: they ignore or misread an empty stack. */
void format_frames(struct sink *sink, uint32_t stack, unsigned digits);
/* The same of addresses. */
void format_addresses(struct sink *sink, const uintptr_t *pcs, unsigned count, unsigned digits);
/* An empty line, MAPPED_LIBRARIES: and the kernel's list. */
void format_libraries(struct sink *sink);

#endif
