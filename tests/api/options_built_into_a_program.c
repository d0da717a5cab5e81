/* SPDX-License-Identifier: MIT */ /* static-too linked-only */
/* A program's own memoir_conf sets the options, whichever way the library is linked. */
#include "memoir/memoir.h"

#include "tests/api/check.h"

const char *memoir_conf = "heap.rate:48K, thp:off";

int main(void)
{
    free(malloc(1));
    CHECK_EQ(memoir_rate(), 48 << 10);
    return check_result();
}
