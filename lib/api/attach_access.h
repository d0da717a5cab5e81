/* SPDX-License-Identifier: MIT */
/*
 * Who may ask the helper of lib/api/attach.h. The process itself decides, at each request, and is
 * as strict as the kernel is about debuggers: root may ask; the process's own user may only if the
 * kernel would let that user look into the process. A daemon that gave up root, a program that is
 * not dumpable, has capabilities or a group that its user lacks answers root alone.
 *
 * In the helper's threads only: their ids are compared with those of the program.
 */
#ifndef API_ATTACH_ACCESS_H
#define API_ATTACH_ACCESS_H

#include <stdbool.h>

#include "base/os_socket.h"

/* Whether the helper, which started with these ids, still has the rights of the program: setuid and
 * its relatives change only the threads that libc knows. False without /proc, too. */
bool access_is_current(const struct os_ids *ids);

/* Whether a client with these ids may ask. */
bool access_allows(const struct os_ids *ids, const struct os_peer *peer);

#endif
