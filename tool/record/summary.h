/* SPDX-License-Identifier: MIT */
/*
 * What a capture says in a few lines: the heap over time, and the places behind the largest part
 * of it.
 */
#ifndef RECORD_SUMMARY_H
#define RECORD_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

struct summary;
struct suppressions;

/* NULL if the file is no capture, or holds no complete snapshot. */
struct summary *summary_read(const char *path);
void summary_free(struct summary *summary);

int64_t summary_pid(const struct summary *summary);
uint64_t summary_peak(const struct summary *summary);
/* Its totals are exact. */
bool summary_counted(const struct summary *summary);
/* 0: every block; -1: none. */
int64_t summary_rate(const struct summary *summary);
/* The command line. */
const char *summary_command(const struct summary *summary);

/* How long the process was recorded: until it ended; 0: less than a millisecond; -1: its end was
 * not recorded. */
int64_t summary_duration_ns(const struct summary *summary);

/* When the recording began, since 1970. */
int64_t summary_time_ns(const struct summary *summary);

/* The program ended by itself, and its end was recorded. */
bool summary_ended(const struct summary *summary);

/* Whether there was a scan for lost blocks. */
bool summary_scanned(const struct summary *summary);
/* Whether a scan at the end found blocks that nothing points to, but for suppressed ones (NULL:
 * none are). */
bool summary_lost(struct summary *summary, const struct suppressions *suppressions);
/* Lines that begin with four spaces. `rows`: of each list, 0 for the usual; `time_ms`: how long the
 * run took; `rss_peak_bytes` 0: as the capture says. */
void summary_print(struct summary *summary, unsigned rows, uint64_t time_ms,
                   uint64_t rss_peak_bytes, const struct suppressions *suppressions);

#endif
