/* SPDX-License-Identifier: MIT */
/*
 * A process that was killed while its helper listened leaves its socket behind. The next helper of
 * the same user that opens a socket in the folder removes it, as `memoir ps` and `memoir ctl` do.
 */
#ifndef PROCESS_ATTACH_SWEEP_H
#define PROCESS_ATTACH_SWEEP_H

/* In the helper's own thread: it opens descriptors. Looks at a limited number of sockets. */
void attach_sweep(const char *folder);

#endif
