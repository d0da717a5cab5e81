/* SPDX-License-Identifier: MIT */
/* What the misuse programs share. Each does one wrong thing and nothing else wrong; `wrong` marks
 * the moment, so that an end before it is not taken for a catch, and `survived` what must not be
 * reached. */
#ifndef TESTS_MISUSE_MISUSE_H
#define TESTS_MISUSE_MISUSE_H

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A thread has a heap, and its calls take the hot path, only after some calls: `run` does every
 * misuse both ways. */
__attribute__((constructor)) static void warm_up(void)
{
    if (getenv("MISUSE_WARM") == NULL) {
        return;
    }
    for (size_t size = 1; size < 5000; size += 8) {
        void *volatile first = malloc(size);
        void *volatile second = malloc(size);
        free(first);
        free(second);
    }
}

/* Hides a pointer's history from the compiler. */
__attribute__((unused)) static void *opaque(void *pointer)
{
    __asm__ volatile("" : "+r"(pointer) : : "memory");
    return pointer;
}

__attribute__((unused)) static void *at(void *pointer, size_t offset)
{
    return opaque((char *)pointer + offset);
}

__attribute__((unused)) static void wrong(void)
{
    if (write(STDERR_FILENO, "reached\n", 8) != 8) {
        _exit(3);
    }
}

__attribute__((unused)) static int survived(void)
{
    return write(STDERR_FILENO, "survived\n", 9) == 9 ? 0 : 3;
}

__attribute__((unused)) static void in_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, argument) != 0 || pthread_join(thread, NULL) != 0) {
        _exit(3);
    }
}

__attribute__((unused)) static void *free_it(void *block)
{
    free(block);
    return NULL;
}

#endif
