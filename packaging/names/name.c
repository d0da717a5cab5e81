/* SPDX-License-Identifier: MIT */
/*
 * The marks of one foreign library name (names.def): two exported strings, named after the face and
 * the mode, that hold the SONAME. libmemoir.so refers to marks by weak references, so it knows
 * before the first malloc which library the program was linked with or preloads.
 */
#define JOIN(a, b)  JOIN_(a, b)
#define JOIN_(a, b) a##b

extern const char JOIN(memoir_face_, FACE)[], JOIN(memoir_mode_, MODE)[];

__attribute__((visibility("default"))) const char JOIN(memoir_face_, FACE)[] = SONAME;
__attribute__((visibility("default"))) const char JOIN(memoir_mode_, MODE)[] = SONAME;
