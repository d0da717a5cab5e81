/* SPDX-License-Identifier: MIT */
/* not-emulated */
/* One thread is stopped at each instruction of free in turn, and another frees the same block
 * meanwhile. Where both find it live, both go on; but the block comes home twice, and then the
 * double free is caught. Nowhere is it missed. Single steps are the processor's: x86-64 only. */
#include <signal.h>
#include <sys/resource.h>

#include "tests/programs/work.h"

enum { BYTES = 100, NEIGHBOURS = 60, STEPS_MAX = 400, STEPS_MIN = 5, BEYOND = 42 };

#ifdef __x86_64__
enum { TRAP_FLAG = 0x100 };

static void *victim;
static int step_wanted;
static volatile sig_atomic_t steps;
static atomic_int other_may, other_did;

static void warm_up(void)
{
    void *blocks[NEIGHBOURS];
    for (int turn = 0; turn < 10; turn++) {
        for (int i = 0; i < NEIGHBOURS; i++) {
            blocks[i] = malloc(BYTES);
        }
        for (int i = 0; i < NEIGHBOURS; i++) {
            free(blocks[i]);
        }
    }
}

static void other_does(int what)
{
    other_may = what;
    while (other_did < what) {
    }
}

static void *other(void *unused)
{
    warm_up();
    free(malloc(BYTES));
    other_did = 1;
    while (other_may < 2) {
    }
    free(victim);
    other_did = 2;
    while (other_may < 3) {
    }
    free(malloc(BYTES)); /* after a trim the bins go home first */
    other_did = 3;
    return unused;
}

static void step(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    if (++steps == step_wanted) {
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
        other_does(2);
    }
}

/* Does not return: ends by SIGABRT, or is beyond the last step of free, or survives. */
static void be_child(int wanted, int errors)
{
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    void *neighbours[NEIGHBOURS];
    pthread_t thread;
    alarm(CHILD_SECONDS);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    dup2(errors, STDERR_FILENO);
    warm_up();
    for (int i = 0; i < NEIGHBOURS; i++) {
        neighbours[i] = malloc(BYTES);
    }
    victim = neighbours[NEIGHBOURS / 2];
    if (sigaction(SIGTRAP, &action, NULL) != 0 || pthread_create(&thread, NULL, other, NULL) != 0) {
        _exit(2);
    }
    other_does(1);
    free(neighbours[0]); /* there is room in the bin, and free is bound */
    free(malloc(BYTES));
    step_wanted = wanted;
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
    free(victim);
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~(uint64_t)TRAP_FLAG);
    if (steps < wanted) {
        _exit(BEYOND);
    }
    check_say("both went on\n");
    malloc_trim(0);
    other_does(3);
    _exit(0);
}

/* False when free had fewer steps. */
static bool caught_at(int wanted, int *both)
{
    char said[1000] = "";
    int ends[2], status = -1;
    ssize_t length = 0, more = 0;
    CHECK_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        be_child(wanted, ends[1]);
    }
    close(ends[1]);
    while ((more = read(ends[0], said + length, sizeof said - 1 - (size_t)length)) > 0) {
        length += more;
    }
    close(ends[0]);
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == BEYOND) {
        return false;
    }
    CHECK_AT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT &&
                 strstr(said, "memoir: double free of 0x") != NULL,
             "at step %d: status %x, it said: %s", wanted, (unsigned)status, said);
    *both += strstr(said, "both went on") != NULL;
    return true;
}

int main(void)
{
    int both = 0, wanted = 1;
    alarm(100);
    while (wanted < STEPS_MAX && caught_at(wanted, &both)) {
        wanted++;
    }
    printf("%d steps, both threads went on at %d of them\n", wanted - 1, both);
    CHECK(wanted > STEPS_MIN && wanted < STEPS_MAX);
    CHECK(both > 0);
    return check_result();
}
#else
int main(void)
{
    return 77;
}
#endif
