/* SPDX-License-Identifier: MIT */
/* linked-only not-emulated */
/*
 * A thread that is told of every fork by a userfaultfd: a copy of the process would wait for that
 * thread, which stands still, so the scan is made in place. Without that, there is a copy. Pages
 * that only the thread can provide are not touched.
 */
#include "include/memoir/memoir.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/api/check.h"

enum { BYTES = 1 << 20 };

static int events;

static void *serve(void *argument)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (struct uffd_msg told; read(events, &told, sizeof told) == sizeof told;) {
        if (told.event == UFFD_EVENT_FORK)
            close((int)told.arg.fork.ufd);
        struct uffdio_zeropage zero = {{told.arg.pagefault.address & ~(page - 1), page}, 0, 0};
        if (told.event == UFFD_EVENT_PAGEFAULT)
            CHECK(ioctl(events, UFFDIO_ZEROPAGE, &zero) == 0);
    }
    return argument;
}

static bool watch(unsigned long features, void **memory)
{
    struct uffdio_api api = {.api = UFFD_API, .features = features};
    struct uffdio_register range = {
        {(unsigned long)memory, BYTES}, UFFDIO_REGISTER_MODE_MISSING, 0};
    events = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    return events >= 0 && ioctl(events, UFFDIO_API, &api) == 0 &&
           ioctl(events, UFFDIO_REGISTER, &range) == 0;
}

static void look(unsigned long features, unsigned in_place)
{
    struct memoir_leaks leaks;
    pthread_t thread;
    void **memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!watch(features, memory)) {
        puts("no userfaultfd: skipped");
        exit(77);
    }
    CHECK(pthread_create(&thread, NULL, serve, NULL) == 0);
    memory[BYTES / sizeof *memory / 2] = malloc(100);
    CHECK(memoir_leaks(&leaks, sizeof leaks, NULL, NULL));
    CHECK(leaks.in_place == in_place && leaks.definite.blocks == 0);
}

int main(void)
{
    look(0, 0);
    look(UFFD_FEATURE_EVENT_FORK, 1);
    fflush(NULL);
    _exit(check_result());
}
