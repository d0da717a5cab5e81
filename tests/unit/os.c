/* SPDX-License-Identifier: MIT */
/* The kernel calls: each does what os.h says of it, above all what the allocator relies on. */
#include "base/os.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static size_t page;

static unsigned wrong_bytes(const char *at, size_t size, char value)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < size; i++)
        wrong += at[i] != value;
    return wrong;
}

static void mapping_at_a_place_never_replaces(void)
{
    char *at = os_map(4 * page);
    assert(at != NULL && wrong_bytes(at, 4 * page, 0) == 0);
    memset(at, 'x', 4 * page);
    assert(os_map_at(at, page) == -EEXIST);
    assert(os_map_at(at + page, 8 * page) == -EEXIST); /* the beginning is taken */
    assert(wrong_bytes(at, 4 * page, 'x') == 0);
    assert(os_unmap(at + page, 2 * page));
    assert(os_map_at(at, 4 * page) == -EEXIST); /* both ends are taken */
    assert(os_map_at(at + page, 2 * page) == 0);
    assert(wrong_bytes(at + page, 2 * page, 0) == 0);
    assert(wrong_bytes(at, page, 'x') == 0 && wrong_bytes(at + 3 * page, page, 'x') == 0);
    assert(os_map_over(at, page) && wrong_bytes(at, page, 0) == 0);
    assert(os_unmap(at, 4 * page));
}

static void impossible_mappings_fail(void)
{
    assert(os_map((size_t)1 << 62) == NULL);
    int error = os_map_at((void *)((uintptr_t)1 << 62), page);
    assert(error < 0 && (error != -EEXIST || unit_emulated()));
}

/* Twice, since the first time may find out what the kernel can do. */
static void moving_takes_the_pages_along(void)
{
    size_t size = 16 * page;
    for (int i = 0; i < 2; i++) {
        char *from = os_map(size), *to = os_map(size);
        assert(from != NULL && to != NULL);
        memset(from, 'm', size);
        bool moved = os_move(from, to, size) == OS_MOVED;
        assert(moved || unit_emulated());
        assert(!moved || wrong_bytes(to, size, 'm') == 0);
        assert(wrong_bytes(from, size, moved ? 0 : 'm') == 0);
        memset(from, 'n', size); /* both can be used again, */
        memset(to, 'n', size);
        assert(os_return(from, size) && os_return(to, size)); /* and returned */
        assert(wrong_bytes(from, size, 0) == 0 && wrong_bytes(to, size, 0) == 0);
        assert(os_map_at(from, page) == -EEXIST && os_map_at(to, page) == -EEXIST);
        os_unmap(from, size);
        os_unmap(to, size);
    }
}

static void returned_pages_read_as_zero_and_are_gone(void)
{
    size_t size = 64 * page;
    char *at = os_map(size);
    os_huge(at, size, false);
    assert(os_resident(at, size, OS_ALL_PARTS) == 0);
    memset(at, 'r', size);
    assert(os_resident(at, size, OS_ALL_PARTS) == size);
    assert(os_return(at + page, 62 * page));
    assert(os_resident(at, size, OS_ALL_PARTS) == 2 * page);
    assert(wrong_bytes(at, page, 'r') == 0 && wrong_bytes(at + page, 62 * page, 0) == 0);
    os_unmap(at, size);
    assert(os_resident(at, size, OS_ALL_PARTS) == 0);
}

static void residents_of_many_pages_are_counted(void)
{
    size_t size = 3000 * page; /* more than one call's worth */
    char *at = os_map(size);
    os_huge(at, size, false);
    for (size_t i = 0; i < 3000; i += 3)
        at[i * page] = 1;
    assert(os_resident(at, size, OS_ALL_PARTS) == 1000 * page);
    os_unmap(at, size);
}

/* Few places are looked at, and stand for all: exact where all pages are in memory or none. */
static void residents_of_large_ranges_are_near(void)
{
    enum { PARTS = 24, LOOKS = 8 };
    size_t part = 1024 * os_page_size(), size = PARTS * part;
    char *at = os_map(size);
    assert(at != NULL && os_resident(at, size, LOOKS) == 0);
    for (size_t i = 0; i < PARTS; i += 3)
        memset(at + i * part, 1, part);
    size_t all = os_resident(at, size, OS_ALL_PARTS), near = os_resident(at, size, LOOKS);
    assert(all == size / 3 && near > 0 && near < size);
    memset(at, 1, size);
    assert(os_resident(at, size, LOOKS) == size);
    assert(os_resident(at, size - 1, LOOKS) == size - 1); /* never more than was asked about */
    os_unmap(at, size);
}

