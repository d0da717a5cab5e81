/* SPDX-License-Identifier: MIT */
/* The door of tool/symbol/elf: ELF files that are open, their symbols, their unwind tables. */
#ifndef SYMBOL_ELF_ELF_H
#define SYMBOL_ELF_ELF_H

#include "tool/symbol/elf/bundle.h"
#include "tool/symbol/elf/headers.h"
#include "tool/symbol/elf/image.h"
#include "tool/symbol/elf/mini.h"
#include "tool/symbol/elf/symbol_table.h"
#include "tool/symbol/elf/unwind_starts.h"

#endif
