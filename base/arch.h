/* SPDX-License-Identifier: MIT */
/* The machine, chosen once: the only `#if` about it. C++ reads it, too. */
#ifndef BASE_ARCH_H
#define BASE_ARCH_H

#if defined(__x86_64__)
#include "base/arch_x86_64.h"
#elif defined(__aarch64__)
#include "base/arch_aarch64.h"
#else
#error "memoir knows x86-64 and aarch64"
#endif

#endif
