/* SPDX-License-Identifier: MIT */
#include "base/os.h"
#include "lib/alloc/alloc.h"
#if defined(__x86_64__)
#endif
