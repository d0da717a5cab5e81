/* SPDX-License-Identifier: MIT */
/*
 * What a capture says in a few lines: the heap over time, and the functions behind the largest
 * part of it. A site is blamed on the first frame that is not part of malloc, libc or the C++
 * library.
 */
#ifndef TOOL_SUMMARY_H
#define TOOL_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct summary;

/* NULL if the file is no capture, or holds no complete snapshot. */
struct summary *summary_read(const char *path);
void summary_free(struct summary *summary);

int64_t summary_pid(const struct summary *summary);
uint64_t summary_peak(const struct summary *summary);
int64_t summary_rate(const struct summary *summary);
/* The command line, arguments ended by 0. */
const char *summary_command(const struct summary *summary, size_t *length);

/* 0.52s, 41.0s, 2m14s, 3h07m */
enum { SUMMARY_TIME = 24 };
const char *summary_time(char text[SUMMARY_TIME], uint64_t time_ms);

/* Lines that begin with four spaces. `time_ms`: how long the program ran. */
void summary_print(struct summary *summary, FILE *file, uint64_t time_ms, uint64_t rss_peak_bytes);

#endif
