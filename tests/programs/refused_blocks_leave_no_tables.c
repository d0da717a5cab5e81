/* SPDX-License-Identifier: MIT */
/* A malloc that is refused takes nothing of the address space: what is mapped for it goes. */
#include <sys/resource.h>

#include "tests/programs/work.h"

enum { LIMIT_MIB = 1024, BLOCK = 100000 };

static size_t blocks_to_be_had(void)
{
    size_t count = 0;
    void **chain = NULL;
    for (void **block; (block = malloc(BLOCK)) != NULL; count++) {
        *block = chain;
        chain = block;
    }
    while (chain != NULL) {
        void **next = *chain;
        free(chain);
        chain = next;
    }
    return count;
}

int main(void)
{
    struct rlimit limit = {(size_t)LIMIT_MIB << 20, (size_t)LIMIT_MIB << 20};
    alarm(100);
    CHECK(heap_works(1));
    if (setrlimit(RLIMIT_AS, &limit) != 0) {
        return 77;
    }
    for (size_t mib = 2000; mib <= 9000; mib += 1000) {
        CHECK(malloc(mib << 20) == NULL && errno == ENOMEM);
        usleep(3000); /* what was refused a moment ago is refused without a try */
    }
    size_t count = blocks_to_be_had();
    CHECK_AT(count * BLOCK > (size_t)LIMIT_MIB * 7 / 10 << 20, "%zu blocks of %d", count, BLOCK);
    return check_result();
}
