/* SPDX-License-Identifier: MIT */
/* The accounting as text, for people: at exit by option, and for malloc_stats and malloc_info. */
#ifndef API_STATS_H
#define API_STATS_H

void stats_print(int fd);

#endif
