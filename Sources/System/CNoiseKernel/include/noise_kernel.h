#ifndef NOISE_KERNEL_H
#define NOISE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/// Eight SFC64 generators side by side, one in each lane.
typedef struct {
    uint64_t a[8];
    uint64_t b[8];
    uint64_t c[8];
    uint64_t counter[8];
} noise_state;

/// Overwrites `count` bytes at `bytes` with noise: 64 bytes, 8 of each generator in turn, at every step. The
/// bytes of the last step that are left over are lost. `bytes` may have any alignment; 64 is the fastest.
///
/// In C for one reason: Swift cannot compile one function for several instruction sets and choose at run time,
/// and the widest vectors of the machine are what makes noise cost what memory costs.
void noise_fill(noise_state *_Nonnull state, void *_Nonnull bytes, size_t count);

#endif
