/* SPDX-License-Identifier: MIT */
/*
 * Lists and arenas: items keep their values while a list grows, what an arena gave never moves, and
 * where memory is out the list is as it was and the shortage is noted.
 */
#include "tool/memory/memory.h"

#include <stdint.h>

#include "tests/unit/unit.h"

enum { ITEMS = 100000 };

static void list_grows(void)
{
    uint64_t *items = NULL;
    size_t room = 0, moves = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        size_t before = room;
        assert(list_reserve(&items, &room, i + 1, sizeof *items));
        assert(room > i);
        moves += room != before;
        items[i] = i * i;
    }
    for (size_t i = 0; i < ITEMS; i++)
        assert(items[i] == i * i);
    assert(moves < 30); /* by half at a time, not by one */
    assert(list_resize(&items, 1, sizeof *items) && items[0] == 0);
    free(items);
}

static void list_takes(void)
{
    struct list list = {0};
    static const uint32_t more[] = {5, 6, 7};
    uint32_t *item = list_add(&list, sizeof *item);
    assert(item && *item == 0);
    *item = 4;
    assert(list_append(&list, sizeof *item, more, 3) && list.count == 4);
    assert(list_append(&list, sizeof *item, NULL, 0) && list.count == 4);
    item = list_add(&list, sizeof *item);
    assert(*item == 0);
    for (uint32_t i = 0; i < 4; i++)
        assert(((uint32_t *)list.items)[i] == 4 + i);
    list_free(&list);
    assert(list.items == NULL && list.count == 0 && list.room == 0);
}

static void list_refuses(void)
{
    struct list list = {0};
    assert(list_append(&list, 1, "abc", 4) && !shortage_is_noted());
    size_t room = list.room;
    assert(!list_reserve(&list.items, &list.room, SIZE_MAX / 2, 16));
    assert(shortage_is_noted() && list.room == room && strcmp(list.items, "abc") == 0);
    shortage_forget();
    assert(!list_append(&list, 1, "", SIZE_MAX) && shortage_is_noted() && list.count == 4);
    shortage_forget();
    list_free(&list);
}

static void arena_keeps(void)
{
    struct arena arena = {0};
    static char *texts[ITEMS];
    for (size_t i = 0; i < ITEMS; i++) {
        texts[i] = arena_print(&arena, "text %zu", i);
        uint64_t *number = arena_take(&arena, sizeof *number);
        assert(texts[i] && number && (uintptr_t)number % _Alignof(max_align_t) == 0);
        *number = i;
    }
    char *large = arena_take(&arena, 1 << 20);
    memset(large, 'x', 1 << 20);
    assert(strcmp(arena_text(&arena, "last"), "last") == 0);
    for (size_t i = 0; i < ITEMS; i++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "text %zu", i);
        assert(strcmp(texts[i], wanted) == 0);
    }
    assert(!arena_take(&arena, SIZE_MAX - 8) && shortage_is_noted());
    shortage_forget();
    arena_free(&arena);
    assert(arena.last == NULL);
}

int main(void)
{
    list_grows();
    list_takes();
    list_refuses();
    arena_keeps();
    return 0;
}
