/* SPDX-License-Identifier: MIT */
/* Whoever finds the bin full waits, and nobody else does. */
/* The user "nobody" is another one. */
static int somebody_waits;
/* Takes so many blocks. */
/* Takes as many blocks as fit. */
