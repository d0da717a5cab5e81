// SPDX-License-Identifier: MIT
// helper: built by walks_survive_a_storm.sh. Threads throw exceptions through deep stacks, others
// load and unload a library and run its code, and a timer interrupts all of them, some thousand
// times a second, with a handler that walks. Nothing may hang or crash, and walks must come to
// the thread's first function, but for a few: an exception that lands changes saved registers in
// the stack of those that still run, and a library that is just coming or going is no object.
//
//     storm LIBRARY SECONDS
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#define _Noreturn
#include "base/object.h"
#include "lib/watch/unwind.h"
}

static std::atomic<bool> over;
static std::atomic<unsigned long> walks, whole, thrown, loaded;
static thread_local struct walk in_handler, in_code;
static thread_local uintptr_t root;

static void handler(int, siginfo_t *, void *context)
{
    const mcontext_t *machine = &static_cast<ucontext_t *>(context)->uc_mcontext;
#if defined(__x86_64__)
    struct caller from = {(uintptr_t)machine->gregs[REG_RIP] + 1,
                          (uintptr_t)machine->gregs[REG_RSP], (uintptr_t)machine->gregs[REG_RBP]};
#else
    struct caller from = {machine->pc + 1, machine->sp, machine->regs[29]};
#endif
    unwind(&in_handler, &from, WALK_MAX);
    if (root != 0) {
        walks++;
        whole += in_handler.pcs[0] == root;
    }
}

static __attribute__((noinline)) void walk_here()
{
    struct caller from = CALLER_HERE;
    unwind(&in_code, &from, WALK_MAX);
    if (root == 0)
        root = in_code.pcs[0];
    else if (in_code.pcs[0] != root)
        abort();
}

static int dive(int left)
{
    std::string text(left % 90, 'x');
    if (left == 0) {
        walk_here();
        throw std::runtime_error("the ground");
    }
    try {
        return dive(left - 1) + (int)text.size();
    } catch (const std::runtime_error &) {
        if (left % 3)
            throw;
        throw std::runtime_error("on the way");
    }
}

static void throw_all_the_time()
{
    walk_here();
    while (!over) {
        try {
            dive(20 + (int)(thrown % 10));
        } catch (const std::exception &) {
            thrown++;
        }
    }
}

static void load_all_the_time(const char *path)
{
    walk_here();
    while (!over) {
        void *library = dlopen(path, RTLD_NOW);
        if (library == nullptr)
            abort();
        auto call = reinterpret_cast<void (*)(void (*)())>(dlsym(library, "call"));
        for (int i = 0; i < 20; i++)
            call(walk_here);
        dlclose(library);
        unwind_forget();
        loaded++;
    }
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    objects_refresh();
    walk_here();
    struct sigaction action = {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    timer_t timer;
    struct sigevent event = {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGPROF;
    struct itimerspec often = {{0, 100000}, {0, 100000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &often, nullptr) != 0)
        return 2;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++) {
        threads.emplace_back(throw_all_the_time);
        threads.emplace_back(load_all_the_time, arguments[1]);
    }
    sigset_t ours; /* the others are to be interrupted */
    sigemptyset(&ours);
    sigaddset(&ours, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &ours, nullptr);
    struct timespec left = {atoi(arguments[2]), 0};
    while (nanosleep(&left, &left) != 0)
        ;
    over = true;
    for (auto &thread : threads)
        thread.join();
    timer_delete(timer);
    printf("%lu walks in the handler, %lu of them whole; %lu exceptions, %lu libraries\n",
           walks.load(), whole.load(), thrown.load(), loaded.load());
    return walks > 100 && whole * 100 >= walks * 90 && thrown > 100 && loaded > 10 ? 0 : 1;
}
