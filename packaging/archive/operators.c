/* SPDX-License-Identifier: MIT */
/*
 * C++'s operators of the static archive, a member of its own: jumps to ours, which have other names
 * there. Only programs that use the operators get it, and with it two references that pull what
 * throws bad_alloc out of the C++ library; weak ones, all that lib/api/cxx.c may have, do not. The
 * operators are weak: a program with some of its own is linked with these and gets the rest.
 */
#include <string.h>

#include "base/arch.h"
#include "base/compiler.h"
#include "lib/process/operators.h"

/* Each has a second, local name, by which it is told from the program's. */
#define LEFT_TO_CXX(name)
#define OPERATOR(name)                                                  \
    __asm__(".text\n"                                                   \
            ".weak " #name "\n"                                         \
            ".type " #name ", %function\n" #name ":\n"                  \
            "own" #name ":\n\t" ARCH_JUMP " memoir_operator" #name "\n" \
            ".size " #name ", . - " #name "\n");
#include "packaging/archive/operators.def"

extern void _ZSt15get_new_handlerv(void);
extern void _ZSt17__throw_bad_allocv(void);

__attribute__((used)) static void (*const needed[])(void) = {_ZSt15get_new_handlerv,
                                                             _ZSt17__throw_bad_allocv};

/* Tables of the linker's making: the compiler would take two names for two functions. */
#define ROW(prefix, name) "\t.quad " prefix #name "\n"
#define TABLE(label, prefix)                                                                  \
    __asm__(".section .data.rel.ro,\"aw\"\n\t.balign 8\n" label ":\n" ROW(prefix, _Znwm)      \
                ROW(prefix, _Znam) ROW(prefix, _ZnwmSt11align_val_t)                          \
                    ROW(prefix, _ZnamSt11align_val_t) ROW(prefix, _ZdlPv) ROW(prefix, _ZdaPv) \
                        ROW(prefix, _ZdlPvSt11align_val_t)                                    \
                            ROW(prefix, _ZdaPvSt11align_val_t) ".previous\n");
TABLE("operators_seen", "")
TABLE("operators_own", "own")
extern HIDDEN const struct operators operators_seen, operators_own;

bool memoir_operators_by_linker(struct operators *found)
{
    *found = operators_seen;
    return memcmp(&operators_seen, &operators_own, sizeof *found) != 0;
}
