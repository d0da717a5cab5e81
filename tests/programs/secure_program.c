/* SPDX-License-Identifier: MIT */
/* helper of secure_programs_ignore_options.sh: says whether the kernel calls this process secure,
 * and uses the heap. */
#include <sys/auxv.h>

#include "memoir/memoir.h"
#include "tests/programs/work.h"

#pragma weak memoir_rate

int main(void)
{
    if (!heap_works(1)) {
        return 1;
    }
    printf("secure %lu rate %lld\n", getauxval(AT_SECURE),
           memoir_rate != NULL ? (long long)memoir_rate() : -2);
    return 0;
}
