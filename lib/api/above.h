/* SPDX-License-Identifier: MIT */
/*
 * What lib/api asks of the rooms above it: control (lib/control), and the faces of other allocators
 * (lib/faces), their options, variables and functions. A face changes nothing unless the program
 * uses it.
 */
#ifndef API_ABOVE_H
#define API_ABOVE_H

/* The allocator is up, and this thread holds no lock: applies the options. */
void control_init(void);

/* `config` is loaded and nothing else is up: reads variables and options and changes `config`. */
void faces_init(void);
/* The allocator is up, and this thread holds no lock: sets up dumps. */
void faces_ready(void);
/* The program ends: makes the last dumps and reports. May not return. */
void faces_exit(void);
/* The program has loaded an object. */
void faces_loaded(void);

#endif
