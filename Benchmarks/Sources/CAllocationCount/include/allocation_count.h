#ifndef ALLOCATION_COUNT_H
#define ALLOCATION_COUNT_H

#include <stdint.h>

/// What the whole process, its libraries included, did with the heap while it was counted.
typedef struct {
    /// Calls that gave memory: malloc, calloc, realloc, posix_memalign, aligned_alloc, memalign.
    int64_t allocations;
    /// Calls of free with memory to give back.
    int64_t frees;
    /// The bytes that were asked for.
    int64_t bytes;
} allocation_counts;

/// Begins to count at zero. Any thread.
void allocation_count_begin(void);

/// Ends the count. What other threads are just doing may still be in it or not.
allocation_counts allocation_count_end(void);

/// Writes to the descriptor from where the first allocations of the last count came, one stack after the other;
/// `addr2line -e capturer-bench` makes names of what has none.
void allocation_count_print_stacks(int descriptor);

#endif
