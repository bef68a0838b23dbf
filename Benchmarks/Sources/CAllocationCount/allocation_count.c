#define _GNU_SOURCE
#include "allocation_count.h"

#include <errno.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// glibc's own functions beneath the public names. A program that defines malloc replaces it for all of its
// libraries, so nothing escapes the count.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

enum { STACKS = 16, DEPTH = 24 };

static atomic_bool is_counting;
static atomic_llong allocations, frees, bytes;
static atomic_int stacks;
static void *stack[STACKS][DEPTH];
static int depth[STACKS];
static _Thread_local int is_in_backtrace;

static __attribute__((noinline)) void count(size_t size) {
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes, (long long)size, memory_order_relaxed);
    if (is_in_backtrace || atomic_load_explicit(&stacks, memory_order_relaxed) >= STACKS) return;
    int index = atomic_fetch_add_explicit(&stacks, 1, memory_order_relaxed);
    if (index >= STACKS) return;
    is_in_backtrace = 1;
    depth[index] = backtrace(stack[index], DEPTH);
    is_in_backtrace = 0;
}

static inline void note(size_t size) {
    if (__builtin_expect(atomic_load_explicit(&is_counting, memory_order_relaxed), 0)) count(size);
}

void *malloc(size_t size) {
    note(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    note(number * size);
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    note(size);
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    note(size);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    note(size);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    note(size);
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
    void *result = __libc_memalign(alignment, size);
    if (result == NULL) return ENOMEM;
    *memory = result;
    return 0;
}

void free(void *memory) {
    if (memory != NULL && __builtin_expect(atomic_load_explicit(&is_counting, memory_order_relaxed), 0))
        atomic_fetch_add_explicit(&frees, 1, memory_order_relaxed);
    __libc_free(memory);
}

void allocation_count_begin(void) {
    // The first backtrace loads a library, which allocates.
    void *unused[2];
    backtrace(unused, 2);
    atomic_store(&allocations, 0);
    atomic_store(&frees, 0);
    atomic_store(&bytes, 0);
    atomic_store(&stacks, 0);
    atomic_store(&is_counting, 1);
}

allocation_counts allocation_count_end(void) {
    atomic_store(&is_counting, 0);
    return (allocation_counts){atomic_load(&allocations), atomic_load(&frees), atomic_load(&bytes)};
}

void allocation_count_print_stacks(int descriptor) {
    int number = atomic_load(&stacks);
    for (int index = 0; index < number && index < STACKS; index++) {
        dprintf(descriptor, "allocation %d\n", index + 1);
        backtrace_symbols_fd(stack[index], depth[index], descriptor);
    }
}
