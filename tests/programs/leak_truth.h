/* SPDX-License-Identifier: MIT */
/*
 * What the programs of leak_truth.py are made of. Each piece owns blocks in one way and, asked to
 * lose them, owns them no more; `lost` is how many blocks nothing leads to then. A kept piece may
 * be found by a pointer into a block ("possibly"), never called lost.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "include/memoir/memoir.h"
#include "wipe.h"

static unsigned long lost; /* the truth */
static void *volatile sink;
/* Roots of kept pieces. Nothing is ever taken out. */
void *volatile roots[256];
unsigned roots_count;

static void keep(void *pointer)
{
    roots[roots_count++] = pointer;
}

/* Either the program keeps the pointer, or `blocks` are lost. The compiler must think that somebody
 * has it, or it leaves the whole piece out. */
static void own(bool kept, void *pointer, unsigned long blocks)
{
    sink = pointer;
    sink = nullptr;
    if (kept)
        keep(pointer);
    else
        lost += blocks;
}

/* To its end: where nothing is written, pointers of the block before it may still lie. */
static void *zeroed(size_t size)
{
    void *block = malloc(size);
    return memset(block, 0, malloc_usable_size(block));
}

void *operator new(size_t size)
{
    /* One byte more: the end of a vector's memory would be the start of the next block. */
    return zeroed(size + 1);
}
void operator delete(void *block) noexcept
{
    free(block);
}
void operator delete(void *block, size_t) noexcept
{
    free(block);
}

struct node {
    node *left, *right;
    char text[];
};

static node *node_new(size_t size)
{
    return (node *)zeroed(sizeof(node) + size);
}

#define PIECE __attribute__((noinline)) static void

PIECE list(bool kept, unsigned count, size_t size)
{
    node *first = nullptr;
    for (unsigned i = 0; i < count; i++) {
        node *next = node_new(size);
        next->left = first;
        first = next;
    }
    own(kept, first, count);
}

PIECE ring(bool kept, unsigned count, size_t size) /* both ways: a cycle */
{
    node *first = node_new(size), *last = first;
    for (unsigned i = 1; i < count; i++) {
        node *next = node_new(size);
        last->left = next;
        next->right = last;
        last = next;
    }
    last->left = first;
    first->right = last;
    own(kept, first, count);
}

static node *tree_new(unsigned count, size_t size)
{
    if (count == 0)
        return nullptr;
    node *top = node_new(size);
    top->left = tree_new((count - 1) / 2, size);
    top->right = tree_new(count - 1 - (count - 1) / 2, size);
    return top;
}

PIECE tree(bool kept, unsigned count, size_t size)
{
    own(kept, tree_new(count, size), count);
}

PIECE graph(bool kept, unsigned count, size_t size)
{
    void ***nodes = (void ***)calloc(count, sizeof(void *));
    for (unsigned i = 0; i < count; i++)
        nodes[i] = (void **)calloc(8 + size / 8, sizeof(void *));
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < 8; k++)
            nodes[i][k] = nodes[(i * 7 + k * k + 1) % count];
    own(kept, nodes, count + 1);
}

PIECE hash(bool kept, unsigned count, size_t size)
{
    enum { BUCKETS = 37 };
    node **buckets = (node **)calloc(BUCKETS, sizeof(node *));
    for (unsigned i = 0; i < count; i++) {
        node *entry = node_new(size);
        entry->left = buckets[i % BUCKETS];
        buckets[i % BUCKETS] = entry;
    }
    own(kept, buckets, count + 1);
}

PIECE tagged(bool kept, unsigned count, size_t size) /* the low bits of pointers say something */
{
    for (unsigned i = 0; i < count && i < 8; i++)
        own(kept, (char *)zeroed(size + 16) + 1 + i % 7, 1);
}

PIECE interior(bool kept, unsigned count, size_t size)
{
    for (unsigned i = 0; i < count && i < 8; i++)
        own(kept, (char *)zeroed(size + 64) + size / 2 + 8, 1);
}

