/* SPDX-License-Identifier: MIT */
/*
 * See base/cfi_expression.h and base/cfi.h. Three parts: DWARF's stack machine, which computes
 * addresses for the few frames that plain offsets can't describe (signal frames, the procedure
 * linkage table); the step from a row to the caller's registers; and packing a row into a rule.
 * Programs come from tables that may be damaged, so the stack, the operations and every read of
 * memory are bounded.
 */
#include "base/cfi_expression.h"

#include "base/cfi.h"

/* Expressions that compilers write take a few operations and two or three values; the bounds keep
 * damaged ones from running on. */
enum { DEPTH = 16, STEPS_MAX = 256 };

enum {
    OP_ADDRESS = 0x03,
    OP_DEREF = 0x06,
    OP_CONST_1U = 0x08,
    OP_CONST_8S = 0x0f,
    OP_CONST_U = 0x10,
    OP_CONST_S = 0x11,
    OP_DUP = 0x12,
    OP_DROP = 0x13,
    OP_OVER = 0x14,
    OP_PICK = 0x15,
    OP_SWAP = 0x16,
    OP_ROT = 0x17,
    OP_ABS = 0x19,
    OP_AND = 0x1a,
    OP_MINUS = 0x1c,
    OP_MUL = 0x1e,
    OP_NEG = 0x1f,
    OP_NOT = 0x20,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_U = 0x23,
    OP_SHL = 0x24,
    OP_SHR = 0x25,
    OP_SHRA = 0x26,
    OP_XOR = 0x27,
    OP_BRANCH = 0x28,
    OP_EQ = 0x29,
    OP_GE = 0x2a,
    OP_GT = 0x2b,
    OP_LE = 0x2c,
    OP_LT = 0x2d,
    OP_NE = 0x2e,
    OP_SKIP = 0x2f,
    OP_LITERAL = 0x30,
    OP_REGISTER = 0x50, /* not used */
    OP_BASE = 0x70,
    OP_BASE_LAST = 0x8f,
    OP_BASE_X = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96,
};

struct stack {
    uint64_t words[DEPTH];
    unsigned count;
    bool bad;
};

static void push(struct stack *stack, uint64_t value);
static uint64_t peek(struct stack *stack, uint64_t down);
static uint64_t pop(struct stack *stack);
static uint64_t constant_read(struct bytes *bytes, unsigned op);
static void memory_run(struct stack *stack, struct cfi_memory *memory, size_t size);
static void base_run(struct stack *stack, struct bytes *bytes,
                     const struct cfi_registers *registers, uint64_t number);
static void stack_run(struct stack *stack, struct bytes *bytes, unsigned op);

bool expression_run(const uint8_t *code, struct cfi_memory *memory,
                    const struct cfi_registers *registers, bool pushed, uintptr_t *value)
{
    struct bytes bytes = {code, code + 10, false};
    uint64_t length = bytes_uleb(&bytes);
    const uint8_t *start = bytes.at;
    bytes.end = start + length;
    struct stack stack = {.count = 0};
    if (pushed)
        push(&stack, *value);
    for (unsigned steps = 0; bytes.at < bytes.end && !bytes.bad && !stack.bad; steps++) {
        unsigned op = (unsigned)bytes_fixed(&bytes, 1);
        if (op >= OP_BASE && op <= OP_BASE_LAST) {
            base_run(&stack, &bytes, registers, op - OP_BASE);
        } else if (op == OP_BASE_X) {
            base_run(&stack, &bytes, registers, bytes_uleb(&bytes));
        } else if (op >= OP_LITERAL && op < OP_REGISTER) {
            push(&stack, op - OP_LITERAL);
        } else if (op >= OP_CONST_1U && op <= OP_CONST_8S) {
            push(&stack, constant_read(&bytes, op));
        } else if (op == OP_ADDRESS) {
            push(&stack, bytes_fixed(&bytes, 8));
        } else if (op == OP_CONST_U) {
            push(&stack, bytes_uleb(&bytes));
        } else if (op == OP_CONST_S) {
            push(&stack, (uint64_t)bytes_sleb(&bytes));
        } else if (op == OP_DEREF) {
            memory_run(&stack, memory, 8);
        } else if (op == OP_DEREF_SIZE) {
            memory_run(&stack, memory, bytes_fixed(&bytes, 1));
        } else if (op == OP_SKIP || op == OP_BRANCH) {
            int64_t jump = (int16_t)bytes_fixed(&bytes, 2);
            if (op == OP_BRANCH && pop(&stack) == 0)
                continue;
            if (jump < start - bytes.at || jump > bytes.end - bytes.at || steps > STEPS_MAX)
                return false;
            bytes.at += jump;
        } else if (op != OP_NOP) {
            stack_run(&stack, &bytes, op);
        }
    }
    *value = peek(&stack, 0);
    return !bytes.bad && !stack.bad;
}

