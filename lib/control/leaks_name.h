/* SPDX-License-Identifier: MIT */
/* Names of frames in reports about leaks, as a C++ programmer knows them. */
#ifndef CONTROL_LEAKS_NAME_H
#define CONTROL_LEAKS_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/watch/watch.h"

/* `pc` is a return address. `brief`: without the types of arguments and templates, as pprof has
 * names. May allocate: the C++ library's demangler does. */
void leaks_name(uintptr_t pc, bool brief, struct code_name *name);

#endif
