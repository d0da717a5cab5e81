/* SPDX-License-Identifier: MIT */
#ifndef LIB_API_HOT_H
#define LIB_API_HOT_H
#include "lib/alloc/alloc.h"
#ifdef FAST
#else
#endif
#endif
