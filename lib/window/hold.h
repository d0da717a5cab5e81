/* SPDX-License-Identifier: MIT */
/*
 * The limit of what the heap takes from the kernel by itself, while the program has a source of
 * memory of its own: runs in use and dirty ones, together, stay within it. What goes back to the
 * kernel may be taken again.
 */
#ifndef WINDOW_HOLD_H
#define WINDOW_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With `hold`, what the window has now becomes the limit; without it the limit ends. */
void hold_set(bool hold);
/* It rises. */
void hold_more(size_t units);
/* Whether a clean run of this length would be beyond it. Any thread, with or without locks. */
bool hold_refuses(uint32_t units);

#endif
