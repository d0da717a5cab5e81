/* SPDX-License-Identifier: MIT */
/*
 * A plugin for qemu that counts the instructions a program executes and prints their number as the
 * last line on stderr. tests/measure/pair.sh and emulated.py compile it. Debian ships no header
 * for plugins, so the few functions used are declared here; they have not changed since the first
 * version.
 *
 * qemu translates code in blocks, and a block counts as a whole when it begins. What an exception
 * cuts off is counted too: once for a page fault that reaches the program, so hardly ever.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

struct qemu_plugin_tb;
enum { NO_REGISTERS = 0 };

extern __attribute__((visibility("default"))) int qemu_plugin_version;
int qemu_plugin_version = INTERFACE; /* -DINTERFACE=N: qemu refuses those it does not know */

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
                                           void (*call)(uint64_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block,
                                          void (*call)(unsigned, void *), int registers,
                                          void *argument);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*call)(uint64_t, void *), void *argument);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

static uint64_t total; /* the programs counted have one thread */

static void executed(unsigned cpu, void *instructions)
{
    (void)cpu;
    total += (uintptr_t)instructions;
}

static void translated(uint64_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    void *instructions = (void *)(uintptr_t)qemu_plugin_tb_n_insns(block);
    qemu_plugin_register_vcpu_tb_exec_cb(block, executed, NO_REGISTERS, instructions);
}

static void ended(uint64_t id, void *unused)
{
    (void)id;
    (void)unused;
    fprintf(stderr, "instructions: %" PRIu64 "\n", total);
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
    (void)info;
    (void)argc;
    (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
