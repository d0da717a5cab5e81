/* SPDX-License-Identifier: MIT */
/*
 * See base/confine.h. A filter is a program for a small machine: an accumulator, an index, 16 words
 * of memory, jumps forward only. It reads the number and the arguments of a system call and returns
 * a verdict.
 */
#include "base/confine.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/arch.h"
#include "base/compiler.h"
#include "base/os.h"

uint32_t confine_denied;
uint64_t confine_ticks_last;

/* A filter's memory and its longest program, as the kernel has them. */
enum { CLOSE_RANGE = 436, WORDS = 16, LENGTH_MAX = 4096 };
enum {
    FILES_AND_CONTROL = CONFINE_FILES | CONFINE_CONTROL,
    ALL_THREE = FILES_AND_CONTROL | CONFINE_OPEN
};
enum {
    HELPER = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
             CLONE_SETTLS,
    SOCKET = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
    DUPLICATE = 1030, /* F_DUPFD_CLOEXEC */
    NOT_IN_CHILDREN = 10,
};

/* The calls of each, with the arguments that filters look at. docs/CONTROL.md has the same list. */
static const BULK_CONSTANT struct call {
    uint32_t of;
    int number;
    int32_t arguments[3];
} calls[] = {
    {CONFINE_THREADS, SYS_tgkill, {0}},
    {CONFINE_NAMES | CONFINE_FILES, SYS_prctl, {PR_GET_NAME}},
    {CONFINE_NODE, SYS_getcpu, {0}},
    {CONFINE_MESSAGES | FILES_AND_CONTROL, SYS_fstat, {2}},
    {CONFINE_MESSAGES | CONFINE_FILES, SYS_fcntl, {2, F_GETFL}},
    {CONFINE_MESSAGES, SYS_ioctl, {2, 0x5401 /* TCGETS */}},
    {CONFINE_MESSAGES | CONFINE_FILES, SYS_write, {2}},
    {CONFINE_MESSAGES | CONFINE_FILES | CONFINE_SIGNALS, SYS_rt_sigpending, {0}},
    {CONFINE_MESSAGES | CONFINE_FILES, SYS_rt_sigtimedwait, {0}},
    {ALL_THREE, SYS_openat, {AT_FDCWD, 0, O_RDONLY | O_CLOEXEC}},
    {CONFINE_FILES, SYS_openat, {AT_FDCWD, 0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC}},
    {ALL_THREE, SYS_read, {3}},
    {CONFINE_FILES, SYS_pread64, {3}},
    {ALL_THREE, SYS_close, {3}},
    {FILES_AND_CONTROL, SYS_newfstatat, {AT_FDCWD}},
    {CONFINE_FILES, SYS_fcntl, {3, DUPLICATE}},
    {CONFINE_FILES, SYS_flock, {3}},
    {CONFINE_FILES, SYS_mincore, {0}},
    {CONFINE_FILES, SYS_readlinkat, {AT_FDCWD}},
    {CONFINE_FILES, SYS_renameat, {AT_FDCWD}},
    {CONFINE_FILES, SYS_renameat2, {AT_FDCWD}},
    {CONFINE_FILES, SYS_linkat, {AT_FDCWD}},
    {FILES_AND_CONTROL, SYS_unlinkat, {AT_FDCWD}},
    {FILES_AND_CONTROL, SYS_getdents64, {3}},
    {CONFINE_FILES, SYS_uname, {0}},
    {CONFINE_GROW, SYS_fallocate, {3}},
    {CONFINE_GROW, SYS_pwrite64, {3}},
    {CONFINE_GROW, SYS_prlimit64, {0}},
    {CONFINE_GROW, SYS_fstatfs, {3}},
    {CONFINE_GROW, SYS_fcntl, {3, F_SETLK}},
    {CONFINE_CONTROL | CONFINE_ENDING | CONFINE_PAGES, SYS_mprotect, {0}},
    {CONFINE_CONTROL | CONFINE_ENDING, SYS_madvise, {0, 0, NOT_IN_CHILDREN}},
    {CONFINE_CONTROL | CONFINE_ENDING, SYS_clone, {HELPER}},
    {CONFINE_CONTROL | CONFINE_ENDING, SYS_prctl, {PR_SET_NAME}},
    {CONFINE_CONTROL | CONFINE_ENDING, SYS_kill, {0}},
    {CONFINE_CONTROL | CONFINE_ENDING, SYS_exit, {0}},
    {CONFINE_ENDING | CONFINE_SIGNALS, SYS_rt_sigaction, {15}},
    {CONFINE_ENDING, SYS_tgkill, {0}},
    {CONFINE_CONTROL | CONFINE_ENDING | CONFINE_CPU, SYS_gettid, {0}},
    {CONFINE_CONTROL | CONFINE_CPU, SYS_rt_sigreturn, {0}},
    {CONFINE_LEAKS, SYS_openat, {AT_FDCWD, 0, O_RDONLY | O_CLOEXEC}},
    {CONFINE_LEAKS, SYS_read, {3}},
    {CONFINE_LEAKS, SYS_pread64, {3}},
    {CONFINE_LEAKS, SYS_close, {3}},
    {CONFINE_LEAKS, SYS_lseek, {3}},
    {CONFINE_LEAKS, SYS_getdents64, {3}},
    {CONFINE_LEAKS, SYS_ioctl, {3, (int32_t)0xc0606610 /* PAGEMAP_SCAN */}},
    {CONFINE_LEAKS, SYS_mprotect, {0}},
    {CONFINE_LEAKS, SYS_madvise, {0, 0, NOT_IN_CHILDREN}},
    {CONFINE_LEAKS, SYS_clone, {HELPER}},
    {CONFINE_LEAKS, SYS_clone, {CLONE_SETTLS}},
    {CONFINE_LEAKS, SYS_prctl, {PR_SET_NAME}},
    {CONFINE_LEAKS, SYS_prctl, {PR_SET_PDEATHSIG}},
    {CONFINE_LEAKS, SYS_rt_tgsigqueueinfo, {0}},
    {CONFINE_LEAKS, SYS_rt_sigaction, {23}},
    {CONFINE_LEAKS, SYS_rt_sigaction, {33}},
    {CONFINE_LEAKS, SYS_rt_sigreturn, {0}},
    {CONFINE_LEAKS, SYS_gettid, {0}},
    {CONFINE_LEAKS, SYS_wait4, {0}},
    {CONFINE_LEAKS, SYS_kill, {0}},
    {CONFINE_LEAKS, SYS_exit, {0}},
    {CONFINE_LEAKS, CLOSE_RANGE, {3}},
    {CONFINE_WRITTEN, SYS_userfaultfd, {O_CLOEXEC | O_NONBLOCK | 1}},
    {CONFINE_WRITTEN, SYS_ioctl, {3, (int32_t)0xc018aa3f /* UFFDIO_API */}},
    {CONFINE_WRITTEN, SYS_ioctl, {3, (int32_t)0xc020aa00 /* UFFDIO_REGISTER */}},
    {CONFINE_WRITTEN, SYS_ioctl, {3, (int32_t)0xc018aa06 /* UFFDIO_WRITEPROTECT */}},
    {CONFINE_HURRY, SYS_getpriority, {PRIO_PROCESS}},
    {CONFINE_HURRY, SYS_setpriority, {PRIO_PROCESS}},
    {CONFINE_HURRY, SYS_setsid, {0}},
    {CONFINE_CPU, SYS_timer_create, {0}},
    {CONFINE_CPU, SYS_timer_settime, {0}},
    {CONFINE_CPU, SYS_timer_delete, {0}},
    {CONFINE_CPU, SYS_clock_gettime, {0}},
    {CONFINE_CPU, SYS_getrusage, {0}},
    {CONFINE_EVENTS, SYS_perf_event_open, {0}},
    {CONFINE_EVENTS, SYS_clock_getres, {0}},
    {CONFINE_EVENTS, SYS_prctl, {PR_GET_SECCOMP}},
    {CONFINE_EVENTS, SYS_fcntl, {3, F_SETSIG}},
    {CONFINE_CONTROL, SYS_prctl, {PR_GET_DUMPABLE}},
    {CONFINE_CONTROL, CLOSE_RANGE, {3}},
    {CONFINE_CONTROL, SYS_getresuid, {0}},
    {CONFINE_CONTROL, SYS_getresgid, {0}},
    {CONFINE_CONTROL, SYS_socket, {AF_UNIX, SOCKET}},
    {CONFINE_CONTROL, SYS_fchmod, {3, 0600}},
    {CONFINE_CONTROL, SYS_bind, {3}},
    {CONFINE_CONTROL, SYS_listen, {3, 8}},
    {CONFINE_CONTROL, SYS_accept4, {3, 0, 0}},
    {CONFINE_CONTROL, SYS_getsockopt, {3, SOL_SOCKET, SO_PEERCRED}},
    {CONFINE_CONTROL, SYS_recvmsg, {3, 0, MSG_TRUNC | MSG_CMSG_CLOEXEC}},
    {CONFINE_CONTROL, SYS_sendto, {3}},
    {CONFINE_CONTROL, SYS_sendmsg, {3}},
    {CONFINE_CONTROL, SYS_ppoll, {0, 1}},
    {CONFINE_WAITS, SYS_ppoll, {0}},
    {CONFINE_WAITS, SYS_pselect6, {0}},
    {CONFINE_WAITS, SYS_epoll_pwait, {3}},
    {CONFINE_CONTROL, SYS_mkdirat, {AT_FDCWD, 0, 0700}},
    {CONFINE_CONTROL, SYS_connect, {3}},
    {CONFINE_CONTROL, SYS_memfd_create, {0, 1}},
};

