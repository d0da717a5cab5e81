/* SPDX-License-Identifier: MIT */
/* Whether machine code ends in a call, so that what follows is a return address. For the machines
 * by their number in ELF files, since the command reads files of other machines. */
#ifndef BASE_CALL_H
#define BASE_CALL_H

#include <stdbool.h>

enum { CALL_BYTES = 8 }; /* what `call_ends` looks at */

bool call_knows(unsigned machine);
/* `end`: behind the code, of which CALL_BYTES can be read. */
bool call_ends(unsigned machine, const unsigned char *end);

#endif