PIECE large(bool kept, unsigned count, size_t size) /* the pointer is far inside a large block */
{
    node **block = (node **)zeroed((100 << 10) + size);
    block[(90 << 10) / sizeof *block] = node_new(size + count);
    own(kept, block, 2);
}

struct first_base {
    virtual ~first_base()
    {
    }
    long one = 1;
};
struct second_base {
    virtual ~second_base()
    {
    }
    long two = 2;
};
struct several : first_base, second_base {
    char *text = (char *)zeroed(77);
};
struct shared_base {
    virtual ~shared_base()
    {
    }
    long value = 3;
};
struct left_side : virtual shared_base {
    long left = 4;
};
struct right_side : virtual shared_base {
    long right = 5;
};
struct diamond : left_side, right_side {
    char *text = (char *)zeroed(66);
};
struct destructed {
    ~destructed()
    {
        sink = text;
    }
    char *text = (char *)zeroed(55);
};

PIECE inheritance(bool kept, unsigned count, size_t)
{
    for (unsigned i = 0; i < count && i < 8; i++) {
        second_base *base = new several;
        own(kept, base, 2);
    }
}

PIECE virtual_base(bool kept, unsigned count, size_t)
{
    for (unsigned i = 0; i < count && i < 8; i++) {
        shared_base *base = new diamond;
        own(kept, base, 2);
    }
}

struct alignas(64) destructed_lines : destructed {
};

PIECE array_new(bool kept, unsigned count, size_t) /* the count of elements lies before the first */
{
    if (count % 2 == 0)
        own(kept, new destructed[count], count + 1);
    else
        own(kept, new destructed_lines[count], count + 1);
    own(kept, (char *)zeroed(sizeof(size_t)) + sizeof(size_t), 1); /* of no elements */
}

PIECE vectors(bool kept, unsigned count, size_t size)
{
    auto *all = new std::vector<std::vector<char>>(count, std::vector<char>(size + 100));
    own(kept, all, 2 + count);
}

PIECE maps(bool kept, unsigned count, size_t size)
{
    auto *all = new std::map<unsigned, std::string>;
    for (unsigned i = 0; i < count; i++)
        (*all)[i * 7 % 1000] = std::string(size + 100, 'x');
    own(kept, all, 1 + 2 * all->size());
}

PIECE hash_maps(bool kept, unsigned count, size_t size)
{
    auto *all = new std::unordered_map<unsigned, std::string>(100);
    for (unsigned i = 0; i < count && i < 90; i++)
        (*all)[i] = std::string(size + 100, 'x');
    own(kept, all, 2 + 2 * all->size());
}

PIECE shared_pointers(bool kept, unsigned count, size_t) /* two that hold each other */
{
    struct holder {
        std::shared_ptr<holder> other;
    };
    for (unsigned i = 0; i < count && i < 8; i++) {
        auto *one = new std::shared_ptr<holder>(new holder);
        (*one)->other = std::shared_ptr<holder>(new holder);
        (*one)->other->other = *one;
        own(kept, one, 5);
    }
}

PIECE functions(bool kept, unsigned count, size_t size)
{
    char *text = (char *)zeroed(size + 1);
    long more[4] = {(long)count};
    own(kept, new std::function<void()>([text, more] { sink = text + more[0]; }), 3);
}

/* ---- threads ---- */

struct task {
    bool kept;
    unsigned count;
    size_t size;
    pthread_barrier_t barrier;
    volatile int ready; /* set by threads that go on after the barrier */
};

thread_local node *volatile local;

static void *thread_holds(void *argument) /* on its stack, while it sleeps */
{
    task *mine = (task *)argument;
    node *volatile own_list[4];
    for (auto &place : own_list)
        place = node_new(mine->size);
    pthread_barrier_wait(&mine->barrier);
    for (;;)
        pause();
    return (void *)own_list[0];
}

