/* SPDX-License-Identifier: MIT */
/*
 * More pieces for the programs of leak_truth.py (see leak_truth.h): pointers in places where a scan
 * may not look, threads that do not answer, and what C++ libraries do to pointers.
 */
#include <fcntl.h>

#include <any>
#include <coroutine>
#include <deque>
#include <exception>
#include <forward_list>
#include <list>
#include <set>

/* ---- structures ---- */

struct ring_member {
    std::shared_ptr<ring_member> next;
};

PIECE made_shared(bool kept, unsigned count, size_t) /* a ring: counts never reach 0 */
{
    auto first = std::make_shared<ring_member>(), last = first;
    for (unsigned i = 1; i < count; i++) {
        last->next = std::make_shared<ring_member>();
        last = last->next;
    }
    last->next = first;
    own(kept, new std::shared_ptr<ring_member>(first), count + 1);
}

PIECE weak_pointers(bool kept, unsigned, size_t) /* the object is gone, its memory is not */
{
    auto strong = std::make_shared<long>(7);
    own(kept, new std::weak_ptr<long>(strong), 2);
}

struct chain {
    chain *next, *before;
};
struct linked {
    char *text;
    long number;
    chain place; /* pointers lead here, not to the start */
};
chain heads[256];
unsigned heads_count;

PIECE intrusive(bool kept, unsigned count, size_t size)
{
    chain *head = &heads[heads_count++];
    *head = {head, head};
    for (unsigned i = 0; i < count; i++) {
        linked *entry = (linked *)zeroed(sizeof *entry);
        entry->text = (char *)zeroed(size);
        entry->place = {head->next, head};
        head->next->before = &entry->place;
        head->next = &entry->place;
    }
    if (kept)
        return;
    head->next->before = head->before;
    head->before->next = head->next;
    *head = {head, head};
    lost += 2 * count;
}

/* Each node holds the difference of its neighbours' addresses. The first one tells the second, the
 * program computes all others: docs/LEAKS.md says that these count as lost. */
PIECE xor_list(bool kept, unsigned count, size_t size)
{
    uintptr_t *nodes[64];
    for (unsigned i = 0; i < count; i++)
        nodes[i] = (uintptr_t *)node_new(size);
    for (unsigned i = 0; i < count; i++)
        nodes[i][0] =
            (i > 0 ? (uintptr_t)nodes[i - 1] : 0) ^ (i + 1 < count ? (uintptr_t)nodes[i + 1] : 0);
    own(kept, nodes[0], count);
    if (kept)
        lost += count - 2;
    memset(nodes, 0, sizeof nodes);
    sink = nodes;
}

PIECE aligned(bool kept, unsigned count, size_t size)
{
    for (unsigned i = 0; i < count && i < 13; i++) {
        void *block = nullptr;
        if (posix_memalign(&block, (size_t)16 << i, size) != 0)
            abort();
        memset(block, 0, size);
        own(kept, block, 1);
        block = nullptr;
        sink = &block;
    }
}

PIECE huge(bool kept, unsigned count, size_t size) /* most of its pages are never touched */
{
    enum { BYTES = 40 << 20 };
    node **block = (node **)calloc(1, BYTES);
    block[(BYTES - 8192) / sizeof *block] = tree_new(count, size);
    own(kept, block, count + 1);
}

PIECE empty(bool kept, unsigned count, size_t)
{
    for (unsigned i = 0; i < count && i < 8; i++)
        own(kept, malloc(0), 1);
}

PIECE moved(bool kept, unsigned count, size_t size) /* grown from small to large */
{
    node **block = (node **)zeroed(sizeof *block);
    for (unsigned i = 1; i < 20; i++) {
        block = (node **)realloc(block, sizeof *block << i);
        memset(block + ((size_t)1 << (i - 1)), 0, sizeof *block << (i - 1));
        if (i == 16) /* from here on memory is moved, not copied: no old pointer stays behind */
            block[0] = node_new(size);
    }
    block[((size_t)1 << 19) - count] = node_new(size);
    own(kept, block, 3);
}

/* ---- C++ ---- */

static unsigned long counted_blocks;

template <class T> struct counted {
    using value_type = T;
    counted() = default;
    template <class U> counted(const counted<U> &)
    {
    }
    T *allocate(size_t count)
    {
        counted_blocks++;
        return (T *)zeroed(count * sizeof(T) + 1);
    }
    void deallocate(T *block, size_t count)
    {
        counted_blocks--;
        memset((void *)block, 0, count * sizeof(T));
        __asm__ volatile("" ::"r"(block) : "memory"); /* compilers leave out stores before free */
        free(block);
    }
    bool operator==(const counted &) const
    {
        return true;
    }
};

