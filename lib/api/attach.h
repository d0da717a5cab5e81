/* SPDX-License-Identifier: MIT */
/*
 * Control from outside without a resident thread. A signal that programs ignore, queued with our
 * value, or the bell (base/attach.h) starts a helper (base/os_thread.h), which listens on a socket,
 * hands what it is asked to control_command, and goes away when nobody has asked for some seconds.
 *
 * Its sockets are in no table of the program's, it holds no lock while it reads from or writes to a
 * client, and it makes no heap: it never calls malloc.
 */
#ifndef API_ATTACH_H
#define API_ATTACH_H

#include <stdint.h>

#include "base/attach.h"
#include "base/compiler.h"

/* Written from outside. */
extern HIDDEN uint32_t attach_bell;

/* Ready to be called from now on, unless the option `control` is off, the program has rights of its
 * own (AT_SECURE) or wants the signal for itself. */
void attach_init(void);
/* Somebody rang the bell. Outside of the allocator. */
NOINLINE void attach_heard(void);
INLINE bool attach_rung(void)
{
    return load_relaxed(&attach_bell) == ATTACH_BELL_RUNG;
}
/* In a forked child. */
void attach_forked(void);
/* A filter is about to forbid it: nobody is called any more, and the helper is gone. `attach_init`
 * takes it back. */
void attach_withdraw(void);
/* The program ends: the socket goes, if there is one. */
void attach_end(void);

#endif
