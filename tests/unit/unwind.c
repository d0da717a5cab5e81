/* SPDX-License-Identifier: MIT */
/*
 * Walks: all frames that a program of many kinds of functions knows itself to have; the same with
 * and without what the last walk left; through signal handlers, on threads with small stacks, on
 * other stacks, through code without tables; and no crash whatever the registers and the
 * stack hold.
 */
#include "tests/unit/unit.h"

#include <limits.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/arch.h"
#include "base/compiler.h"
#include "base/object.h"
#include "base/os.h"
#include "lib/watch/unwind.h"

enum { DEPTH_MAX = 400, FUNCTIONS = 6 };

static uint64_t seed = 42;
static __thread struct walk walk; /* that each walk of the thread leaves to the next */
static __thread struct walk fresh;
static __thread uintptr_t expected[DEPTH_MAX]; /* return addresses, in the order of calls */
static __thread unsigned expected_count;
static __thread void (*at_leaf)(void);
static unsigned checked, reused;

/* The last frames of `which` are those expected; true if all of them fit. */
static bool ends_as_expected(const struct walk *which)
{
    for (unsigned i = 0; i < expected_count && i < which->count; i++)
        if (which->pcs[which->count - 1 - i] != expected[expected_count - 1 - i]) {
            fprintf(stderr, "frame %u of %u is %#lx, not %#lx\n", i, which->count,
                    (unsigned long)which->pcs[which->count - 1 - i],
                    (unsigned long)expected[expected_count - 1 - i]);
            return false;
        }
    return true;
}

static __attribute__((noinline)) void leaf_walks(void)
{
    static __thread uintptr_t before[WALK_MAX];
    struct caller from = CALLER_HERE;
    expected[expected_count++] = from.pc;
    memcpy(before, walk.pcs, sizeof before);
    unwind(&walk, &from, WALK_MAX);
    assert(ends_as_expected(&walk));
    assert(walk.cut == (walk.count == WALK_MAX) || walk.count < WALK_MAX);
    assert(walk.cut || walk.count >= expected_count);
    assert(walk.same <= walk.count && (!walk.cut || walk.same == 0));
    assert(memcmp(before, walk.pcs, walk.same * sizeof before[0]) == 0);
    memset(&fresh, 0, sizeof fresh);
    unwind(&fresh, &from, WALK_MAX);
    assert(fresh.same == 0 && fresh.count == walk.count && fresh.cut == walk.cut);
    assert(memcmp(fresh.pcs, walk.pcs, walk.count * sizeof walk.pcs[0]) == 0);
    checked++;
    reused += walk.same > 0;
    expected_count--;
}

/* ---- functions with frames of all kinds ---------------------------------------------------- */

static void next(unsigned left);

#define ENTER         expected[expected_count++] = (uintptr_t)__builtin_return_address(0)
#define LEAVE         expected_count--
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

static __attribute__((noinline)) void plain(unsigned left)
{
    ENTER;
    next(left);
    LEAVE;
}

/* More registers than it may clobber, the frame pointer among them where it is one to have. */
static __attribute__((noinline)) void saving(unsigned left)
{
    ENTER;
    uintptr_t a = left, b = left * 3, c = left * 5, d = left * 7, e = left * 11, f = left * 13;
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    next(left);
    __asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f));
    LEAVE;
}

static __attribute__((noinline)) void growing(unsigned left)
{
    ENTER;
    char *room = __builtin_alloca(left % 200 + 1);
    KEEP(room);
    next(left);
    KEEP(room);
    LEAVE;
}

/* On x86-64 the frame can only be found through memory. */
static __attribute__((noinline)) void realigned(unsigned left)
{
    ENTER;
    char aligned[64] __attribute__((aligned(64)));
    char *room = __builtin_alloca(left % 100 + 1);
    KEEP(aligned);
    KEEP(room);
    next(left);
    KEEP(room);
    LEAVE;
}

static __attribute__((noinline)) void pointing(unsigned left)
{
    ENTER;
    KEEP(__builtin_frame_address(0)); /* keeps a frame pointer */
    next(left);
    LEAVE;
}

/* Too large for a rule: takes all registers. */
static __attribute__((noinline)) void huge(unsigned left)
{
    ENTER;
    char room[140000];
    KEEP(room);
    next(left);
    KEEP(room);
    LEAVE;
}

static bool may_be_huge;

static __attribute__((noinline)) void next(unsigned left)
{
    static void (*const functions[FUNCTIONS])(unsigned) = {plain,     saving,   growing,
                                                           realigned, pointing, huge};
    ENTER;
    if (left == 0) {
        at_leaf();
    } else {
        unsigned which = (unsigned)unit_random(&seed) % FUNCTIONS;
        if (functions[which] == huge && (!may_be_huge || left % 16 != 0))
            which = 0;
        functions[which](left - 1);
    }
    LEAVE;
}

