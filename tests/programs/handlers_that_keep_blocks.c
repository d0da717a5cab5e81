/* SPDX-License-Identifier: MIT */
/* helper: handlers_that_keep_blocks.sh runs this with our library and with others.
 *
 * malloc is not for signal handlers. What happens if one calls it all the same, on top of malloc
 * or free, at each of their instructions in turn? The processor's single steps make a handler run
 * there (x86-64). In a child for each step, so that a crash or a hang is one more answer. Prints
 * a line for each thing that a handler may do: at how many steps it did harm. Harm is a block that
 * two own, a crash, or a hang. */
#include <signal.h>
#include <sys/resource.h>

#include "tests/programs/work.h"

#ifdef __x86_64__
enum { TRAP_FLAG = 0x100, BYTES = 100, WARM = 40, DRAIN = 1000, STEPS_MAX = 400 };
enum { FINE, TWICE = 10, BEYOND = 11, CHILD_SECONDS_MAX = 5 };

enum deed { PAIR, PAIRS, KEEP, REPLACE, FREE, FREES, DEEDS };
static const char *const names[DEEDS] = {"pair", "pairs", "keep", "replace", "free", "frees"};

static int step_wanted;
static volatile sig_atomic_t steps;
static enum deed deed;
enum { MANY = 600 }; /* more than a thread keeps of this size */
static void *spare[2], *kept, *many[MANY];

static void handler_does(void)
{
    void *a, *b;
    switch (deed) {
    case PAIR:
        free(opaque_ptr(malloc(BYTES)));
        break;
    case PAIRS:
        a = malloc(BYTES);
        b = malloc(BYTES);
        free(a);
        free(b);
        break;
    case KEEP:
        kept = malloc(BYTES);
        break;
    case REPLACE:
        kept = malloc(BYTES);
        free(spare[0]);
        spare[0] = NULL;
        break;
    case FREES:
        for (int i = 0; i < MANY; i++) {
            free(many[i]);
        }
        break;
    default:
        free(spare[0]);
        spare[0] = NULL;
    }
}

static void step(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    if (++steps == step_wanted) {
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
        handler_does();
    }
}

static void trap(bool on)
{
    uint64_t flags = __builtin_ia32_readeflags_u64();
    __builtin_ia32_writeeflags_u64(on ? flags | TRAP_FLAG : flags & ~(uint64_t)TRAP_FLAG);
}

/* Whether a block is there twice among what is owned and all that can be had now. */
static bool twice(void **owned, unsigned count)
{
    static void *all[DRAIN + WARM];
    for (unsigned i = 0; i < count; i++) {
        all[i] = owned[i];
    }
    for (unsigned i = 0; i < DRAIN; i++) {
        all[count++] = malloc(BYTES);
    }
    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; all[i] != NULL && k < i; k++) {
            if (all[i] == all[k]) {
                return true;
            }
        }
    }
    return false;
}

static void be_child(bool in_free)
{
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    void *blocks[WARM], *block, *owned[4] = {NULL};
    alarm(CHILD_SECONDS_MAX);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    close(STDERR_FILENO);
    for (int turn = 0; turn < 20; turn++) {
        for (int i = 0; i < WARM; i++) {
            blocks[i] = malloc(BYTES);
        }
        for (int i = 0; i < WARM; i++) {
            free(blocks[i]);
        }
    }
    for (int i = 0; deed == FREES && i < MANY; i++) {
        many[i] = malloc(BYTES);
    }
    spare[0] = malloc(BYTES);
    spare[1] = malloc(BYTES);
    block = malloc(BYTES);
    free(malloc(BYTES));
    if (sigaction(SIGTRAP, &action, NULL) != 0) {
        _exit(2);
    }
    trap(true);
    if (in_free) {
        free(block);
        block = NULL;
    } else {
        block = malloc(BYTES);
    }
    trap(false);
    if (steps < step_wanted) {
        _exit(BEYOND);
    }
    owned[0] = block;
    owned[1] = kept;
    owned[2] = spare[0];
    owned[3] = spare[1];
    _exit(twice(owned, 4) ? TWICE : FINE);
}

/* How many steps there were; counts those that did harm. */
static int try_all(bool in_free, int *harm, int *hung)
{
    for (step_wanted = 1; step_wanted < STEPS_MAX; step_wanted++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            be_child(in_free);
        }
        if (child < 0 || waitpid(child, &status, 0) != child) {
            exit(2);
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == BEYOND) {
            break;
        }
        *harm += !WIFEXITED(status) || WEXITSTATUS(status) != FINE;
        *hung += WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    }
    return step_wanted - 1;
}

int main(int count_words, char **words)
{
    int deeds = count_words > 1 ? atoi(words[1]) : DEEDS; /* the first ones */
    for (int i = 0; i < deeds; i++) {
        int harm = 0, hung = 0;
        deed = (enum deed)i;
        int count = try_all(false, &harm, &hung);
        count += try_all(true, &harm, &hung);
        printf("%s: harm at %d of %d steps, hung at %d\n", names[i], harm, count, hung);
        fflush(stdout);
    }
    return 0;
}
#else
int main(void)
{
    return 77;
}
#endif
