/* SPDX-License-Identifier: MIT */
/*
 * The door of lib/watch: what all observers share. A stack is walked without a lock or an
 * allocation (unwind.h), becomes a number (stacks.h, kept in table.h), and can still be named after
 * its code was unloaded (unloaded.h). What is known outlives the process in a file (mirror.h).
 */
#ifndef WATCH_WATCH_H
#define WATCH_WATCH_H

#include "lib/watch/code.h"
#include "lib/watch/code_name.h"
#include "lib/watch/interrupt.h"
#include "lib/watch/mirror.h"
#include "lib/watch/own_stack.h"
#include "lib/watch/stacks.h"
#include "lib/watch/table.h"
#include "lib/watch/tasks.h"
#include "lib/watch/unloaded.h"
#include "lib/watch/unwind.h"
#include "lib/watch/walks.h"
#include "lib/watch/wildcard.h"

#endif