static void push(struct stack *stack, uint64_t value)
{
    if (stack->count == DEPTH)
        stack->bad = true;
    else
        stack->words[stack->count++] = value;
}

/* The word `down` below the top. */
static uint64_t peek(struct stack *stack, uint64_t down)
{
    if (down < stack->count)
        return stack->words[stack->count - 1 - down];
    stack->bad = true;
    return 0;
}

static uint64_t pop(struct stack *stack)
{
    uint64_t value = peek(stack, 0);
    if (stack->count > 0)
        stack->count--;
    return value;
}

static void binary_run(struct stack *stack, unsigned op)
{
    uint64_t b = pop(stack), a = pop(stack), result = 0;
    switch (op) {
    case OP_AND:
        result = a & b;
        break;
    case OP_OR:
        result = a | b;
        break;
    case OP_XOR:
        result = a ^ b;
        break;
    case OP_PLUS:
        result = a + b;
        break;
    case OP_MINUS:
        result = a - b;
        break;
    case OP_MUL:
        result = a * b;
        break;
    case OP_SHL:
        result = b < 64 ? a << b : 0;
        break;
    case OP_SHR:
        result = b < 64 ? a >> b : 0;
        break;
    case OP_SHRA:
        b = b < 64 ? b : 63;
        result = a >> 63 ? ~(~a >> b) : a >> b;
        break;
    case OP_EQ:
        result = a == b;
        break;
    case OP_NE:
        result = a != b;
        break;
    case OP_GE:
        result = (int64_t)a >= (int64_t)b;
        break;
    case OP_GT:
        result = (int64_t)a > (int64_t)b;
        break;
    case OP_LE:
        result = (int64_t)a <= (int64_t)b;
        break;
    case OP_LT:
        result = (int64_t)a < (int64_t)b;
        break;
    default:
        stack->bad = true;
    }
    push(stack, result);
}

static uint64_t constant_read(struct bytes *bytes, unsigned op)
{
    size_t size = (size_t)1 << ((op - OP_CONST_1U) / 2);
    uint64_t value = bytes_fixed(bytes, size);
    if ((op - OP_CONST_1U) % 2 != 0 && size < 8 && value >> (8 * size - 1))
        value |= ~(uint64_t)0 << (8 * size);
    return value;
}

static void memory_run(struct stack *stack, struct cfi_memory *memory, size_t size)
{
    uint64_t at = pop(stack);
    uintptr_t word = 0;
    if (memory == NULL || size == 0 || size > 8 || !memory->read(memory, at, &word))
        stack->bad = true;
    push(stack, size < 8 ? word & (((uint64_t)1 << (8 * size)) - 1) : word);
}

static void base_run(struct stack *stack, struct bytes *bytes,
                     const struct cfi_registers *registers, uint64_t number)
{
    int64_t offset = bytes_sleb(bytes);
    if (number >= ARCH_REGISTERS || !(registers->known >> number & 1))
        stack->bad = true;
    else
        push(stack, registers->values[number] + (uint64_t)offset);
}

