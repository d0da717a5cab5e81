/* SPDX-License-Identifier: MIT */
/*
 * What a seccomp filter denies: deadly answers count and refusals do not, arguments are looked at,
 * and whatever the kernel would not take denies nothing and harms nothing.
 */
#include "base/confine.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "tests/unit/unit.h"

#include "base/os.h"

#define NUMBER      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ARGUMENT(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[i]))
#define RETURN(k)   BPF_STMT(BPF_RET | BPF_K, k)
#define UNLESS(k)   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1)

#define JUDGE(...)                             \
    judge((struct sock_filter[]){__VA_ARGS__}, \
          sizeof((struct sock_filter[]){__VA_ARGS__}) / sizeof(struct sock_filter))

static uint32_t judge(struct sock_filter *code, size_t length)
{
    struct sock_fprog program = {(unsigned short)length, code};
    return confine_judge((uintptr_t)&program);
}

static void deadly_answers_count(void)
{
    assert(JUDGE(RETURN(SECCOMP_RET_KILL_PROCESS)) == CONFINE_ALL);
    assert(JUDGE(RETURN(SECCOMP_RET_KILL_THREAD)) == CONFINE_ALL);
    assert(JUDGE(RETURN(SECCOMP_RET_TRAP | 7)) == CONFINE_ALL);
    assert(JUDGE(RETURN(SECCOMP_RET_ALLOW)) == 0);
    assert(JUDGE(RETURN(SECCOMP_RET_ERRNO | 1)) == 0);
    assert(JUDGE(RETURN(SECCOMP_RET_LOG)) == 0);
}

static void each_call_has_its_features(void)
{
    assert(JUDGE(NUMBER, UNLESS(SYS_tgkill), RETURN(SECCOMP_RET_KILL_PROCESS),
                 RETURN(SECCOMP_RET_ALLOW)) == (CONFINE_THREADS | CONFINE_ENDING));
    assert(JUDGE(NUMBER, UNLESS(SYS_flock), RETURN(SECCOMP_RET_KILL_PROCESS),
                 RETURN(SECCOMP_RET_ALLOW)) == CONFINE_FILES);
    assert(JUDGE(NUMBER, UNLESS(SYS_sendto), RETURN(SECCOMP_RET_KILL_PROCESS),
                 RETURN(SECCOMP_RET_ALLOW)) == CONFINE_CONTROL);
    assert(JUDGE(NUMBER, UNLESS(SYS_perf_event_open), RETURN(SECCOMP_RET_KILL_PROCESS),
                 RETURN(SECCOMP_RET_ALLOW)) == CONFINE_EVENTS);
    assert(JUDGE(NUMBER, UNLESS(SYS_rt_sigpending), RETURN(SECCOMP_RET_KILL_PROCESS),
                 RETURN(SECCOMP_RET_ALLOW)) ==
           (CONFINE_MESSAGES | CONFINE_FILES | CONFINE_SIGNALS));
    assert(JUDGE(NUMBER, UNLESS(SYS_mprotect), RETURN(SECCOMP_RET_KILL_PROCESS),
                 RETURN(SECCOMP_RET_ALLOW)) ==
           (CONFINE_CONTROL | CONFINE_ENDING | CONFINE_LEAKS | CONFINE_PAGES));
    assert(JUDGE(NUMBER, UNLESS(SYS_ptrace), RETURN(SECCOMP_RET_KILL_PROCESS),
                 RETURN(SECCOMP_RET_ALLOW)) == 0);
}

/* Sockets, but none of the family AF_UNIX (1); by way of the index and the words of memory. */
static void arguments_are_looked_at(void)
{
    struct sock_filter code[] = {NUMBER,
                                 BPF_STMT(BPF_MISC | BPF_TAX, 0),
                                 BPF_STMT(BPF_STX, 3),
                                 BPF_STMT(BPF_LD | BPF_MEM, 3),
                                 BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, SYS_socket),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
                                 ARGUMENT(0),
                                 UNLESS(1),
                                 RETURN(SECCOMP_RET_KILL_PROCESS),
                                 RETURN(SECCOMP_RET_ALLOW)};
    assert(judge(code, sizeof code / sizeof *code) == CONFINE_CONTROL);
    code[7].k = 2; /* AF_INET */
    assert(judge(code, sizeof code / sizeof *code) == 0);
}

static void nonsense_denies_nothing(void)
{
    struct sock_fprog far = {100, (struct sock_filter *)8}, empty = {0, NULL};
    uint64_t random = 1;
    assert(confine_judge(0) == 0 && confine_judge(8) == 0);
    assert(confine_judge((uintptr_t)&far) == 0 && confine_judge((uintptr_t)&empty) == 0);
    assert(JUDGE(BPF_JUMP(BPF_JMP | BPF_JA, 0xffffffff, 0, 0), RETURN(0)) == 0);
    assert(JUDGE(BPF_STMT(BPF_LD | BPF_MEM, 1000), RETURN(SECCOMP_RET_KILL_PROCESS)) == 0);
    assert(JUDGE(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0xfffffffc), RETURN(0)) == 0);
    for (unsigned i = 0; i < unit_times(20000); i++) {
        struct sock_filter code[16];
        for (size_t k = 0; k < sizeof code; k++)
            ((uint8_t *)code)[k] = (uint8_t)unit_random(&random);
        judge(code, sizeof code / sizeof *code);
    }
}

int main(void)
{
    deadly_answers_count();
    each_call_has_its_features();
    arguments_are_looked_at();
    nonsense_denies_nothing();
    return 0;
}