struct machine {
    const struct seccomp_data *data;
    uint32_t a, x, words[WORDS];
    bool bad;
};

static bool is_deadly(uint32_t answer);
static uint32_t filter_run(const struct sock_filter *code, size_t length,
                           const struct seccomp_data *data);
static void step_run(struct machine *machine, const struct sock_filter *step);
static uint32_t loaded(struct machine *machine, const struct sock_filter *step);
static uint32_t computed(struct machine *machine, unsigned op, uint32_t value);
static bool jumps(struct machine *machine, unsigned op, uint32_t value);

uint32_t confine_judge(uintptr_t program)
{
    enum { BYTES = LENGTH_MAX * sizeof(struct sock_filter) };
    struct sock_fprog about;
    uint32_t denied = 0;
    if (!os_peek(&about, program, sizeof about) || about.len == 0 || about.len > LENGTH_MAX)
        return 0;
    struct sock_filter *code = os_map(BYTES);
    if (code == NULL)
        return CONFINE_ALL;
    if (os_peek(code, (uintptr_t)about.filter, about.len * sizeof *code))
        for (size_t i = 0; i < COUNT_OF(calls); i++) {
            struct seccomp_data data = {.nr = calls[i].number, .arch = ARCH_AUDIT};
            for (unsigned k = 0; k < COUNT_OF(calls[i].arguments); k++)
                data.args[k] = (uint64_t)(int64_t)calls[i].arguments[k]; /* as we pass them */
            if (is_deadly(filter_run(code, about.len, &data)))
                denied |= calls[i].of;
        }
    os_unmap(code, BYTES);
    return denied;
}