static void stack_run(struct stack *stack, struct bytes *bytes, unsigned op)
{
    uint64_t a, b, c;
    switch (op) {
    case OP_DUP:
        push(stack, peek(stack, 0));
        break;
    case OP_DROP:
        pop(stack);
        break;
    case OP_OVER:
        push(stack, peek(stack, 1));
        break;
    case OP_PICK:
        push(stack, peek(stack, bytes_fixed(bytes, 1)));
        break;
    case OP_SWAP:
        a = pop(stack), b = pop(stack);
        push(stack, a), push(stack, b);
        break;
    case OP_ROT:
        a = pop(stack), b = pop(stack), c = pop(stack);
        push(stack, a), push(stack, c), push(stack, b);
        break;
    case OP_ABS:
        a = pop(stack);
        push(stack, (int64_t)a < 0 ? -a : a);
        break;
    case OP_NEG:
        push(stack, -pop(stack));
        break;
    case OP_NOT:
        push(stack, ~pop(stack));
        break;
    case OP_PLUS_U:
        push(stack, pop(stack) + bytes_uleb(bytes));
        break;
    default:
        binary_run(stack, op);
    }
}

static bool place_read(const struct cfi_row *row, const struct cfi_place *place, uintptr_t cfa,
                       struct cfi_memory *memory, const struct cfi_registers *old, uintptr_t *value)
{
    uint32_t number = (uint32_t)place->number;
    *value = cfa;
    switch (place->where) {
    case CFI_SAVED:
        return memory->read(memory, cfa + (uintptr_t)(intptr_t)place->number, value);
    case CFI_OFFSET_OF:
        *value = cfa + (uintptr_t)(intptr_t)place->number;
        return true;
    case CFI_REGISTER:
        if (number >= ARCH_REGISTERS || !(old->known >> number & 1))
            return false;
        *value = old->values[number];
        return true;
    case CFI_SAVED_EXPRESSION:
        return expression_run(row->tables + place->number, memory, old, true, value) &&
               memory->read(memory, *value, value);
    case CFI_EXPRESSION:
        return expression_run(row->tables + place->number, memory, old, true, value);
    default:
        return false;
    }
}

bool cfi_step(const struct cfi_row *row, struct cfi_memory *memory, struct cfi_registers *registers)
{
    struct cfi_registers old = *registers;
    uintptr_t cfa = 0;
    if (row->cfa.where == CFI_EXPRESSION) {
        if (!expression_run(row->tables + row->cfa.number, memory, &old, false, &cfa))
            return false;
    } else {
        if (row->cfa.where != CFI_OFFSET_OF || !(old.known >> row->cfa.base & 1))
            return false;
        cfa = old.values[row->cfa.base] + (uintptr_t)(intptr_t)row->cfa.number;
    }
    registers->known = 0;
    for (unsigned i = 0; i < ARCH_REGISTERS; i++) {
        const struct cfi_place *place = &row->places[i];
        uint64_t kept = ARCH_KEPT | (uint64_t)!ARCH_PUSHES_RETURN << ARCH_RETURN;
        if (place->where == CFI_SAME) {
            registers->known |= old.known & kept & (uint64_t)1 << i;
        } else if (place_read(row, place, cfa, memory, &old, &registers->values[i])) {
            registers->known |= (uint64_t)1 << i;
        }
    }
    if (row->places[ARCH_SP].where == CFI_SAME) {
        registers->values[ARCH_SP] = cfa;
        registers->known |= (uint64_t)1 << ARCH_SP;
    }
    return (registers->known >> ARCH_SP & 1) && (registers->known >> ARCH_RETURN & 1);
}

/* Kinds without fields. */
enum {
    RULE_ROW = CFI_RULE(CFI_ROW, 0, 0),
    RULE_END = CFI_RULE(CFI_END, 0, 0),
};

