/* SPDX-License-Identifier: MIT */
/*
 * Small programs in one function each: text, a hash table, symbolic algebra, big numbers. Here
 * the allocator competes for the caches with real work, and blocks that are used together should
 * better lie together; a loop of bare pairs shows neither.
 */
#include "bench/micro.h"

/* A word of `letters` lower-case letters into `out`, ended by 0. */
static void word_write(char *out, size_t letters, uint64_t *rng)
{
    uint64_t dice = rng_next(rng);
    for (size_t i = 0; i < letters; i++) {
        if (i % 8 == 7)
            dice = rng_next(rng);
        out[i] = (char)('a' + (dice & 15));
        dice >>= 4;
    }
    out[letters] = 0;
}

static char *string_copy(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(block_new(size), text, size);
}

static char *string_join(const char *left, const char *right)
{
    size_t a = strlen(left), b = strlen(right);
    char *both = block_new(a + b + 2);
    memcpy(both, left, a);
    both[a] = ' ';
    memcpy(both + a + 1, right, b);
    both[a + 1 + b] = 0;
    return both;
}

/*
 * A text filter: words are copied out of a line, the odd ones joined to a new line step by step
 * (each step a new string, as in an interpreter), 500 lines stay live.
 */
uint64_t shapes_strings(const struct job *job)
{
    enum { lines = 500, words = 12 };
    char *kept[lines] = {0};
    uint64_t rng = rng_seed(job, 0);
    uint64_t ops = job_ops(job, 400000);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ops; i++) {
        char *parts[words];
        char text[64];
        for (int w = 0; w < words; w++) {
            word_write(text, 2 + rng_below(&rng, w % 4 == 0 ? 40 : 12), &rng);
            parts[w] = string_copy(text);
        }
        char *line = string_copy("");
        for (int w = 0; w < words; w++) {
            if ((parts[w][0] & 1) != 0) {
                char *longer = string_join(line, parts[w]);
                free(line);
                line = longer;
            }
        }
        for (int w = 0; w < words; w++)
            free(parts[w]);
        sum = sum * 31 + strlen(line);
        free(kept[i % lines]);
        kept[i % lines] = line;
    }
    for (int i = 0; i < lines; i++)
        free(kept[i]);
    return sum;
}

struct entry {
    struct entry *next;
    char *key;
    uint64_t hash;
    uint64_t value;
};

struct table {
    struct entry **rows;
    size_t row_count; /* a power of two */
    size_t used;
};

static uint64_t key_hash(const char *key)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *key != 0; key++)
        hash = (hash ^ (unsigned char)*key) * UINT64_C(0x100000001b3);
    return hash ^ (hash >> 29);
}

static struct entry **table_find(struct table *table, const char *key, uint64_t hash)
{
    struct entry **at = &table->rows[hash & (table->row_count - 1)];
    while (*at != NULL && ((*at)->hash != hash || strcmp((*at)->key, key) != 0))
        at = &(*at)->next;
    return at;
}

static void table_resize(struct table *table, size_t row_count)
{
    struct entry **rows = calloc(row_count, sizeof(struct entry *));
    if (rows == NULL)
        block_fail(row_count * sizeof(struct entry *));
    for (size_t i = 0; i < table->row_count; i++) {
        struct entry *entry = table->rows[i];
        while (entry != NULL) {
            struct entry *next = entry->next;
            entry->next = rows[entry->hash & (row_count - 1)];
            rows[entry->hash & (row_count - 1)] = entry;
            entry = next;
        }
    }
    free(table->rows);
    table->rows = rows;
    table->row_count = row_count;
}

static uint64_t table_remove(struct table *table, struct entry **at)
{
    struct entry *entry = *at;
    uint64_t value = entry->value;
    *at = entry->next;
    table->used--;
    free(entry->key);
    free(entry);
    return value;
}

static void table_add(struct table *table, const char *key, uint64_t hash, uint64_t value)
{
    if (table->used == table->row_count)
        table_resize(table, 2 * table->row_count);
    struct entry *entry = block_new(sizeof *entry);
    struct entry **row = &table->rows[hash & (table->row_count - 1)];
    *entry = (struct entry){.next = *row, .key = string_copy(key), .hash = hash, .value = value};
    *row = entry;
    table->used++;
}

