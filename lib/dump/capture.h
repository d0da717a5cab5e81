/* SPDX-License-Identifier: MIT */
/*
 * memoir's own file: everything that is known about the heap, once or as a series of snapshots.
 * Bytes: docs/FORMATS.md. What was written before (nodes of stacks, mappings that did not change,
 * points in time) is not written again, so a program may take a snapshot every few seconds for
 * days.
 *
 * No allocation, no lock. One thread at a time may use a capture; the struct is large and should be
 * static or mapped. Every call leaves complete records in the file.
 */
#ifndef DUMP_CAPTURE_H
#define DUMP_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/file/maps.h"
#include "base/file/sink.h"

struct account;
struct account_sum;

struct capture {
    struct sink *sink;
    uint32_t nodes;                 /* number of the first node that is not in the file */
    uint64_t series_ms;             /* points up to this time are in the file */
    uint32_t maps_crc;              /* of the mappings in the file */
    uint64_t leaks_ms;              /* when the last scan in the file was made */
    uint64_t pins_ns, pins_took_ns; /* the same of pins, and how long it took */
    bool pins_always;               /* however long ago that is */
    uint64_t snapshots, rows;
    /* The record that is being made. */
    uint32_t type;
    size_t used;
    uint64_t last_stack;
    struct maps maps;
    uint8_t payload[8192];
};

void capture_begin(struct capture *capture, struct sink *sink);
/* Writes everything that is known now. `reason` may be NULL. 0 or an errno value. */
/* The records of the CPU profile, if there is one. */
void capture_cpu(struct capture *capture);
/* Of its threads, which waits for locks refer to as well. */
void capture_cpu_threads(struct capture *capture);
/* Waits for locks, if they were counted. */
void capture_locks(struct capture *capture);
/* What keeps memory in use; not if the last time is too short ago for what it cost, unless
 * `pins_always`. */
void capture_pins(struct capture *capture, const struct account *account);
int capture_snapshot(struct capture *capture, const char *reason, const struct account *account);
/* Writes a mark: a name, the time and the allocator's counters. */
int capture_mark(struct capture *capture, const char *name, const struct account_sum *total);
int capture_end(struct capture *capture);

/* The log of a recorder file (base/file/recorder_format.h) has no head. Begins it; adds the number
 * of nodes and the mappings, if they changed. 0 or an errno value. */
int capture_log_begin(struct capture *capture, struct sink *sink);
int capture_log_maps(struct capture *capture);

#endif
