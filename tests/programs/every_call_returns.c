/* SPDX-License-Identifier: MIT */
/* helper: every_call_returns.sh runs this in every mode of the profiler.
 *
 * What the kernel gives is used up, or a system call fails from now on, as the arguments say:
 *   as     address space          maps    mappings          files   descriptors
 *   threads  threads (as a user that is not root)
 *   NAME=ERROR  a system call by its number always fails with that error
 * Then all entry points are called in turn, for small and large blocks. Each returns a block or
 * NULL with ENOMEM, and takes less than a second of CPU time; the script ends what hangs. So does
 * the end of the program, with the dumps that are due then. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/programs/work.h"

enum { TURNS = 6000, KEPT = 2000, ROOM = 24 << 20, NOBODY = 65534, ENTRY_POINTS = 8 };

static unsigned char *kept[KEPT];

static void limit(int resource, rlim_t value)
{
    struct rlimit both = {value, value};
    if (setrlimit(resource, &both) != 0) {
        _exit(77);
    }
}

static void limit_addresses(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%lu", &pages) != 1) {
        _exit(77);
    }
    fclose(file);
    limit(RLIMIT_AS, pages * (rlim_t)getpagesize() + ROOM);
}

/* Pages that may be read and pages that may not, in turn: the kernel can't join them. */
static void use_up_mappings(void)
{
    enum { PAGES = 1 << 18 };
    size_t page = (size_t)getpagesize();
    char *all =
        mmap(NULL, PAGES * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t i = 1;
    while (all != MAP_FAILED && i < PAGES && mprotect(all + i * page, page, PROT_NONE) == 0) {
        i += 2;
    }
    if (all == MAP_FAILED || i >= PAGES) {
        _exit(77);
    }
}

static void fail_call(const char *text)
{
    char *end;
    unsigned number = (unsigned)strtoul(text, &end, 10),
             error = (unsigned)strtoul(end + 1, NULL, 10);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        _exit(77);
    }
}

static void impose(const char *what)
{
    if (strcmp(what, "as") == 0) {
        limit_addresses();
    } else if (strcmp(what, "maps") == 0) {
        use_up_mappings();
    } else if (strcmp(what, "files") == 0) {
        limit(RLIMIT_NOFILE, 0);
    } else if (strcmp(what, "threads") == 0) {
        limit(RLIMIT_NPROC, 0);
        if (geteuid() == 0 && setuid(NOBODY) != 0) {
            _exit(77);
        }
    } else {
        fail_call(what);
    }
}

static long cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *call(unsigned which, unsigned char *old, size_t size)
{
    void *block = NULL;
    if (which < 3 || which == 6) {
        block = realloc(old, size);
        if (block == NULL) {
            free(old);
        }
        return block;
    }
    free(old);
    switch (which) {
    case 3:
        return calloc(1, size);
    case 4:
        return memalign(64, size);
    case 5:
        errno = posix_memalign(&block, 4096, size) ?: errno;
        return block;
    default:
        return malloc(size);
    }
}

static unsigned had;

static void work(void)
{
    unsigned turn = 1;
    for (unsigned i = 0; i < TURNS; i++) {
        turn = turn * 1103515245u + 12345u;
        unsigned at = (turn >> 16) % KEPT, which = turn >> 8 & (ENTRY_POINTS - 1);
        size_t size = (turn >> 3) % (turn % 16 == 1 ? 1000000 : turn % 8 == 1 ? 40000 : 1000) + 1;
        long before = cpu_ms();
        errno = ERRNO_UNTOUCHED;
        kept[at] = call(which, kept[at], size);
        long took = cpu_ms() - before;
        CHECK_AT(took < 1000, "entry point %u, %zu bytes: %ld ms", which, size, took);
        CHECK_AT(kept[at] != NULL || errno == ENOMEM, "entry point %u: errno %d", which, errno);
        if (kept[at] != NULL) {
            kept[at][0] = kept[at][size - 1] = 1;
            had++;
        }
    }
}

static void *work_in_thread(void *unused)
{
    work();
    return unused;
}

int main(int count, char **args)
{
    pthread_t thread;
    CHECK(heap_works(1));
    bool threads = true;
    for (int i = 1; i < count; i++) {
        threads &= args[i][0] > '9'; /* libc ends the program where its own calls fail */
        impose(args[i]);
    }
    work();
    if (threads && pthread_create(&thread, NULL, work_in_thread, NULL) == 0) {
        pthread_join(thread, NULL);
    }
    for (unsigned i = 0; i < KEPT; i++) {
        free(kept[i]);
        kept[i] = NULL;
    }
    work();
    CHECK(had > 100);
    exit(check_failures != 0);
}