static void protected_pages_can_be_read_only(void)
{
    char *at = os_map(page);
    at[0] = 'p';
    assert(os_protect(at, page, false));
    int fd = os_open("/dev/zero", O_RDONLY, 0);
    assert(os_read(fd, at, 1) == -EFAULT && at[0] == 'p');
    assert(os_protect(at, page, true));
    assert(os_read(fd, at, 1) == 1 && at[0] == 0);
    assert(os_close(fd) == 0 && os_close(fd) == -EBADF);
    os_unmap(at, page);
}

static void readable_tells_memory_from_none(void)
{
    if (unit_emulated()) /* qemu looks at the arguments in another order */
        return;
    char *at = os_map(2 * page);
    os_unmap(at + page, page);
    assert(os_readable(at, 8) && os_readable(at + page - 16, 16));
    assert(!os_readable(at + page, 8) && !os_readable(at + page - 8, 16));
    assert(!os_readable(NULL, 8) && !os_readable((void *)(UINTPTR_MAX - 15), 8));
    os_unmap(at, page);
}

static void wiped_memory_is_empty_in_children(void)
{
    char *at = os_map(page);
    if (unit_emulated() || !os_wipe_on_fork(at, page))
        return;
    *at = 1;
    pid_t child = fork();
    if (child == 0)
        _exit(*at == 0 ? 3 : 4);
    int status;
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3 && *at == 1);
    os_unmap(at, page);
}

static void *nothing(void *tid)
{
    store_release((pid_t *)tid, os_tid());
    return NULL;
}

static void threads_are_known_while_they_live(void)
{
    pthread_t thread;
    pid_t tid = 0;
    assert(os_pid() == getpid() && os_tid() == getpid() && os_thread_alive(os_tid()));
    assert(pthread_create(&thread, NULL, nothing, &tid) == 0);
    assert(pthread_join(thread, NULL) == 0 && tid != 0 && tid != os_tid());
    for (int i = 0; os_thread_alive(tid) && i < 1000; i++)
        usleep(1000); /* join returns a moment before the kernel is done */
    assert(!os_thread_alive(tid));
    assert(!os_thread_alive(getppid()));
}

static void *stays(void *tid)
{
    store_release((pid_t *)tid, os_tid());
    while (load_acquire((pid_t *)tid) != 0)
        usleep(1000);
    return NULL;
}

/* A child of vfork has our memory: to it, our threads are not gone. */
static void threads_are_not_gone_in_vfork(void)
{
    pthread_t thread;
    pid_t tid = 0;
    int status;
    os_memory_claim();
    assert(pthread_create(&thread, NULL, stays, &tid) == 0);
    while (load_acquire(&tid) == 0)
        usleep(1000);
    assert(!os_thread_gone(tid) && os_thread_gone(getppid()));
    pid_t child = vfork();
    if (child == 0)
        _exit(os_thread_gone(tid));
    assert(waitpid(child, &status, 0) == child && status == 0);
    store_release(&tid, 0);
    assert(pthread_join(thread, NULL) == 0);
}

static uint32_t word;

static void *waker(void *unused)
{
    usleep(20000);
    store_release(&word, 1);
    os_wake(&word, 1);
    return unused;
}

static void waiting_ends(void)
{
    pthread_t thread;
    uint64_t before = os_now_ms();
    os_wait(&word, 0, 30); /* by time */
    assert(os_now_ms() - before >= 20);
    os_wait(&word, 7, 0); /* because the word differs */
    assert(pthread_create(&thread, NULL, waker, NULL) == 0);
    while (load_acquire(&word) == 0)
        os_wait(&word, 0, 0); /* by a call */
    pthread_join(thread, NULL);
}

static void random_numbers_differ(void)
{
    uint64_t numbers[64];
    for (int i = 0; i < 64; i++) {
        numbers[i] = os_random();
        for (int k = 0; k < i; k++)
            assert(numbers[i] != numbers[k]);
    }
}

static void *drain(void *fd)
{
    static char buffer[1 << 16];
    size_t sum = 0;
    for (ssize_t got; (got = os_read(*(int *)fd, buffer, sizeof buffer)) > 0;)
        sum += (size_t)got;
    return (void *)sum;
}

static void writing_all_goes_on_after_short_writes(void)
{
    enum { BYTES = 1 << 20 };
    int ends[2];
    pthread_t thread;
    void *sum;
    char *bytes = os_map(BYTES);
    assert(pipe(ends) == 0 && pthread_create(&thread, NULL, drain, &ends[0]) == 0);
    os_write_all(ends[1], bytes, BYTES);
    close(ends[1]);
    pthread_join(thread, &sum);
    assert((size_t)sum == BYTES);
    os_write_all(ends[1], bytes, BYTES); /* closed: gives up */
    close(ends[0]);
    os_unmap(bytes, BYTES);
}

