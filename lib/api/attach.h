/* SPDX-License-Identifier: MIT */
/*
 * Control from outside without a resident thread. A signal that programs ignore, queued with our
 * value, starts a helper thread (base/os_thread.h); the helper listens on a socket, hands what it
 * is asked to control_command, and goes away when nobody has asked for some seconds.
 *
 * The helper opens nothing in the program's table of descriptors, holds no lock while it reads from
 * or writes to a client, and makes no heap: it never calls malloc.
 */
#ifndef API_ATTACH_H
#define API_ATTACH_H

/* Ready to be called from now on, unless the option `control` is off, the program has rights of its
 * own (AT_SECURE) or wants the signal for itself. */
void attach_init(void);
/* The program ends: the socket goes, if there is one. */
void attach_end(void);

#endif
