/* SPDX-License-Identifier: MIT */
/*
 * The door of lib/window: addresses, and nothing about blocks. arena.c chooses the window, the
 * stretch of addresses that all blocks come from, and maps it and the tables below it piece by
 * piece; span.c keeps the table of spans; pages.c hands out runs of units and takes them back. What
 * a span is cut into is decided above, in lib/alloc.
 */
#ifndef WINDOW_WINDOW_H
#define WINDOW_WINDOW_H

#include "lib/window/arena.h"
#include "lib/window/harden.h"
#include "lib/window/hold.h"
#include "lib/window/huge.h"
#include "lib/window/meta.h"
#include "lib/window/pages.h"
#include "lib/window/sizes.h"
#include "lib/window/span.h"

#endif
