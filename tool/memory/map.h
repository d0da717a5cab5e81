/* SPDX-License-Identifier: MIT */
/*
 * The hash map of the command. It maps what a thing is known by to the thing's number; the things
 * themselves lie in a list of the caller's, which gives the functions that hash and compare them.
 *
 * A slot is the number + 1, and above it, in the bits that numbers do not need yet, a part of the
 * thing's hash, so that a wrong candidate is seldom looked at. Cost: 5 to 11 bytes a thing. Keys
 * are not copied: profiles have a million stacks, and their bytes lie in the profile already.
 */
#ifndef MEMORY_MAP_H
#define MEMORY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX

/* All of it zero is the empty map. */
struct map {
    uint32_t *slots; /* 0: free */
    size_t size, count;
    uint32_t first; /* things are numbered from it on, without a gap; */
    bool sparse;    /* or they are not, which has to be said before the first */
    size_t place;   /* where the last thing that was not found goes, */
    uint64_t hash;  /* and its hash */
};

/* The bytes by which a thing is known. */
typedef const void *map_bytes(const void *context, uint32_t number, size_t *size);

/* Things that are known by more than a row of bytes. */
struct map_kind {
    uint64_t (*hash)(const void *context, uint32_t number);
    bool (*same)(const void *context, uint32_t number, const void *key);
};

/* Room for `count` things, where that is known, before the first. False: memory is out. */
bool map_start(struct map *map, size_t count);
/* The number of the thing with these bytes, or MAP_NONE: then map_add gives it one. False: memory
 * is out. */
bool map_find(struct map *map, const void *context, map_bytes *bytes, const void *data, size_t size,
              uint32_t *number);
/* The same by the key's hash and a comparison. */
bool map_find_as(struct map *map, const void *context, const struct map_kind *kind, uint64_t hash,
                 const void *key, uint32_t *number);
/* The same of a map that does not change: only looks. */
uint32_t map_look(const struct map *map, const void *context, map_bytes *bytes, const void *data,
                  size_t size);
uint32_t map_look_as(const struct map *map, const void *context, const struct map_kind *kind,
                     uint64_t hash, const void *key);
/* The thing that the last search did not find has this number. */
void map_add(struct map *map, uint32_t number);
/* Gives its memory back. The next search makes it again; not of sparse ones. */
void map_rest(struct map *map);
/* The list has changed: it has `count` things, numbered from 0. Not of sparse ones. */
void map_renew(struct map *map, size_t count);
void map_free(struct map *map);

uint64_t map_mix(uint64_t hash, uint64_t word);
uint64_t map_hash(const void *data, size_t size);

#endif
