/* SPDX-License-Identifier: MIT */
/* Whether a process stands still because its control group does (docker pause, systemctl freeze):
 * it hears no signal, and /proc says that it sleeps. */
#ifndef PROCESS_FROZEN_H
#define PROCESS_FROZEN_H

#include <stdbool.h>
#include <sys/types.h>

bool process_is_frozen(pid_t pid);

#endif
