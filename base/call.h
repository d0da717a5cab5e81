/* SPDX-License-Identifier: MIT */
/* Whether machine code ends in a call, so that the byte after it is a return address, and where the
 * call goes. `machine` is the number in ELF files: the command reads files of other machines. */
#ifndef BASE_CALL_H
#define BASE_CALL_H

#include <stdbool.h>
#include <stdint.h>

enum { CALL_BYTES = 8 }; /* that `call_ends` reads */

bool call_knows(unsigned machine);
/* `end`: behind the code. The CALL_BYTES before it can be read. */
bool call_ends(unsigned machine, const unsigned char *end);
/* The function that a direct call goes to, with `pc` as the return address; 0: no direct call. */
uint64_t call_target(unsigned machine, const unsigned char *end, uint64_t pc);

#endif
