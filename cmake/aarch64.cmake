# SPDX-License-Identifier: MIT
#
# Debian's cross compiler for aarch64; tests run under qemu's user emulation.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# -R: an address space of 32 GiB. qemu keeps a record for each page a program maps, reserved ones
# included: a program that reserves a terabyte would cost 10 GB of real memory.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -R 0x800000000 -L /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
