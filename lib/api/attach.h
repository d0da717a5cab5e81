/* SPDX-License-Identifier: MIT */
/*
 * Control from outside without a permanent thread. A signal that programs ignore, queued with our
 * value, or the bell (base/attach.h) starts a helper thread (base/os_thread.h), which listens on a
 * socket, passes requests to control_command, and ends after some seconds without one.
 *
 * Its sockets are in no descriptor table of the program's, it holds no lock while it reads from or
 * writes to a client, and it has no heap: it never calls malloc.
 */
#ifndef API_ATTACH_H
#define API_ATTACH_H

#include <stdint.h>

#include "base/attach.h"
#include "base/compiler.h"

/* Written by clients, from outside. */
extern HIDDEN uint32_t attach_bell;

/* Accepts requests from now on, unless the option `control` is off, the program has special rights
 * (AT_SECURE) or uses the signal itself. */
void attach_init(void);
/* A client rang the bell. Called outside of the allocator. */
NOINLINE void attach_heard(void);
INLINE bool attach_rung(void)
{
    return load_relaxed(&attach_bell) == ATTACH_BELL_RUNG;
}
/* In a forked child. */
void attach_forked(void);
/* A filter is about to forbid control: accepts no more requests, and ends the helper. `attach_init`
 * undoes this. */
void attach_withdraw(void);
/* The program ends: removes the socket, if there is one. */
void attach_end(void);

#endif
