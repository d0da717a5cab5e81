/* SPDX-License-Identifier: MIT */
/* As `lock_take`, which exists, and `lock_gone`, `gone.h` and (`lock.c`), of which two do not. */
int lock_take(void);
