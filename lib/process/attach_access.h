/* SPDX-License-Identifier: MIT */
/*
 * Which clients may ask the helper of lib/process/attach.h. The process itself decides, at each
 * request, and is as strict as the kernel is about debuggers: root may ask; the process's own user
 * may only if the kernel would let that user debug the process. So a daemon that gave up root and a
 * program that is not dumpable, or has capabilities or a group that its user lacks, answer root
 * alone.
 *
 * In the helper's threads only: their ids are compared with those of the program.
 */
#ifndef PROCESS_ATTACH_ACCESS_H
#define PROCESS_ATTACH_ACCESS_H

#include <stdbool.h>

#include "base/os_socket.h"

/* Whether the calling thread has the rights of the program's first thread: users, groups,
 * capabilities and seccomp filters. setuid and its relatives change only the threads that libc
 * knows, and no other thread must keep more rights. False without /proc, too. */
bool access_is_current(void);

/* Whether a client with these ids may ask a process with those. */
bool access_allows(const struct os_ids *ids, const struct os_peer *peer);

/* The number that stands for all users without one in our user namespace, where root itself may be
 * such a user; 0, root's own, where all users have a number. */
uint32_t access_numberless(void);

#endif
