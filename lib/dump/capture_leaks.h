/* SPDX-License-Identifier: MIT */
/* The last scan for lost blocks (lib/leak), as records of a capture. */
#ifndef DUMP_CAPTURE_LEAKS_H
#define DUMP_CAPTURE_LEAKS_H

struct capture;

/* Inside a snapshot, whose nodes are written: the result of the last scan, if there was one since
 * the last snapshot of this capture. */
void capture_leaks(struct capture *capture);

#endif
