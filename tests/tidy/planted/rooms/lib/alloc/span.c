/* SPDX-License-Identifier: MIT */
#include "lib/alloc/span.h"
#include "span.h"
#include "../alloc/span.h"
#include "lib/watch/watch.h"
#include <memoir/memoir.h>
#ifdef __aarch64__
#endif
