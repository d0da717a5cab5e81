/* SPDX-License-Identifier: MIT */
/*
 * The door of lib/process: the program around us. How it ends (ending.h), control from outside
 * (attach.h), what its environment says (environment.h), whether a second copy of the library is in
 * it (twin.h), whose memory it runs in (memory.h), and the functions behind ours (next.h).
 * disposition.c, madvise.c, privilege.c, redirect.c, sandbox.c and sleep.c stand before calls of
 * libc's.
 */
#ifndef PROCESS_PROCESS_H
#define PROCESS_PROCESS_H

#include "lib/process/attach.h"
#include "lib/process/ending.h"
#include "lib/process/environment.h"
#include "lib/process/memory.h"
#include "lib/process/next.h"
#include "lib/process/operators.h"
#include "lib/process/signal_stack.h"
#include "lib/process/stay.h"
#include "lib/process/twin.h"

#endif
