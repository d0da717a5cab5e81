/* SPDX-License-Identifier: MIT */
/* In a room in which no file may begin with a helper. */
#include <string.h>

#include "lib/none/first.h"

static int one(void)
{
    return 1;
}

int first(void)
{
    return one();
}