/* SIGSYS counts as deadly, too: few programs have a handler that makes the call in another way. */
static bool is_deadly(uint32_t answer)
{
    uint32_t action = answer & 0xffff0000u;
    return action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
           action == SECCOMP_RET_TRAP;
}

/* The verdict of the filter on a call. A filter that the kernel would reject allows everything. */
static uint32_t filter_run(const struct sock_filter *code, size_t length,
                           const struct seccomp_data *data)
{
    struct machine machine = {.data = data};
    for (size_t at = 0; at < length && !machine.bad; at++) {
        const struct sock_filter *step = &code[at];
        uint32_t value = BPF_SRC(step->code) == BPF_X ? machine.x : step->k;
        if (BPF_CLASS(step->code) == BPF_RET)
            return BPF_RVAL(step->code) == BPF_A ? machine.a : step->k;
        if (BPF_CLASS(step->code) != BPF_JMP)
            step_run(&machine, step);
        else if (BPF_OP(step->code) == BPF_JA)
            at += step->k;
        else
            at += jumps(&machine, BPF_OP(step->code), value) ? step->jt : step->jf;
    }
    return SECCOMP_RET_ALLOW;
}

/* One step that neither jumps nor returns. */
static void step_run(struct machine *machine, const struct sock_filter *step)
{
    unsigned code = step->code;
    switch (BPF_CLASS(code)) {
    case BPF_LD:
        machine->a = loaded(machine, step);
        break;
    case BPF_LDX:
        machine->x = loaded(machine, step);
        break;
    case BPF_ST:
    case BPF_STX:
        machine->bad |= step->k >= WORDS;
        machine->words[step->k % WORDS] = BPF_CLASS(code) == BPF_ST ? machine->a : machine->x;
        break;
    case BPF_ALU:
        machine->a = computed(machine, BPF_OP(code), BPF_SRC(code) == BPF_X ? machine->x : step->k);
        break;
    default:
        if (BPF_MISCOP(code) == BPF_TAX)
            machine->x = machine->a;
        else
            machine->a = machine->x;
    }
}

static uint32_t loaded(struct machine *machine, const struct sock_filter *step)
{
    uint32_t value = 0;
    switch (BPF_MODE(step->code)) {
    case BPF_IMM:
        return step->k;
    case BPF_LEN:
        return sizeof *machine->data;
    case BPF_MEM:
        machine->bad |= step->k >= WORDS;
        return machine->words[step->k % WORDS];
    case BPF_ABS:
        if (step->k <= sizeof *machine->data - sizeof value)
            memcpy(&value, (const char *)machine->data + step->k, sizeof value);
        else
            machine->bad = true;
        return value;
    default:
        machine->bad = true;
        return 0;
    }
}

static uint32_t computed(struct machine *machine, unsigned op, uint32_t value)
{
    switch (op) {
    case BPF_ADD:
        return machine->a + value;
    case BPF_SUB:
        return machine->a - value;
    case BPF_MUL:
        return machine->a * value;
    case BPF_DIV:
        return value == 0 ? 0 : machine->a / value;
    case BPF_AND:
        return machine->a & value;
    case BPF_OR:
        return machine->a | value;
    case BPF_XOR:
        return machine->a ^ value;
    case BPF_LSH:
        return value > 31 ? 0 : machine->a << value;
    case BPF_RSH:
        return value > 31 ? 0 : machine->a >> value;
    case BPF_NEG:
        return -machine->a;
    default:
        machine->bad = true;
        return 0;
    }
}

static bool jumps(struct machine *machine, unsigned op, uint32_t value)
{
    switch (op) {
    case BPF_JEQ:
        return machine->a == value;
    case BPF_JGT:
        return machine->a > value;
    case BPF_JGE:
        return machine->a >= value;
    case BPF_JSET:
        return machine->a & value;
    default:
        machine->bad = true;
        return false;
    }
}
