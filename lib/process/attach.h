/* SPDX-License-Identifier: MIT */
/*
 * Control from outside without a permanent thread. A signal that programs ignore, queued with our
 * value, or the bell (base/attach_protocol.h) starts a helper thread (base/os_thread.h), which
 * listens on a socket, runs what clients ask for, and ends after some seconds without one.
 *
 * Its sockets are in no descriptor table of the program's, it holds no lock while it reads from or
 * writes to a client, and it has no heap: it never calls malloc.
 */
#ifndef PROCESS_ATTACH_H
#define PROCESS_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attach_protocol.h"
#include "base/compiler.h"
#include "base/file/sink.h"

/* Written by clients, from outside. */
extern HIDDEN uint32_t attach_bell;

/* The commands that clients may send. */
struct attach_commands {
    /* Runs one line; the answer, text, goes to `sink`. `fd`: a file that the client passed along,
     * or -1. 0 or an errno value. */
    int (*run)(const char *line, size_t length, int fd, struct sink *sink);
    /* Whether the command goes on using `fd` after its answer: it must be run by a thread with the
     * program's table of descriptors. */
    bool (*keeps_file)(const char *line, size_t length);
};

/* Once, at start; accepts requests from now on. */
void attach_init(const struct attach_commands *understood);
/* Accepts requests again, unless the option `control` is off, the program has special rights
 * (AT_SECURE) or uses the signal itself. */
void attach_open(void);
/* A client rang the bell. Called outside of the allocator. */
NOINLINE void attach_heard(void);
INLINE bool attach_rung(void)
{
    return load_relaxed(&attach_bell) == ATTACH_BELL_RUNG;
}
/* In a forked child. */
void attach_forked(void);
/* A filter is about to forbid control: accepts no more requests, and ends the helper. `attach_open`
 * undoes this. */
void attach_withdraw(void);
/* The program ends: removes the socket, if there is one. */
void attach_end(void);

#endif
