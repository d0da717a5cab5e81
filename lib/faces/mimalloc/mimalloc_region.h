/* SPDX-License-Identifier: MIT */
/*
 * Memory that was set aside for mimalloc's heaps: the program's own (mi_manage_os_memory), or
 * mapped for it (mi_reserve_os_memory, huge pages). mimalloc calls it an arena; a region here. A
 * heap that is made in a region has all its blocks there: it is an arena of jemalloc_arena.h, whose
 * extent hooks cut pages out of the region and take them back.
 *
 * The heaps of all other blocks do not use regions, unless the option disallow_os_alloc says that
 * nothing but these may be used; then those that are not exclusive.
 */
#ifndef MIMALLOC_MIMALLOC_REGION_H
#define MIMALLOC_MIMALLOC_REGION_H

#include <stdbool.h>
#include <stddef.h>

struct owner;
struct caller;
struct lender;

/* As mi_commit_fun_t. */
typedef bool region_commit(bool commit, void *start, size_t size, bool *zero, void *arg);

struct region_wish {
    void *start; /* NULL: it is to be mapped */
    size_t bytes;
    bool committed, zero, exclusive;
    bool large;            /* in huge pages of 1 GiB that the system has set aside */
    region_commit *commit; /* NULL: mprotect */
    void *arg;
};

/* The number of a new region, from 1; 0 if there is no memory, or no place for it. */
int region_new(const struct region_wish *wish);
/* Where it is; NULL: there is none of this number. */
void *region_area(int number, size_t *bytes);
/* From one to the next by their numbers, for printing: its used bytes. */
bool region_used(int number, size_t *bytes);

/* A heap in the region; NULL if there is none of this number, or memory is out. */
struct owner *region_heap_new(int number, bool kept);
bool region_has_heap(const struct owner *heap);
/* The heap of a block in a region; NULL: it is none, or its heap was deleted. */
struct owner *region_heap_of(const void *p);
/* Of a heap in a region. */
struct lender *region_lender(const struct owner *heap);
/* Its blocks stay, or go. */
void region_heap_delete(struct owner *heap);
void region_heap_destroy(struct owner *heap, const struct caller *caller);
/* The option has another value. */
void regions_only(bool only);

#endif
