/* SPDX-License-Identifier: MIT */
/* After mlockall(MCL_FUTURE) the kernel fills each mapping that can be written to at once. A block
 * of far more than the machine has is refused all the same, and no memory is taken to find that
 * out. A child asks for it; it is ended once it has a gigabyte. */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

#include "tests/programs/work.h"

enum { NOT_ALLOWED = 77, OVERCOMMITS = 78, GOT_ONE = 1, WRONG_ERRNO = 2 };

static const size_t far_too_much = (size_t)1 << 42;

static bool is_refused(void *block, int *wrong)
{
    if (block != NULL)
        *wrong = GOT_ONE;
    else if (errno != ENOMEM)
        *wrong = WRONG_ERRNO;
    return block == NULL;
}

static int ask(void)
{
    void *small = malloc(100), *large = malloc(40 << 20);
    int wrong = 0;
    void *counted =
        mmap(NULL, far_too_much, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (counted != MAP_FAILED)
        return OVERCOMMITS; /* vm.overcommit_memory is 1 */
    if (mlockall(MCL_FUTURE) != 0)
        return NOT_ALLOWED;
    (void)(is_refused(malloc(far_too_much), &wrong) &&
           is_refused(calloc(far_too_much / 8, 8), &wrong) &&
           is_refused(memalign(4096, far_too_much), &wrong) &&
           is_refused(memalign(far_too_much, 8), &wrong) &&
           is_refused(realloc(small, far_too_much), &wrong) &&
           is_refused(realloc(large, far_too_much), &wrong));
    return wrong;
}

static size_t resident_bytes(pid_t pid)
{
    char path[64];
    unsigned long all, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%lu %lu", &all, &resident) != 2)
            resident = 0;
        fclose(file);
    }
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

int main(void)
{
    int status;
    size_t max = 0;
    alarm(100);
    pid_t child = fork();
    if (child == 0)
        _exit(ask());
    while (waitpid(child, &status, WNOHANG) == 0) {
        size_t now = resident_bytes(child);
        max = now > max ? now : max;
        if (max > (size_t)1 << 30)
            kill(child, SIGKILL);
        usleep(200);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) >= NOT_ALLOWED) {
        check_say("mlockall is not allowed here, or any size is granted\n");
        return 77;
    }
    CHECK_AT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x, %zu MB resident", status,
             max >> 20);
    return check_result();
}