static void *thread_local_holds(void *argument)
{
    task *mine = (task *)argument;
    local = tree_new(mine->count, mine->size);
    pthread_barrier_wait(&mine->barrier);
    for (;;)
        pause();
}

static void *thread_register_holds(void *argument) /* in one register, while it computes */
{
    task *mine = (task *)argument;
#if defined(__x86_64__)
    node *block = node_new(mine->size);
    wipe(); /* a new thread begins with the vector registers of the one that made it */
    pthread_barrier_wait(&mine->barrier);
    __asm__ volatile("mov %0, %%r12\n\txor %0, %0\n\tmovl $1, %1\n\t1: pause\n\tjmp 1b"
                     : "+r"(block), "=m"(mine->ready)::"r12", "memory");
#endif
    mine->ready = 1;
    pthread_barrier_wait(&mine->barrier);
    for (;;)
        pause();
}

static void *thread_ends(void *argument) /* and what its stack and its variables held is lost */
{
    task *mine = (task *)argument;
    node *volatile *deep = (node *volatile *)__builtin_alloca(64 << 10);
    for (unsigned i = 0; i < mine->count; i++)
        deep[i] = node_new(mine->size);
    local = node_new(mine->size);
    return nullptr;
}

static void *thread_returns(void *argument)
{
    return node_new(((task *)argument)->size);
}

static void start(task *mine, void *(*run)(void *))
{
    pthread_t thread;
    pthread_barrier_init(&mine->barrier, nullptr, 2);
    pthread_create(&thread, nullptr, run, mine);
    pthread_barrier_wait(&mine->barrier);
    usleep(2000);
}

static void start_and_wait(task *mine, void *(*run)(void *))
{
    start(mine, run);
    while (!mine->ready)
        usleep(1000);
}

static task *task_new(bool kept, unsigned count, size_t size)
{
    static task tasks[64];
    static unsigned used;
    tasks[used].kept = kept;
    tasks[used].count = count;
    tasks[used].size = size;
    return &tasks[used++];
}

PIECE thread_stack(bool, unsigned count, size_t size)
{
    start(task_new(true, count, size), thread_holds);
}

PIECE thread_locals(bool, unsigned count, size_t size)
{
    start(task_new(true, count, size), thread_local_holds);
}

PIECE registers(bool, unsigned count, size_t size)
{
    start_and_wait(task_new(true, count, size), thread_register_holds);
}

PIECE ended(bool, unsigned count, size_t size)
{
    pthread_t thread;
    pthread_create(&thread, nullptr, thread_ends, task_new(false, count, size));
    pthread_join(thread, nullptr);
    lost += count + 1;
}

/* Nobody has fetched it yet. (One that was fetched and lost may still be in the descriptor of the
 * next thread on the same stack: glibc does not clear it.) */
PIECE returned(bool, unsigned count, size_t size)
{
    pthread_t thread;
    pthread_create(&thread, nullptr, thread_returns, task_new(true, count, size));
    usleep(5000);
}

PIECE keys(bool, unsigned, size_t size)
{
    pthread_key_t key;
    pthread_key_create(&key, nullptr);
    pthread_setspecific(key, node_new(size));
}

static void *thread_sleeps(void *argument)
{
    pthread_barrier_wait(&((task *)argument)->barrier);
    for (;;)
        pause();
}

static struct area {
    char *start;
    size_t size;
} pool_of_stack;
static thread_local volatile area own_area;

static void *thread_knows_its_pool(void *argument)
{
    own_area.start = pool_of_stack.start;
    own_area.size = pool_of_stack.size;
    return thread_sleeps(argument);
}

/* The stack of a thread lies beside memory that the program uses, behind a page that guards both,
 * or in the heap of brk. The thread has a variable that tells of both. */
