/* SPDX-License-Identifier: MIT */
/* All is well here. */
#include "lib/alloc/good.h"

#include <stddef.h>
#include <string.h>

#include "base/os.h"

static int two(void);

int good(void)
{
    return two();
}

static int two(void)
{
    return 2;
}
