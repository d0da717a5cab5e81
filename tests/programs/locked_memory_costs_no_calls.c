/* SPDX-License-Identifier: MIT */
/* After mlockall the kernel takes no pages back. Frees must not ask it again and again: they take
 * about the time that they take without. */
#include <sys/mman.h>
#include <time.h>

#include "tests/programs/work.h"

enum { BLOCKS = 6000, BLOCK = 48 << 10 }; /* more than may be dirty */

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double frees_ms(void)
{
    static char *blocks[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK + i % 5 * 4096);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, BLOCK);
    }
    double start = cpu_ms();
    for (unsigned i = 0; i < BLOCKS; i++) {
        free(blocks[(i * 7) % BLOCKS]);
    }
    return cpu_ms() - start;
}

int main(void)
{
    alarm(100);
    double plain = frees_ms();
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        check_say("mlockall is not allowed here\n");
        return 77;
    }
    double locked = frees_ms();
    CHECK_AT(locked < 20 * plain + 100, "%.1f ms, %.1f without mlockall", locked, plain);
    return check_result();
}
