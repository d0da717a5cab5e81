/* SPDX-License-Identifier: MIT */
typedef struct heap heap_t;
