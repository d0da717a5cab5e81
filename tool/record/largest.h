/* SPDX-License-Identifier: MIT */
/*
 * The recording of a run that is told of: that of the largest heap among all of its processes, and
 * among the programs that one of them became by exec.
 */
#ifndef RECORD_LARGEST_H
#define RECORD_LARGEST_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tool/record/summary.h"

struct largest {
    struct summary *summary;
    char name[NAME_MAX + 1]; /* of its file */
    struct process_seen *processes;
    size_t count, room; /* of processes */
};

/* Among the captures of the folder; of equals that of the process `pid`. False: there is none. */
bool largest_find(struct largest *largest, const char *folder, pid_t pid);
/* In how many other captures of the folder a scan found lost blocks; `lost_pid`: one of these. */
size_t largest_lost_beside(const struct largest *largest, const char *folder,
                           const struct suppressions *suppressions, int64_t *lost_pid);
/* Whether its process became another program later. */
bool largest_has_later(const struct largest *largest);
void largest_free(struct largest *largest);

#endif
