/* SPDX-License-Identifier: MIT */
/*
 * See base/os.h: memory. All of it is one mmap, munmap, mprotect or madvise each, except `os_move`:
 * moving pages between two mappings without a moment in which another thread may fault depends on
 * the kernel's version, so it is tried from the newest way to plain copying.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/arch.h"
#include "base/compiler.h"
#include "base/confine.h"
#include "base/os.h"
#include "base/os_call.h"
#include "base/words.h"

/* Values of the kernel's interface that older headers lack. */
enum {
    FIXED_NOREPLACE = 0x100000,
    REMAP_DONTUNMAP = 4,
    ADVISE_WIPEONFORK = 18,
    ADVISE_HUGE = 14,
    ADVISE_NOHUGE = 15,
    ADVISE_GUARD = 102,
    ADVISE_UNGUARD = 103,
    ADVISE_POPULATE = 23, /* for writes; Linux 5.14 */
};

static long map(void *at, size_t size, long flags);

int os_map_at(void *at, size_t size)
{
    long got = map(at, size, FIXED_NOREPLACE);
    if (failed(got))
        return (int)got;
    if (got != (long)at) { /* a kernel before 4.17 took the address for a hint */
        os_unmap((void *)got, size);
        return -EEXIST;
    }
    return 0;
}