/* Walks at a leaf, then unwinds some of the stack and goes on elsewhere. */
static __attribute__((noinline)) void wander(unsigned left, unsigned times)
{
    ENTER;
    for (unsigned i = 0; i < times; i++) {
        next((unsigned)unit_random(&seed) % 12);
        if (left > 0)
            wander(left - 1, times);
    }
    LEAVE;
}

static void all_frames_are_seen(void)
{
    may_be_huge = true;
    at_leaf = leaf_walks;
    for (unsigned i = 0; i < unit_times(2000); i++)
        next((unsigned)unit_random(&seed) % 60);
    wander(unit_emulated() ? 3 : 5, 4);
    for (unsigned i = 0; i < 20; i++)
        next(150); /* too deep */
    next(1);
    may_be_huge = false;
    assert(reused > checked / 4);
}

/* Two ways to one place: all return addresses are still where they were in the longer one when the
 * shorter one was taken; only the saved frame pointer tells. */
static __attribute__((noinline)) void landing(void)
{
    ENTER;
    uintptr_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    leaf_walks();
    __asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f));
    LEAVE;
}

static __attribute__((noinline)) void stretch(uintptr_t target)
{
    ENTER;
    char *room = __builtin_alloca((uintptr_t)__builtin_frame_address(0) - target);
    KEEP(room);
    landing();
    KEEP(room);
    LEAVE;
}

static __attribute__((noinline)) void detour(uintptr_t target)
{
    ENTER;
    stretch(target);
    LEAVE;
}

static __attribute__((noinline)) void old_words_do_not_deceive(void)
{
    void (*volatile ways[])(uintptr_t) = {detour, stretch};
    ENTER;
    for (int i = 0; i < 10; i++)
        ways[i % 2]((uintptr_t)__builtin_frame_address(0) - 4096);
    LEAVE;
}

static __attribute__((noinline)) void leaf_asks_for_few(void)
{
    struct caller from = CALLER_HERE;
    expected[expected_count++] = from.pc;
    for (unsigned max = 1; max < 20; max++) {
        unwind(&walk, &from, max);
        assert(walk.cut && walk.count == max && walk.same == 0 && ends_as_expected(&walk));
    }
    expected_count--;
}

static void few_frames_are_those_near_the_leaf(void)
{
    at_leaf = leaf_asks_for_few;
    next(30);
}

/* ---- signals, threads, other stacks -------------------------------------------------------- */

static unsigned handled, exact;

static void handler(int number)
{
    (void)number;
    struct caller from = CALLER_HERE;
    memset(&fresh, 0, sizeof fresh);
    unwind(&fresh, &from, WALK_MAX);
    /* What the handler returns to is exact: readers look one byte before what is recorded. */
    exact += arch_signal_code((const void *)(fresh.pcs[fresh.count - 1] - 1));
    /* Somewhere in it, the frames that raised it. */
    for (unsigned i = fresh.count - 1; i > 0 && expected_count > 1; i--)
        if (fresh.pcs[i] == expected[expected_count - 1] &&
            fresh.pcs[i - 1] == expected[expected_count - 2]) {
            fresh.count = i + 1;
            handled += ends_as_expected(&fresh);
            return;
        }
}

static __attribute__((noinline)) void leaf_raises(void)
{
    ENTER;
    /* Not by raise: musl has no tables for it. */
    arch_syscall(SYS_tgkill, getpid(), os_tid(), SIGUSR1, 0, 0, 0);
    LEAVE;
}

