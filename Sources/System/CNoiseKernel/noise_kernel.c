#include "noise_kernel.h"

#include <string.h>

typedef uint64_t lanes __attribute__((vector_size(64)));
typedef uint64_t unaligned_lanes __attribute__((vector_size(64), aligned(1)));

// One step of SFC64 (Chris Doty-Humphrey, PractRand): the next 64 bits of each lane.
#define STEP(a, b, c, counter)                                                                                         \
    ({                                                                                                                 \
        lanes result = (a) + (b) + (counter);                                                                          \
        (counter) += 1;                                                                                                \
        (a) = (b) ^ ((b) >> 11);                                                                                       \
        (b) = (c) + ((c) << 3);                                                                                        \
        (c) = (((c) << 24) | ((c) >> 40)) + result;                                                                    \
        result;                                                                                                        \
    })

// The same source for every instruction set; only the attribute of the function it is inlined into differs.
static inline __attribute__((always_inline)) void fill(noise_state *state, unsigned char *bytes, size_t count) {
    lanes a, b, c, counter;
    memcpy(&a, state->a, sizeof a);
    memcpy(&b, state->b, sizeof b);
    memcpy(&c, state->c, sizeof c);
    memcpy(&counter, state->counter, sizeof counter);
    unsigned char *end = bytes + count / sizeof(lanes) * sizeof(lanes);
#pragma clang loop unroll(disable)
    for (; bytes != end; bytes += sizeof(lanes)) {
        *(unaligned_lanes *)bytes = STEP(a, b, c, counter);
    }
    if (count % sizeof(lanes) != 0) {
        lanes last = STEP(a, b, c, counter);
        memcpy(bytes, &last, count % sizeof(lanes));
    }
    memcpy(state->a, &a, sizeof a);
    memcpy(state->b, &b, sizeof b);
    memcpy(state->c, &c, sizeof c);
    memcpy(state->counter, &counter, sizeof counter);
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static void fill_avx512(noise_state *state, unsigned char *bytes, size_t count) {
    fill(state, bytes, count);
}

__attribute__((target("avx2"))) static void fill_avx2(noise_state *state, unsigned char *bytes, size_t count) {
    fill(state, bytes, count);
}
#endif

void noise_fill(noise_state *state, void *bytes, size_t count) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return fill_avx512(state, bytes, count);
    if (__builtin_cpu_supports("avx2")) return fill_avx2(state, bytes, count);
#endif
    fill(state, bytes, count);
}
