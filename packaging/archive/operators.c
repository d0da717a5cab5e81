/* SPDX-License-Identifier: MIT */
/*
 * C++'s operators of the static archive, a member of its own: jumps to ours, which have other names
 * there. Only programs that use the operators get it, and with it two references that pull what
 * throws bad_alloc out of the C++ library; weak ones, all that lib/api/cxx.c may have, do not.
 */
#include "base/arch.h"

#define LEFT_TO_CXX(name)
#define OPERATOR(name)                                                                           \
    __asm__(".text\n"                                                                            \
            ".globl " #name "\n"                                                                 \
            ".type " #name ", %function\n" #name ":\n\t" ARCH_JUMP " memoir_operator" #name "\n" \
            ".size " #name ", . - " #name "\n");
#include "packaging/archive/operators.def"

extern void _ZSt15get_new_handlerv(void);
extern void _ZSt17__throw_bad_allocv(void);

__attribute__((used)) static void (*const needed[])(void) = {_ZSt15get_new_handlerv,
                                                             _ZSt17__throw_bad_allocv};