/* Keys of 10 to 40 letters out of 60,000; a found key is removed one time in two. */
uint64_t shapes_table(const struct job *job)
{
    struct table table = {0};
    uint64_t rng = rng_seed(job, 0);
    uint64_t ops = job_ops(job, 1200000);
    uint64_t sum = 0;
    table_resize(&table, 64);
    for (uint64_t i = 0; i < ops; i++) {
        char key[64];
        uint64_t number = rng_below(&rng, 60000);
        uint64_t word_rng = number * 2654435761u + 1;
        word_write(key, 10 + number % 31, &word_rng);
        uint64_t hash = key_hash(key);
        struct entry **at = table_find(&table, key, hash);
        if (*at == NULL)
            table_add(&table, key, hash, i);
        else if ((rng_next(&rng) >> 63) != 0)
            sum = sum * 31 + table_remove(&table, at);
        else
            sum += (*at)->value;
    }
    for (size_t i = 0; i < table.row_count; i++)
        while (table.rows[i] != NULL)
            sum += table_remove(&table, &table.rows[i]);
    free(table.rows);
    return sum;
}

enum kind { kind_number, kind_variable, kind_sum, kind_product };

/* A leaf has no room for children, as in a compiler; sums and products are pairs. */
struct node {
    enum kind kind;
    uint32_t value;
};

struct pair {
    struct node node; /* first, so that a pair is a node */
    struct node *child[2];
};

static struct node *leaf_new(enum kind kind, uint32_t value)
{
    struct node *node = block_new(sizeof *node);
    node->kind = kind;
    node->value = value;
    return node;
}

static struct node *pair_new(enum kind kind, struct node *left, struct node *right)
{
    struct pair *pair = block_new(sizeof *pair);
    *pair = (struct pair){.node = {.kind = kind}, .child = {left, right}};
    return &pair->node;
}

/* The node as a pair, NULL for a leaf. */
static struct pair *node_pair(const struct node *node)
{
    return node->kind == kind_sum || node->kind == kind_product ? (struct pair *)node : NULL;
}

static struct node *node_random(uint64_t *rng, int depth)
{
    uint64_t dice = rng_next(rng);
    if (depth == 0 || (dice & 15) == 0)
        return leaf_new((dice >> 60) & 1 ? kind_number : kind_variable, (dice >> 40) & 3);
    struct node *left = node_random(rng, depth - 1);
    return pair_new((dice >> 61) & 1 ? kind_sum : kind_product, left, node_random(rng, depth - 1));
}

static struct node *node_copy(const struct node *node)
{
    const struct pair *pair = node_pair(node);
    if (pair == NULL)
        return leaf_new(node->kind, node->value);
    struct node *left = node_copy(pair->child[0]);
    return pair_new(node->kind, left, node_copy(pair->child[1]));
}

static void node_free(struct node *node)
{
    struct pair *pair = node_pair(node);
    if (pair != NULL) {
        node_free(pair->child[0]);
        node_free(pair->child[1]);
    }
    free(node);
}

/* d/dx: a new tree, which shares nothing with the old one. */
static struct node *node_derive(const struct node *node)
{
    const struct pair *pair = node_pair(node);
    if (pair == NULL)
        return leaf_new(kind_number, node->kind == kind_variable);
    struct node *left = node_derive(pair->child[0]);
    struct node *right = node_derive(pair->child[1]);
    if (node->kind == kind_sum)
        return pair_new(kind_sum, left, right);
    left = pair_new(kind_product, left, node_copy(pair->child[1]));
    right = pair_new(kind_product, node_copy(pair->child[0]), right);
    return pair_new(kind_sum, left, right);
}

static int node_is_number(const struct node *node, uint32_t value)
{
    return node->kind == kind_number && node->value == value;
}

/* x+0, x*1 and x*0 disappear; what they held is freed in the middle of the tree. */
static struct node *node_simplify(struct node *node)
{
    struct pair *pair = node_pair(node);
    if (pair == NULL)
        return node;
    pair->child[0] = node_simplify(pair->child[0]);
    pair->child[1] = node_simplify(pair->child[1]);
    for (int i = 0; i < 2; i++) {
        struct node *one = pair->child[i], *other = pair->child[1 - i];
        if (node->kind == kind_product && node_is_number(one, 0)) {
            node_free(other);
            free(pair);
            return one;
        }
        if (node_is_number(one, node->kind == kind_product)) {
            free(one);
            free(pair);
            return other;
        }
    }
    return node;
}

