/* SPDX-License-Identifier: MIT */
/* What of a process is in memory, by what is mapped there: /proc/PID/smaps. */
#ifndef PROCESS_SMAPS_H
#define PROCESS_SMAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum smaps_kind {
    SMAPS_FILES,  /* programs, libraries and other files */
    SMAPS_STACKS, /* of all threads, as far as the kernel tells where they are */
    SMAPS_SHARED, /* memory without a file that other processes may have, too */
    SMAPS_OWN,    /* the library's, by what it says */
    SMAPS_PLAIN,  /* the rest: heaps, pools, mappings of the program's own */
    SMAPS_KINDS
};

struct smaps {
    uint64_t bytes[SMAPS_KINDS];
    uint64_t all; /* their sum */
};

/* `answer` is what the library answers to "stats". False: errno tells why it can't be read. */
bool smaps_read(struct smaps *smaps, pid_t pid, const char *answer);

#endif