PIECE pooled_stack(bool, unsigned count, size_t size)
{
    enum { BYTES = 1 << 20, GUARD = 4096 };
    pthread_t thread;
    pthread_attr_t attributes;
    task *mine = task_new(true, count, size);
    char *pool = (char *)(count % 2 == 0 ? mmap(nullptr, 2 * BYTES, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                         : sbrk(2 * BYTES));
    pool += -(uintptr_t)pool % GUARD;
    if (count % 2 == 0)
        mprotect(pool, GUARD, PROT_NONE);
    *(node **)(pool + GUARD) = tree_new(count, size);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, pool + BYTES, BYTES - GUARD);
    pool_of_stack = {pool, 2 * BYTES - GUARD};
    pthread_barrier_init(&mine->barrier, nullptr, 2);
    pthread_create(&thread, &attributes, thread_knows_its_pool, mine);
    pthread_barrier_wait(&mine->barrier);
    usleep(2000);
}

/* Its stack joins that of a thread that has ended, of which libc keeps something. */
PIECE unguarded_stack(bool, unsigned count, size_t size)
{
    pthread_t thread;
    pthread_attr_t attributes;
    task *mine = task_new(true, count, size);
    pthread_attr_init(&attributes);
    pthread_attr_setguardsize(&attributes, 0);
    pthread_barrier_init(&mine->barrier, nullptr, 2);
    pthread_create(&thread, &attributes, thread_sleeps, mine);
    pthread_barrier_wait(&mine->barrier);
    usleep(2000);
    ended(false, count, size);
}

/* ---- memory of other kinds ---- */

PIECE mapped(bool kept, unsigned count, size_t size)
{
    void **memory =
        (void **)mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory[5000 + count] = tree_new(count, size);
    if (kept)
        return;
    munmap(memory, 1 << 20);
    lost += count;
}

ucontext_t outside[16], inside[16];
static unsigned coroutines;

__attribute__((noinline)) static void coroutine_body(unsigned at, unsigned size)
{
    node *volatile held = node_new(size);
    wipe(); /* frames of malloc, which may have led to blocks that are handed out later */
    swapcontext(&inside[at], &outside[at]);
    sink = held;
}

/* It never goes on, and its stack holds a block. */
PIECE coroutine(bool kept, unsigned, size_t size)
{
    enum { STACK = 256 << 10, GUARD = 4096 };
    unsigned at = coroutines++;
    char *stack =
        (char *)mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack, GUARD, PROT_NONE);
    getcontext(&inside[at]);
    inside[at].uc_stack.ss_sp = stack + GUARD;
    inside[at].uc_stack.ss_size = STACK - GUARD;
    makecontext(&inside[at], (void (*)())coroutine_body, 2, at, (unsigned)size);
    swapcontext(&outside[at], &inside[at]);
    if (kept)
        return;
    munmap(stack, STACK);
    memset(&inside[at], 0, sizeof inside[at]);
    memset(&outside[at], 0, sizeof outside[at]);
    lost++;
}

PIECE library(bool kept, unsigned count, size_t size) /* the block is in a library's variable */
{
    void *handle = dlopen("./holder.so", RTLD_NOW);
    void **variable = (void **)dlsym(handle, "holder");
    if (*variable != nullptr) { /* by an earlier piece, which keeps it */
        own(kept, tree_new(count, size), count);
        return;
    }
    *variable = tree_new(count, size);
    if (kept)
        return;
    *variable = nullptr;
    lost += count;
}

static int verdict(const struct memoir_leaks *before)
{
    struct memoir_leaks now;
    wipe();
    if (!memoir_leaks(&now, sizeof now, nullptr, nullptr))
        return 2;
    unsigned long found = now.definite.blocks + now.indirect.blocks - before->definite.blocks -
                          before->indirect.blocks;
    if (found != lost)
        printf("lost %lu, found %lu (definite %lu, indirect %lu, possible %lu)\n", lost, found,
               (unsigned long)now.definite.blocks, (unsigned long)now.indirect.blocks,
               (unsigned long)now.possible.blocks);
    return found != lost;
}
