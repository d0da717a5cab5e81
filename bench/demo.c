/* SPDX-License-Identifier: MIT */
/*
 * The example program of the demo: an indexer, written as such programs are, with no thought for
 * any allocator. Three reader threads generate pages of text and cut them into words; the main
 * thread takes the pages, keeps for each word the list of pages it is on (a hash map of growing
 * vectors), drops the oldest pages, answers a few queries, and prints what it found.
 *
 *     demo [PAGES]
 *
 * So a page is allocated in one thread and freed in another, vectors grow by realloc, and some
 * memory stays to the end. Fixed work: it prints the same numbers each time.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { reader_count = 3, words_a_page = 220, live_pages = 3000, basket_room = 64 };
enum { row_count = 1 << 15 };

struct page {
    struct page *next;
    int number;
    char *title;
    char **words;
};

struct posting {
    struct posting *next;
    char *word;
    int *pages;
    int used, room;
};

/* Pages on their way from the readers to the main thread; never more than it has room for. */
struct basket {
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    struct page *first;
    int used;
};

static struct basket basket = {.lock = PTHREAD_MUTEX_INITIALIZER,
                               .filled = PTHREAD_COND_INITIALIZER,
                               .emptied = PTHREAD_COND_INITIALIZER};
static struct posting *rows[row_count];
static int page_count = 12000;

static void *need(void *block)
{
    if (block == NULL) {
        fputs("demo: out of memory\n", stderr);
        exit(1);
    }
    return block;
}

static uint32_t dice(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Words as texts have them: few often, many seldom, 2 to 20 letters. */
static char *word_new(uint32_t *state)
{
    uint32_t number = dice(state) % 200;
    number = number * number + dice(state) % (number + 1);
    char text[32];
    int letters = (int)(number % 15);
    int length = snprintf(text, sizeof text, "%.*s%x", letters, "abstractletters", number);
    return memcpy(need(malloc((size_t)length + 1)), text, (size_t)length + 1);
}

static struct page *page_new(int number)
{
    uint32_t state = (uint32_t)number * 2654435761u + 7;
    struct page *page = need(malloc(sizeof *page));
    page->number = number;
    page->title = need(malloc(64));
    snprintf(page->title, 64, "page %d of %d", number, page_count);
    page->words = need(calloc(words_a_page, sizeof *page->words));
    for (int i = 0; i < words_a_page; i++)
        page->words[i] = word_new(&state);
    return page;
}

static void page_free(struct page *page)
{
    for (int i = 0; i < words_a_page; i++)
        free(page->words[i]);
    free(page->words);
    free(page->title);
    free(page);
}

static void *reader_run(void *arg)
{
    for (int number = (int)(intptr_t)arg; number < page_count; number += reader_count) {
        struct page *page = page_new(number);
        pthread_mutex_lock(&basket.lock);
        while (basket.used == basket_room)
            pthread_cond_wait(&basket.emptied, &basket.lock);
        page->next = basket.first;
        basket.first = page;
        basket.used++;
        pthread_cond_signal(&basket.filled);
        pthread_mutex_unlock(&basket.lock);
    }
    return NULL;
}

static struct page *basket_take(void)
{
    pthread_mutex_lock(&basket.lock);
    while (basket.first == NULL)
        pthread_cond_wait(&basket.filled, &basket.lock);
    struct page *pages = basket.first;
    basket.first = NULL;
    basket.used = 0;
    pthread_cond_broadcast(&basket.emptied);
    pthread_mutex_unlock(&basket.lock);
    return pages;
}

static struct posting *posting_find(const char *word)
{
    uint32_t hash = 5381;
    for (const char *c = word; *c != 0; c++)
        hash = hash * 33 ^ (unsigned char)*c;
    struct posting **at = &rows[hash % row_count];
    while (*at != NULL && strcmp((*at)->word, word) != 0)
        at = &(*at)->next;
    if (*at == NULL) {
        *at = need(calloc(1, sizeof **at));
        (*at)->word = need(strdup(word));
    }
    return *at;
}

static void page_index(const struct page *page)
{
    for (int i = 0; i < words_a_page; i++) {
        struct posting *posting = posting_find(page->words[i]);
        if (posting->used == posting->room) {
            posting->room = posting->room == 0 ? 4 : 2 * posting->room;
            posting->pages = need(realloc(posting->pages, (size_t)posting->room * sizeof(int)));
        }
        posting->pages[posting->used++] = page->number;
    }
}

static void index_report(void)
{
    long words = 0, places = 0;
    const struct posting *top = NULL;
    for (int i = 0; i < row_count; i++)
        for (const struct posting *p = rows[i]; p != NULL; p = p->next) {
            words++;
            places += p->used;
            if (top == NULL || p->used > top->used ||
                (p->used == top->used && strcmp(p->word, top->word) < 0))
                top = p;
        }
    printf("%d pages, %ld words, %ld places; most frequent: %s, %d times\n", page_count, words,
           places, top != NULL ? top->word : "-", top != NULL ? top->used : 0);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        page_count = atoi(argv[1]);
    pthread_t readers[reader_count];
    for (int i = 0; i < reader_count; i++)
        if (pthread_create(&readers[i], NULL, reader_run, (void *)(intptr_t)i) != 0)
            return 1;
    struct page *kept[live_pages] = {0};
    int done = 0;
    while (done < page_count) {
        struct page *page = basket_take();
        while (page != NULL) {
            struct page *next = page->next;
            page_index(page);
            if (kept[done % live_pages] != NULL)
                page_free(kept[done % live_pages]);
            kept[done++ % live_pages] = page;
            page = next;
        }
    }
    for (int i = 0; i < reader_count; i++)
        pthread_join(readers[i], NULL);
    index_report();
    for (int i = 0; i < live_pages; i++)
        if (kept[i] != NULL)
            page_free(kept[i]);
    return 0;
}