static uint32_t rule_make(enum cfi_kind kind, int64_t offset, int64_t slot)
{
    bool fits = offset % 8 == 0 && slot % 8 == 0 && offset >= 0 && slot >= 8 &&
                offset >> (CFI_OFFSET_BITS + 3) == 0 && slot >> (CFI_SLOT_BITS + 3) == 0;
    if (!fits || ((kind == CFI_SP || kind == CFI_LONE) && offset < slot))
        return RULE_ROW;
    return CFI_RULE(kind, slot, offset);
}

/* An expression that adds a constant to the stack pointer at this one place, as in the procedure
 * linkage table. */
static bool is_constant(const uint8_t *code, uintptr_t pc, int64_t *offset)
{
    struct cfi_registers one = {.known = (uint64_t)1 << ARCH_SP | (uint64_t)1 << ARCH_RETURN};
    one.values[ARCH_RETURN] = pc;
    uintptr_t value[2];
    for (int i = 0; i < 2; i++) {
        one.values[ARCH_SP] = (uintptr_t)0x10000 << i;
        if (!ARCH_PUSHES_RETURN || !expression_run(code, NULL, &one, false, &value[i]))
            return false;
        value[i] -= one.values[ARCH_SP];
    }
    *offset = (int64_t)value[0];
    return value[0] == value[1];
}

/* Realigned frames: the CFA is in memory at fp - `*offset`, and fp was saved where it points. */
static bool is_realigned(const struct cfi_row *row, int64_t *offset)
{
    struct bytes cfa = {row->tables + row->cfa.number, NULL, false};
    cfa.end = cfa.at + 1 + *cfa.at;
    uint64_t length = bytes_fixed(&cfa, 1);
    if (length < 3 || length > 5 || bytes_fixed(&cfa, 1) != OP_BASE + ARCH_FP)
        return false;
    *offset = -bytes_sleb(&cfa);
    if (bytes_fixed(&cfa, 1) != OP_DEREF || cfa.at != cfa.end)
        return false;
    const struct cfi_place *fp = &row->places[ARCH_FP];
    static const uint8_t at_fp[] = {2, OP_BASE + ARCH_FP, 0};
    return fp->where == CFI_SAVED_EXPRESSION &&
           memcmp(row->tables + fp->number, at_fp, sizeof at_fp) == 0;
}

uint32_t cfi_rule(const struct cfi_row *row, uintptr_t pc)
{
    const struct cfi_place *fp = &row->places[ARCH_FP], *back = &row->places[ARCH_RETURN];
    int64_t offset = row->cfa.number;
    enum cfi_kind kind = CFI_ROW;
    if (back->where == CFI_UNDEFINED)
        return RULE_END;
    if (row->places[ARCH_SP].where != CFI_SAME || back->where != CFI_SAVED)
        return RULE_ROW;
    if (row->cfa.where == CFI_OFFSET_OF)
        kind = row->cfa.base == ARCH_SP ? CFI_SP : row->cfa.base == ARCH_FP ? CFI_FP : CFI_ROW;
    else if (is_constant(row->tables + row->cfa.number, pc, &offset))
        kind = CFI_SP;
    else if (ARCH_PUSHES_RETURN && back->number == -8 && is_realigned(row, &offset))
        return rule_make(CFI_MEMORY, offset, 8);
    if (kind == CFI_ROW || (fp->where != CFI_SAME && fp->where != CFI_SAVED))
        return RULE_ROW;
    if (ARCH_PUSHES_RETURN) {
        if (back->number != -8 || (fp->where == CFI_SAVED && fp->number > -16))
            return RULE_ROW;
        /* Saved below the stack pointer: it has been popped, and tables do not say so. */
        bool unchanged = fp->where == CFI_SAME || (kind == CFI_SP && -(int64_t)fp->number > offset);
        return rule_make(kind, offset, unchanged ? 8 : -(int64_t)fp->number);
    }
    if (fp->where == CFI_SAVED)
        return back->number == fp->number + 8 ? rule_make(kind, offset, -(int64_t)fp->number)
                                              : RULE_ROW;
    return kind == CFI_SP ? rule_make(CFI_LONE, offset, -(int64_t)back->number) : RULE_ROW;
}
