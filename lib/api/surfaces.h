/* SPDX-License-Identifier: MIT */
/*
 * The faces of other allocators: their options, variables and functions, on top of control.h. Each
 * changes nothing unless somebody uses it. init.c calls these three.
 */
#ifndef API_SURFACES_H
#define API_SURFACES_H

/* `config` is loaded and nothing else is up: variables and options are read and change `config`.
 */
void surfaces_init(void);
/* The allocator is up, and this thread holds nothing: dumps are set up. */
void surfaces_ready(void);
/* The program ends: the last dumps and reports. May not return. */
void surfaces_exit(void);

#endif