PIECE containers(bool kept, unsigned count, size_t)
{
    struct all {
        std::list<long, counted<long>> list;
        std::deque<long, counted<long>> deque;
        std::set<long, std::less<long>, counted<long>> set;
        std::forward_list<long, counted<long>> forward;
        std::vector<long, counted<long>> vector;
        std::unordered_map<long, long, std::hash<long>, std::equal_to<long>,
                           counted<std::pair<const long, long>>>
            hash;
    };
    unsigned long before = counted_blocks;
    all *one = new all;
    for (unsigned i = 0; i < count * 5; i++) {
        one->list.push_front(i);
        one->deque.push_front(i);
        one->set.insert(i);
        one->forward.push_front(i);
        one->vector.push_back(i);
        one->hash[i] = i;
    }
    own(kept, one, 1 + counted_blocks - before);
}

struct polymorphic {
    virtual ~polymorphic()
    {
    }
    void *text = zeroed(33);
};

PIECE smart_pointers(bool kept, unsigned count, size_t size)
{
    struct all {
        std::unique_ptr<polymorphic> one = std::make_unique<polymorphic>();
        std::unique_ptr<std::string[]> strings;
        std::any any = std::string(100, 'x');
    };
    all *one = new all;
    one->strings = std::make_unique<std::string[]>(count);
    for (unsigned i = 0; i < count; i++)
        one->strings[i] = std::string(size + 100, 'y');
    own(kept, one, 6 + count); /* the structure, 2 of `one`, the array, 2 of `any` */
}

struct thrown {
    char *text = (char *)zeroed(44);
};

PIECE exceptions(bool kept, unsigned, size_t)
{
    own(kept, new std::exception_ptr(std::make_exception_ptr(thrown())), 3);
}

