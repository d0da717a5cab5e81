# SPDX-License-Identifier: MIT
#
# Assembly that defines every symbol that a library exports:
#   cmake -DNM=PROGRAM -DLIBRARY=FILE.so -DOUTPUT=FILE.s -P cmake/exports.cmake
# Functions are all at the start of section .names (packaging/names/names.ld says why). Variables, which
# are pointers with the initial value NULL, are real definitions: the first one in the process counts for
# all, and a program that is not position independent has a copy of it. Tables of C++ classes (_ZT...) are
# constants: they are listed as functions are, with the size that a copy must have.
execute_process(COMMAND ${NM} -D --defined-only --format=posix ${LIBRARY}
    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
set(text "    .section .names, \"a\", %progbits\nnames:\n    .byte 0\n")
foreach(symbol IN LISTS symbols)
    string(REGEX MATCH "^([^ ]+) ([A-Za-z]) [0-9a-f]+ ([0-9a-f]*)" all ${symbol})
    set(name ${CMAKE_MATCH_1})
    set(kind ${CMAKE_MATCH_2})
    set(size ${CMAKE_MATCH_3})
    if(name MATCHES "^_ZT")
        string(APPEND text "    .globl ${name}\n    .set ${name}, names\n    .type ${name}, %object\n"
            "    .size ${name}, 0x${size}\n")
    elseif(kind MATCHES "[TWi]")
        string(APPEND text "    .globl ${name}\n    .set ${name}, names\n    .type ${name}, %function\n")
    else()
        string(APPEND variables "    .globl ${name}\n    .type ${name}, %object\n    .size ${name}, 8\n"
            "${name}:\n    .quad 0\n")
    endif()
endforeach()
string(APPEND text "    .bss\n    .balign 8\n${variables}")
file(WRITE ${OUTPUT} "${text}    .section .note.GNU-stack, \"\", %progbits\n")