static uint64_t node_value(const struct node *node, uint64_t x)
{
    const struct pair *pair = node_pair(node);
    if (pair == NULL)
        return node->kind == kind_variable ? x : node->value;
    uint64_t left = node_value(pair->child[0], x);
    uint64_t right = node_value(pair->child[1], x);
    return node->kind == kind_sum ? left + right : left * right;
}

uint64_t shapes_expressions(const struct job *job)
{
    enum { kept_count = 16 };
    struct node *kept[kept_count] = {0};
    uint64_t rng = rng_seed(job, 0);
    uint64_t ops = job_ops(job, 2500);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ops; i++) {
        struct node *tree = node_simplify(node_random(&rng, 9));
        struct node *slope = node_simplify(node_derive(tree));
        for (uint64_t x = 1; x < 4; x++)
            sum = sum * 31 + node_value(slope, x + i);
        node_free(tree);
        if (kept[i % kept_count] != NULL)
            node_free(kept[i % kept_count]);
        kept[i % kept_count] = slope;
    }
    for (int i = 0; i < kept_count; i++)
        if (kept[i] != NULL)
            node_free(kept[i]);
    return sum;
}

/* A natural number, lowest limb first; every operation returns a new one, exactly sized. */
struct number {
    uint32_t limb_count;
    uint32_t limbs[];
};

static struct number *number_new(uint32_t limb_count)
{
    struct number *number = block_new(sizeof *number + limb_count * sizeof number->limbs[0]);
    number->limb_count = limb_count;
    return number;
}

/* left * factor + right */
static struct number *number_step(const struct number *left, uint32_t factor,
                                  const struct number *right)
{
    uint32_t count = left->limb_count > right->limb_count ? left->limb_count : right->limb_count;
    struct number *result = number_new(count + 1);
    uint64_t carry = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t a = i < left->limb_count ? left->limbs[i] : 0;
        uint64_t b = i < right->limb_count ? right->limbs[i] : 0;
        carry += a * factor + b;
        result->limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    result->limbs[count] = (uint32_t)carry;
    if (carry != 0)
        return result;
    struct number *trimmed = number_new(count);
    memcpy(trimmed->limbs, result->limbs, count * sizeof trimmed->limbs[0]);
    free(result);
    return trimmed;
}

static uint32_t number_remainder(const struct number *number, uint32_t divisor)
{
    uint64_t rest = 0;
    for (uint32_t i = number->limb_count; i-- > 0;)
        rest = ((rest << 32) | number->limbs[i]) % divisor;
    return (uint32_t)rest;
}

/* Numerators and denominators of a continued fraction, up to 40 limbs, tested for small factors. */
uint64_t shapes_bignum(const struct job *job)
{
    enum { limbs_max = 40 };
    uint64_t rng = rng_seed(job, 0);
    uint64_t left = job_ops(job, 4000000);
    uint64_t sum = 0;
    while (left > 0) {
        struct number *pair[2][2]; /* numerator, denominator; the one before, the last */
        for (int i = 0; i < 4; i++) {
            pair[i / 2][i % 2] = number_new(1);
            pair[i / 2][i % 2]->limbs[0] = 1 + (uint32_t)i;
        }
        while (left > 0 && pair[0][1]->limb_count < limbs_max) {
            uint32_t factor = 1 + (uint32_t)rng_below(&rng, 1u << 20);
            for (int i = 0; i < 2; i++) {
                struct number *next = number_step(pair[i][1], factor, pair[i][0]);
                free(pair[i][0]);
                pair[i][0] = pair[i][1];
                pair[i][1] = next;
            }
            if ((left & 15) == 0)
                sum = sum * 31 + number_remainder(pair[0][1], 10007);
            left--;
        }
        for (int i = 0; i < 4; i++)
            free(pair[i / 2][i % 2]);
    }
    return sum;
}