static __attribute__((unused)) void handlers_see_what_they_interrupted(void)
{
    static char stack[64 << 10];
    struct sigaction action = {.sa_handler = handler};
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    at_leaf = leaf_raises;
    for (int flags = 0; flags < 2; flags++) {
        action.sa_flags = flags ? SA_ONSTACK : 0;
        assert(sigaltstack(&alternate, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
        handled = exact = 0;
        for (int i = 0; i < 20; i++)
            next(20);
        assert(handled == 20 && exact == 20);
    }
}

static void *small_thread(void *unused)
{
    (void)unused;
    at_leaf = leaf_walks;
    for (int i = 0; i < 50; i++)
        next(5);
    return NULL;
}

/* 16 KiB beside what the C library and sanitizers take of a stack for themselves. */
static void small_stacks_are_enough(void)
{
    for (int i = 0; i < 8; i++) {
        pthread_attr_t attributes;
        pthread_t thread;
        assert(pthread_attr_init(&attributes) == 0);
        size_t taken = 3 * sizeof(struct walk) + sizeof expected + (8 << 10);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
        taken += 512 << 10;
#endif
        size_t size = (taken + (16 << 10)) & ~(size_t)4095, min = (size_t)PTHREAD_STACK_MIN;
        assert(pthread_attr_setstacksize(&attributes, size < min ? min : size) == 0);
        assert(pthread_create(&thread, &attributes, small_thread, NULL) == 0);
        assert(pthread_join(thread, NULL) == 0);
        pthread_attr_destroy(&attributes);
    }
}

/* Code made at run time that keeps a frame pointer and calls what it is given. */
static __attribute__((noinline)) void code_without_tables_is_crossed(void)
{
#if defined(__x86_64__)
    static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#else
    static const uint32_t code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#endif
    void *made =
        mmap(NULL, os_page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(made != MAP_FAILED);
    memcpy(made, code, sizeof code);
    assert(mprotect(made, os_page_size(), PROT_READ | PROT_EXEC) == 0);
    __builtin___clear_cache(made, (char *)made + sizeof code);
    expected_count = 0;
    ENTER;
    leaf_walks(); /* the frames above */
    unsigned above = walk.count - 1;
    LEAVE;
    ((void (*)(void (*)(void)))made)(leaf_walks);
    assert(walk.count == above + 2 && walk.same == above);
    assert(walk.pcs[walk.count - 1] - (uintptr_t)made < sizeof code);
}

/* ---- nonsense ------------------------------------------------------------------------------ */

static uintptr_t nonsense(const uintptr_t *near)
{
    switch (unit_random(&seed) % 6) {
    case 0:
        return unit_random(&seed);
    case 1:
        return unit_random(&seed) >> 17;
    case 2:
        return near[unit_random(&seed) % 512];
    case 3:
        return (uintptr_t)near + unit_random(&seed) % (8 * 600);
    case 4:
        return (uintptr_t)qsort + unit_random(&seed) % 100000;
    default:
        return (uintptr_t)nonsense + unit_random(&seed) % 4096;
    }
}

/* A copy of this stack between two holes, words of it overwritten. */
static FOREIGN __attribute__((noinline)) void leaf_breaks_stacks(void)
{
    size_t page = os_page_size(), words = page / 8;
    struct caller from = CALLER_HERE;
    char *holes = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(holes != MAP_FAILED && mprotect(holes + page, page, PROT_READ | PROT_WRITE) == 0);
    uintptr_t *copy = (uintptr_t *)(holes + page);
    for (unsigned i = 0; i < unit_times(3000); i++) {
        const uintptr_t *sp = (const uintptr_t *)from.sp;
        for (size_t k = 0; k < words && i % 16 == 0; k++) {
            uintptr_t word = sp[k % 400], distance = word - from.sp;
            copy[k] = distance < page ? (uintptr_t)copy + distance : word;
        }
        for (unsigned k = 0; k < i % 16; k++)
            copy[unit_random(&seed) % words] = nonsense(copy);
        struct caller broken = {from.pc, (uintptr_t)copy, from.fp - from.sp + (uintptr_t)copy,
                                FAMILY_MALLOC};
        unwind(i % 2 ? &fresh : &walk, &broken, WALK_MAX);
        broken = (struct caller){nonsense(copy), nonsense(copy), nonsense(copy), FAMILY_MALLOC};
        unwind(i % 3 ? &fresh : &walk, &broken, 1 + i % WALK_MAX);
        assert(fresh.count <= WALK_MAX && walk.count <= WALK_MAX);
    }
    munmap(holes, 3 * page);
}

static void broken_stacks_are_survived(void)
{
    at_leaf = leaf_breaks_stacks;
    may_be_huge = true;
    for (int i = 0; i < 6; i++)
        next(40);
    at_leaf = leaf_walks; /* and leave no trace */
    next(10);
    may_be_huge = false;
}

static void forgetting_changes_nothing(void)
{
    at_leaf = leaf_walks;
    for (int i = 0; i < 20; i++) {
        unwind_forget();
        next(10);
    }
}

int main(void)
{
    objects_refresh();
    expected_count = 0;
    all_frames_are_seen();
    old_words_do_not_deceive();
    few_frames_are_those_near_the_leaf();
#ifndef __SANITIZE_THREAD__ /* it calls handlers when it likes */
    handlers_see_what_they_interrupted();
#endif
    small_stacks_are_enough();
    code_without_tables_is_crossed();
    broken_stacks_are_survived();
    forgetting_changes_nothing();
    fprintf(stderr, "%u walks, %u with frames of the one before\n", checked, reused);
    return 0;
}