static long map(void *at, size_t size, long flags)
{
    return arch_syscall(SYS_mmap, (long)at, (long)size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

void *os_map(size_t size)
{
    long got = map(NULL, size, 0);
    return failed(got) ? NULL : (void *)got;
}

/* Both calls fail where addresses are out. The second maps nothing that can be written to: after
 * mlockall(MCL_FUTURE) the kernel would fill it with pages at once, until memory is out. */
bool os_overcommits(size_t size)
{
    long got = arch_syscall(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool counted = got != -ENOMEM;
    if (!counted)
        got = arch_syscall(SYS_mmap, 0, (long)size, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (failed(got))
        return true;
    os_unmap((void *)got, size);
    return counted;
}

void *os_map_huge(size_t size, unsigned shift)
{
    enum { HUGE_AT = 26 };
    long got =
        arch_syscall(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (long)shift << HUGE_AT, -1, 0);
    return failed(got) ? NULL : (void *)got;
}

void *os_map_shared(size_t size)
{
    long got = arch_syscall(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return failed(got) ? NULL : (void *)got;
}

bool os_map_over(void *at, size_t size)
{
    return !failed(map(at, size, MAP_FIXED));
}

void *os_reserve(size_t size)
{
    long got = arch_syscall(SYS_mmap, 0, (long)size, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return failed(got) ? NULL : (void *)got;
}

bool os_map_file(void *at, size_t size, int fd, uint64_t from)
{
    return !failed(arch_syscall(SYS_mmap, (long)at, (long)size, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_FIXED, fd, (long)from));
}

bool os_unmap(void *at, size_t size)
{
    return call3(SYS_munmap, (long)at, (long)size, 0) == 0;
}

static long move(void *from, void *to, size_t size, long flags)
{
    return arch_syscall(SYS_mremap, (long)from, (long)size, (long)size,
                        MREMAP_MAYMOVE | MREMAP_FIXED | flags, (long)to, 0);
}

/* Whether the whole range is one mapping of the kernel's. It may be several if a part of it was
 * moved there or got advice. Newer kernels move those one after the other, and if one can't be
 * moved, they do not say which were. So we ask first, by a call that never moves: to make the range
 * a page longer, which no kernel does for several. */
static bool one_mapping(void *at, size_t size)
{
    size_t page = os_page_size();
    long got = arch_syscall(SYS_mremap, (long)at, (long)size, (long)(size + page), 0, 0, 0);
    if (!failed(got)) /* it could grow: nothing was mapped behind it */
        os_unmap((char *)at + size, page);
    return got != -EFAULT;
}

/* The kernel unmaps `to` before it knows whether it can move: maps it again. */
static enum os_moved stayed(void *to, size_t size)
{
    return os_map_over(to, size) ? OS_STAYED : OS_LOST;
}

/* Moves what lies in one mapping. */
static enum os_moved move_one(void *from, void *to, size_t size)
{
    static bool emulated;
    if (load_relaxed(&emulated))
        return OS_STAYED;
    long got = move(from, to, size, REMAP_DONTUNMAP);
    if (!failed(got) && os_readable(from, sizeof(uint64_t)))
        return OS_MOVED;
    /* qemu unmaps `from` nevertheless, and loses its own notes about `to` (a later os_return would
     * do nothing there): everything is copied back, and this is never tried again. */
    if (!failed(got))
        store_relaxed(&emulated, true);
    if (got == -EINVAL) /* a kernel before 5.7 does not know the flag */
        got = move(from, to, size, 0);
    if (failed(got))
        return stayed(to, size);
    bool filled = os_map_over(from, size);
    if (filled && !load_relaxed(&emulated))
        return OS_MOVED;
    if (filled)
        memcpy(from, to, size);
    else /* no memory for the empty range: undo */
        move(to, from, size, 0);
    return stayed(to, size);
}

bool os_readable(const void *at, size_t size)
{
    /* The kernel reads eight bytes before it rejects the first argument. */
    enum { NONSENSE = -1, WORD = 8 };
    uintptr_t first = (uintptr_t)at, last = first + size - WORD;
    return arch_syscall(SYS_rt_sigprocmask, NONSENSE, (long)first, 0, WORD, 0, 0) == -EINVAL &&
           (first == last ||
            arch_syscall(SYS_rt_sigprocmask, NONSENSE, (long)last, 0, WORD, 0, 0) == -EINVAL);
}

bool os_word_is_set(const uint32_t *word)
{
    /* Requeues none of the waiting threads, if the word is 0: the kernel compares. Even programs
     * that forbid themselves most system calls need this one for their locks. */
    enum { NONE = 0, ZERO = 0 };
    return arch_syscall(SYS_futex, (long)word, FUTEX_CMP_REQUEUE_PRIVATE, NONE, NONE, (long)word,
                        ZERO) == -EAGAIN;
}

bool os_word_is_writable(uint32_t *word)
{
    /* The kernel sets no bit of the word, as it would set some, and wakes no thread. */
    static uint32_t unused;
    enum { NONE = 0 };
    return arch_syscall(SYS_futex, (long)&unused, FUTEX_WAKE_OP_PRIVATE, NONE, NONE, (long)word,
                        FUTEX_OP(FUTEX_OP_OR, NONE, FUTEX_OP_CMP_LT, NONE)) >= 0;
}

FOREIGN bool os_peek(void *to, uintptr_t from, size_t size)
{
    enum { WORD = 8 };
    if (from == 0 || from + size < from)
        return false;
    for (uintptr_t page = os_page_size(), at = from; at < from + size;
         at = (at & ~(page - 1)) + page)
        if (!os_readable((const void *)(at & ~(uintptr_t)(WORD - 1)), WORD))
            return false;
    for (size_t i = 0; i < size; i++)
        ((char *)to)[i] = ((const volatile char *)from)[i];
    return true;
}

/* What `os_memory_open` returns instead of a descriptor of /proc/self/mem. BY_FILE and below:
 * BY_FILE less the descriptor of a file that memory is written to and then read from; the kernel
 * fails to write a page that can't be read. Not an errno: those have the same values. */
enum { BY_CALL = -2, BY_FILE = -3 };

static ssize_t read_by_call(void *buffer, size_t size, uintptr_t from)
{
    struct iovec to = {buffer, size}, there = {(void *)from, size};
    return arch_syscall(SYS_process_vm_readv, os_pid(), (long)&to, 1, (long)&there, 1, 0);
}

static ssize_t read_by_file(int file, void *buffer, size_t size, uintptr_t from)
{
    long got = arch_syscall(SYS_pwrite64, file, (long)from, (long)size, 0, 0, 0);
    return got <= 0 ? got : os_read_at(file, buffer, (size_t)got, 0);
}

/* Whether what is read is what is there. An emulator may have put our memory elsewhere, and its
 * kernel tells about its own addresses. */
static bool reads_truly(int memory)
{
    volatile uintptr_t from = (uintptr_t)&memory ^ UINT64_C(0x5bd1e995a3c59ac3);
    uintptr_t to = 0;
    return os_memory_read(memory, &to, sizeof to, (uintptr_t)&from) == sizeof to && to == from;
}

int os_memory_open(void)
{
    int memory = os_open_own("/proc/thread-self/mem", "/proc/self/mem");
    if (memory >= 0) {
        if (reads_truly(memory))
            return memory;
        os_close(memory);
    }
    if (os_is_filtered())
        return -1;
    if (reads_truly(BY_CALL))
        return BY_CALL;
    int file = os_memory_file("leaks");
    if (file < 0)
        return -1;
    if (reads_truly(BY_FILE - file))
        return BY_FILE - file;
    os_close(file);
    return -1;
}

ssize_t os_memory_read(int memory, void *buffer, size_t size, uintptr_t from)
{
    return memory == BY_CALL   ? read_by_call(buffer, size, from)
           : memory <= BY_FILE ? read_by_file(BY_FILE - memory, buffer, size, from)
                               : os_read_at(memory, buffer, size, from);
}

void os_memory_close(int memory)
{
    int file = memory <= BY_FILE ? BY_FILE - memory : memory;
    if (file >= 0)
        os_close(file);
}

/* Each is one call of the kernel's; a block in more pieces is copied (docs/DECISIONS.md). */
enum { PIECES_MAX = 16 };

/* The mappings of a range, by the end of each; 0 if there are too many. */
static unsigned pieces_find(char *at, size_t size, size_t ends[PIECES_MAX])
{
    size_t page = os_page_size(), done = 0;
    unsigned count = 0;
    for (; done < size; ends[count++] = done) {
        size_t one = size - done, several = one;
        if (count == PIECES_MAX)
            return 0;
        if (!one_mapping(at + done, one))
            one = page;
        while (several - one > page) {
            size_t middle = one + (several - one) / 2 / page * page;
            if (one_mapping(at + done, middle))
                one = middle;
            else
                several = middle;
        }
        done += one;
    }
    return count;
}

/* If a piece can't be moved, those before it are already at `to`: it is copied there as well. */
enum os_moved os_move(void *from, void *to, size_t size)
{
    size_t ends[PIECES_MAX], start = 0;
    unsigned count = pieces_find(from, size, ends);
    for (unsigned i = 0; i < count; start = ends[i++]) {
        char *old = (char *)from + start, *new = (char *)to + start;
        enum os_moved moved = move_one(old, new, ends[i] - start);
        if (moved == OS_MOVED)
            continue;
        if (moved == OS_LOST)
            memcpy(from, to, start);
        if (moved == OS_LOST || i == 0)
            return moved;
        memcpy(new, old, ends[i] - start);
        if (!os_return(old, ends[i] - start))
            memset(old, 0, ends[i] - start);
    }
    return count == 0 ? OS_STAYED : OS_MOVED;
}

bool os_protect(void *at, size_t size, bool writable)
{
    long flags = PROT_READ | (writable ? PROT_WRITE : 0);
    return !confined(CONFINE_PAGES) && call3(SYS_mprotect, (long)at, (long)size, flags) == 0;
}

bool os_access(void *at, size_t size, bool open)
{
    long flags = open ? PROT_READ | PROT_WRITE : PROT_NONE;
    return !confined(CONFINE_PAGES) && call3(SYS_mprotect, (long)at, (long)size, flags) == 0;
}

bool os_guard(void *at, size_t size, bool on)
{
    return call3(SYS_madvise, (long)at, (long)size, on ? ADVISE_GUARD : ADVISE_UNGUARD) == 0;
}

void os_populate(void *at, size_t size)
{
    call3(SYS_madvise, (long)at, (long)size, ADVISE_POPULATE);
}

bool os_return(void *at, size_t size)
{
    return call3(SYS_madvise, (long)at, (long)size, MADV_DONTNEED) == 0;
}

void os_huge(void *at, size_t size, bool wanted)
{
    call3(SYS_madvise, (long)at, (long)size, wanted ? ADVISE_HUGE : ADVISE_NOHUGE);
}

bool os_wipe_on_fork(void *at, size_t size)
{
    return call3(SYS_madvise, (long)at, (long)size, ADVISE_WIPEONFORK) == 0;
}

uint64_t os_mappings_max(void)
{
    enum { DEFAULT = 65530 }; /* the kernel's own, taken where /proc can't be read */
    char text[24] = "";
    int fd = os_open("/proc/sys/vm/max_map_count", 0, 0);
    if (fd >= 0) {
        os_read(fd, text, sizeof text - 1);
        os_close(fd);
    }
    uint64_t value = text_number(text, 10);
    return value == 0 ? DEFAULT : value;
}

/* Pages that one question is about. */
enum { ASKED_PAGES = 1024 };

static size_t part_resident(char *at, size_t size)
{
    unsigned char in[ASKED_PAGES] = {0};
    size_t page = os_page_size(), resident = 0;
    if (call3(SYS_mincore, (long)at, (long)size, (long)in) != 0)
        return 0;
    for (size_t i = 0; i < (size + page - 1) / page; i++)
        resident += (in[i] & 1) * page;
    return resident;
}

size_t os_resident(void *at, size_t size, size_t parts_max)
{
    size_t part = ASKED_PAGES * os_page_size(), count = (size + part - 1) / part, resident = 0;
    size_t group = (count + parts_max - 1) / parts_max; /* of parts: one of them stands for all */
    if (confined(CONFINE_FILES))
        return 0;
    for (size_t first = 0; first < count; first += group) {
        size_t many = count - first < group ? count - first : group;
        /* Any one of them, not each time the same: arrays have steps of their own. */
        size_t chosen = first + (hash_word(first) >> 32) % many;
        size_t from = chosen * part, rest = size - from;
        resident += part_resident((char *)at + from, rest < part ? rest : part) * many;
    }
    return resident < size ? resident : size;
}

int os_faults_open(void)
{
    enum { USER_MODE_ONLY = 1 }; /* needs no privilege */
    return (int)call3(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY, 0, 0);
}

long os_control(int fd, uint64_t request, void *argument)
{
    return call3(SYS_ioctl, fd, (long)request, (long)argument);
}
