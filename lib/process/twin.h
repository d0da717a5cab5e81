/* SPDX-License-Identifier: MIT */
/*
 * A program that is linked with libmemoir.a and has libmemoir.so preloaded, too, has two copies of
 * us. Its own malloc is the one in use. The preloaded copy stays idle then: no capture, no dump, no
 * control, no message, so that the program is recorded and listed once.
 */
#ifndef PROCESS_TWIN_H
#define PROCESS_TWIN_H

#include <stdbool.h>

/* Whether this copy is the one to stay idle. */
bool twin_is_in_charge(void);

#endif
