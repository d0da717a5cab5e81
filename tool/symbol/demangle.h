/* SPDX-License-Identifier: MIT */
/* C++, Rust and D names as people write them. */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include <stddef.h>

/* As people write it; NULL: not mangled. To be freed. */
char *symbol_demangle(const char *name);
/* With parameters and, where the name has it, the type that is returned. */
char *symbol_demangle_whole(const char *name);

#endif