static void abort_now(void)
{
    os_abort();
}

static void abort_when_blocked_and_ignored(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    signal(SIGABRT, SIG_IGN);
    os_abort();
}

static void say(int number)
{
    (void)number;
    os_write_all(2, "handler", 7);
}

static void *asks_who_it_is(void *unused)
{
    assert(os_tid() == (pid_t)syscall(SYS_gettid));
    return unused;
}

/* The kernel need not be asked for what libc and the machine know: both agree with it. */
static void thread_and_node_are_the_kernels(void)
{
    unsigned node = 0, cpu = 0, tries = 0;
    pthread_t thread;
    os_tid_learn();
    asks_who_it_is(NULL);
    assert(pthread_create(&thread, NULL, asks_who_it_is, NULL) == 0);
    assert(pthread_join(thread, NULL) == 0);
    pid_t child = fork();
    if (child == 0) {
        os_tid_forked();
        asks_who_it_is(NULL);
        _exit(0);
    }
    int status = 1;
    assert(waitpid(child, &status, 0) == child && status == 0);
    child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); /* libc does not hear of it */
    if (child == 0) {
        os_tid_forked();
        asks_who_it_is(NULL);
        _exit(0);
    }
    assert(waitpid(child, &status, 0) == child && status == 0);
    do /* it may be moved to another node in between */
        syscall(SYS_getcpu, &cpu, &node, NULL);
    while (os_node() != node && ++tries < 1000);
    assert(tries < 1000);
}

static void abort_with_a_handler(void)
{
    signal(SIGABRT, say);
    os_abort();
}

static void words_are_looked_at_safely(void)
{
    uint32_t *words = os_map(2 * page);
    assert(words != NULL && !os_word_is_set(words));
    assert(os_resident(words, 2 * page, OS_ALL_PARTS) <=
           page); /* looking brings no page of its own in */
    words[1] = 1;
    assert(os_word_is_set(words + 1) && !os_word_is_set(words) && words[1] == 1);
    words[2] = UINT32_MAX;
    assert(os_word_is_set(words + 2));
    assert(os_word_is_writable(words + 2) && words[2] == UINT32_MAX);
    assert(os_protect(words, page, false) && !os_word_is_writable(words + 2));
    assert(os_protect(words, page, true) && os_word_is_writable(words + 2));
    assert(os_unmap(words, 2 * page) && !os_word_is_set(words + 1) && !os_word_is_set(NULL));
    assert(!os_word_is_writable(words + 1) && !os_word_is_writable(NULL));
}

/* No file can be opened: memory is read by a call, or not at all, and all descriptors of the
 * program stay open. */
static void memory_is_read_without_descriptors(void)
{
    enum { FROM = 3, TO = 64 };
    struct rlimit limit;
    uintptr_t from = 12345, to = 0;
    pid_t child = fork();
    if (child == 0) {
        for (int fd = FROM; fd < TO; fd++)
            assert(dup2(2, fd) == fd);
        assert(getrlimit(RLIMIT_NOFILE, &limit) == 0);
        limit.rlim_cur = FROM;
        assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        int memory = os_memory_open();
        assert(memory < 0);
        assert(
            memory == -1 ||
            (os_memory_read(memory, &to, sizeof to, (uintptr_t)&from) == sizeof to && to == from));
        os_memory_close(memory);
        for (int fd = FROM; fd < TO; fd++)
            assert(fcntl(fd, F_GETFD) >= 0);
        _exit(0);
    }
    int status = 1;
    assert(waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
    page = os_page_size();
    assert(page == (size_t)sysconf(_SC_PAGESIZE));
    assert(!os_secure() && os_node() < 1024 && os_break() != 0);
    mapping_at_a_place_never_replaces();
    impossible_mappings_fail();
    moving_takes_the_pages_along();
    returned_pages_read_as_zero_and_are_gone();
    residents_of_many_pages_are_counted();
    residents_of_large_ranges_are_near();
    protected_pages_can_be_read_only();
    readable_tells_memory_from_none();
    words_are_looked_at_safely();
    memory_is_read_without_descriptors();
    wiped_memory_is_empty_in_children();
    threads_are_known_while_they_live();
    threads_are_not_gone_in_vfork();
    thread_and_node_are_the_kernels();
    waiting_ends();
    random_numbers_differ();
    writing_all_goes_on_after_short_writes();
    unit_aborts(abort_now, "");
    unit_aborts(abort_when_blocked_and_ignored, "");
    unit_aborts(abort_with_a_handler, "handler");
    return 0;
}
