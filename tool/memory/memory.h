/* SPDX-License-Identifier: MIT */
/* The door of tool/memory: how the command holds what it does not know the size of. */
#ifndef MEMORY_MEMORY_H
#define MEMORY_MEMORY_H

#include "tool/memory/arena.h"
#include "tool/memory/list.h"
#include "tool/memory/map.h"
#include "tool/memory/shortage.h"

#endif
