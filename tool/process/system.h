/* SPDX-License-Identifier: MIT */
/*
 * `memoir doctor --system`: the kernel's settings that guides to allocators tell people to change,
 * what the present values mean for memoir's heap, and the commands to change them and to restore
 * them. It reads and never writes.
 */
#ifndef PROCESS_SYSTEM_H
#define PROCESS_SYSTEM_H

#include <stdbool.h>

struct system_setting {
    const char *title, *path;
    char value[32];    /* "": not visible here, and nothing below is set */
    char meaning[512]; /* whole sentences */
    char change[160];  /* the command that sets another value, which is `other` */
    char restore[160]; /* the command that sets the present value */
    const char *other;
    bool notable; /* may surprise: deserves more than a tick */
};

typedef void system_found(void *context, const struct system_setting *setting);
/* The number behind "KEY:" in a file such as /proc/meminfo; -1 if there is none. */
long system_number(const char *path, const char *key);
/* Calls `found` for each setting that counts. `root` stands for / ("": the machine's own). */
void system_settings(const char *root, system_found *found, void *context);

#endif
