/* SPDX-License-Identifier: MIT */
/* Its name is the fault. */