struct generator {
    struct promise_type {
        generator get_return_object()
        {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_never initial_suspend() noexcept
        {
            return {};
        }
        std::suspend_always final_suspend() noexcept
        {
            return {};
        }
        void return_void()
        {
        }
        void unhandled_exception()
        {
        }
    };
    std::coroutine_handle<promise_type> handle;
};

static generator generate(size_t size)
{
    node *held = node_new(size);
    co_await std::suspend_always();
    sink = held;
}

PIECE generators(bool kept, unsigned, size_t size)
{
    own(kept, generate(size).handle.address(), 2);
}

/* ---- memory ---- */

static void in_memory(bool kept, unsigned count, size_t size, int flags, int fd, int protection)
{
    enum { BYTES = 1 << 20 };
    void **memory = (void **)mmap(nullptr, BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
    memory[5000 + count] = tree_new(count, size);
    mprotect(memory, BYTES, protection);
    if (kept)
        return;
    munmap(memory, BYTES);
    lost += count;
}

PIECE mapped_read_only(bool kept, unsigned count, size_t size)
{
    in_memory(kept, count, size, MAP_PRIVATE | MAP_ANONYMOUS, -1, PROT_READ);
}

PIECE mapped_unreadable(bool kept, unsigned count, size_t size)
{
    in_memory(kept, count, size, MAP_PRIVATE | MAP_ANONYMOUS, -1, PROT_NONE);
}

PIECE mapped_shared(bool kept, unsigned count, size_t size)
{
    in_memory(kept, count, size, MAP_SHARED | MAP_ANONYMOUS, -1, PROT_READ | PROT_WRITE);
}

PIECE mapped_file(bool kept, unsigned count, size_t size)
{
    int file = open("/proc/self/exe", O_RDONLY);
    void **memory = (void **)mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    close(file);
    memory[1000] = tree_new(count, size);
    mprotect(memory, 8192, count % 2 ? PROT_READ : PROT_READ | PROT_WRITE);
    if (kept)
        return;
    munmap(memory, 8192);
    lost += count;
}

ucontext_t heap_outside[16], heap_inside[16];

__attribute__((noinline)) static void heap_coroutine_body(unsigned at, unsigned size)
{
    node *volatile held = node_new(size);
    wipe(); /* frames of malloc, which may have led to blocks that are handed out later */
    swapcontext(&heap_inside[at], &heap_outside[at]);
    sink = held;
}

PIECE heap_coroutine(bool kept, unsigned, size_t size) /* its stack is a block */
{
    enum { STACK = WIPE_BYTES + (64 << 10) };
    static unsigned used;
    unsigned at = used++;
    getcontext(&heap_inside[at]);
    heap_inside[at].uc_stack.ss_sp = zeroed(STACK);
    heap_inside[at].uc_stack.ss_size = STACK;
    makecontext(&heap_inside[at], (void (*)())heap_coroutine_body, 2, at, (unsigned)size);
    swapcontext(&heap_outside[at], &heap_inside[at]);
    if (kept)
        return;
    memset(&heap_inside[at], 0, sizeof heap_inside[at]);
    memset(&heap_outside[at], 0, sizeof heap_outside[at]);
    lost += 2;
}

/* Thread-local memory of a library that was loaded late: libc allocates it. */
static void **library_local()
{
    void *handle = dlopen("./holder.so", RTLD_NOW);
    return ((void **(*)())dlsym(handle, "holder_local"))();
}

PIECE library_locals(bool kept, unsigned count, size_t size)
{
    void **variable = library_local();
    if (*variable != nullptr) {
        own(kept, tree_new(count, size), count);
        return;
    }
    *variable = tree_new(count, size);
    if (kept)
        return;
    *variable = nullptr;
    lost += count;
}

/* ---- what the program says ---- */

PIECE ignored(bool kept, unsigned count, size_t size)
{
    node *top = tree_new(count, size);
    sink = top;
    sink = nullptr;
    if (kept)
        memoir_leak_ignore(top);
    else
        lost += count;
}

PIECE registered(bool kept, unsigned count, size_t size) /* in a file that is shared */
{
    char name[] = "registeredXXXXXX";
    int file = mkstemp(name);
    if (ftruncate(file, 1 << 20) != 0 || unlink(name) != 0)
        abort();
    void **memory = (void **)mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    memory[9000] = tree_new(count, size);
    memoir_leak_root(memory, 1 << 20);
    if (kept)
        return;
    memory[9000] = nullptr;
    lost += count;
}

/* ---- threads ---- */

static void *thread_vector_holds(void *argument) /* in a register of the vector unit */
{
    task *mine = (task *)argument;
#if defined(__x86_64__)
    uintptr_t hidden = ~(uintptr_t)node_new(mine->size);
    wipe();
    pthread_barrier_wait(&mine->barrier);
    if (mine->count % 2 == 0)
        __asm__ volatile("not %0\n\tmovq %0, %%mm3\n\txor %0, %0\n\t"
                         "movl $1, %1\n\t1: pause\n\tjmp 1b"
                         : "+r"(hidden), "=m"(mine->ready)::"mm3", "memory");
    __asm__ volatile("not %0\n\tmovq %0, %%xmm5\n\tpslldq $8, %%xmm5\n\txor %0, %0\n\t"
                     "movl $1, %1\n\t1: pause\n\tjmp 1b"
                     : "+r"(hidden), "=m"(mine->ready)::"xmm5", "memory");
#endif
    mine->ready = 1;
    pthread_barrier_wait(&mine->barrier);
    for (;;)
        pause();
}

static void *thread_key_holds(void *argument)
{
    task *mine = (task *)argument;
    static pthread_key_t keys[80];
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, [] {
        for (auto &key : keys)
            pthread_key_create(&key, nullptr);
    });
    pthread_setspecific(keys[2], node_new(mine->size));
    pthread_setspecific(keys[70], node_new(mine->size)); /* libc allocates room for these */
    wipe();
    pthread_barrier_wait(&mine->barrier);
    for (;;)
        pause();
}

static void *thread_library_local_holds(void *argument)
{
    task *mine = (task *)argument;
    *library_local() = tree_new(mine->count, mine->size);
    wipe();
    pthread_barrier_wait(&mine->barrier);
    for (;;)
        pause();
}

/* Only the kernel knows where the stack for its handlers is. */
static void *thread_has_signal_stack(void *argument)
{
    task *mine = (task *)argument;
    stack_t stack = {};
    stack.ss_size = 64 << 10;
    stack.ss_sp = zeroed(stack.ss_size);
    sigaltstack(&stack, nullptr);
    stack.ss_sp = nullptr;
    sink = &stack;
    wipe();
    pthread_barrier_wait(&mine->barrier);
    for (;;)
        pause();
}

static thread_local task *handled;

static void handler_sleeps(int)
{
#if defined(__x86_64__)
    __asm__ volatile("xor %%r12, %%r12" ::: "r12");
#endif
    handled->ready = 1;
    for (;;)
        pause();
}

/* In a register, when a signal came whose handler does not return. */
static void *thread_in_handler(void *argument)
{
    task *mine = (task *)argument;
#if defined(__x86_64__)
    struct sigaction action = {};
    action.sa_handler = handler_sleeps;
    action.sa_flags = mine->count % 2 ? SA_ONSTACK : 0;
    sigaction(SIGUSR2, &action, nullptr);
    stack_t stack = {};
    stack.ss_size = 64 << 10;
    stack.ss_sp =
        mmap(nullptr, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&stack, nullptr);
    uintptr_t hidden = ~(uintptr_t)node_new(mine->size);
    pid_t tid = gettid();
    handled = mine;
    wipe();
    pthread_barrier_wait(&mine->barrier);
    __asm__ volatile("not %0\n\tmov %0, %%r12\n\txor %0, %0\n\tmov $200, %%eax\n\t" /* tkill */
                     "mov %1, %%edi\n\tmov $12, %%esi\n\tsyscall\n\t1: pause\n\tjmp 1b"
                     : "+r"(hidden)
                     : "r"(tid)
                     : "r12", "rax", "rdi", "rsi", "rcx", "r11", "memory");
#endif
    mine->ready = 1;
    pthread_barrier_wait(&mine->barrier);
    for (;;)
        pause();
}

static void *thread_hears_nothing(void *argument) /* all signals are blocked */
{
    task *mine = (task *)argument;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    node *volatile held = node_new(mine->size);
    pthread_barrier_wait(&mine->barrier);
    for (;;)
        pause();
    return held;
}

PIECE vector_register(bool, unsigned count, size_t size)
{
    start_and_wait(task_new(true, count, size), thread_vector_holds);
}

PIECE thread_keys(bool, unsigned count, size_t size)
{
    start(task_new(true, count, size), thread_key_holds);
}

PIECE thread_library_locals(bool, unsigned count, size_t size)
{
    start(task_new(true, count, size), thread_library_local_holds);
}

PIECE signal_stack(bool, unsigned count, size_t size)
{
    start(task_new(true, count, size), thread_has_signal_stack);
}

PIECE in_handler(bool, unsigned count, size_t size)
{
    start_and_wait(task_new(true, count, size), thread_in_handler);
}

PIECE deaf(bool, unsigned count, size_t size)
{
    start(task_new(true, count, size), thread_hears_nothing);
}

static void *thread_exits_deep(void *argument)
{
    task *mine = (task *)argument;
    /* Far down: the next thread on this stack leaves parts of its first frames unwritten. */
    node *volatile *deep = (node *volatile *)__builtin_alloca(64 << 10);
    for (unsigned i = 0; i < mine->count; i++)
        deep[i] = node_new(mine->size);
    sink = (void *)deep;
    mine->ready = gettid();
    pthread_exit(nullptr);
}

PIECE exited(bool, unsigned count, size_t size)
{
    pthread_t thread;
    pthread_create(&thread, nullptr, thread_exits_deep, task_new(false, count, size));
    pthread_join(thread, nullptr);
    sink = nullptr;
    lost += count;
}

PIECE detached(bool, unsigned count, size_t size)
{
    task *mine = task_new(false, count, size);
    pthread_t thread;
    char path[64] = "/proc";
    pthread_create(&thread, nullptr, thread_exits_deep, mine);
    pthread_detach(thread);
    while (access(path, F_OK) == 0) {
        usleep(1000);
        if (mine->ready)
            snprintf(path, sizeof path, "/proc/self/task/%d", mine->ready);
    }
    sink = nullptr;
    lost += count;
}

static void *thread_is_cancelled(void *argument)
{
    task *mine = (task *)argument;
    node *volatile *held = (node *volatile *)__builtin_alloca(64 << 10);
    held[0] = node_new(mine->size);
    pthread_barrier_wait(&mine->barrier);
    for (;;)
        pause();
    return held[0];
}

PIECE cancelled(bool, unsigned count, size_t size)
{
    task *mine = task_new(false, count, size);
    pthread_t thread;
    pthread_barrier_init(&mine->barrier, nullptr, 2);
    pthread_create(&thread, nullptr, thread_is_cancelled, mine);
    pthread_barrier_wait(&mine->barrier);
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
    lost++;
}
