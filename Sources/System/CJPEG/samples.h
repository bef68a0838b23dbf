#ifndef CJPEG_SAMPLES_H
#define CJPEG_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

/// `size` rounded up to a multiple of 64.
static inline size_t cjpeg_align(size_t size) { return (size + 63) & ~(size_t)63; }

/// Makes `width` samples of half of the luma's width, between two rows.
///
/// - ratio: 1 where the rows are as wide as luma, which are averaged by two, and have `2 * width` samples; 2 where they
///   are half as wide; 4 where they are a quarter as wide, whose samples are repeated.
void cjpeg_chroma_row(
    const uint8_t *restrict first, const uint8_t *restrict second, int ratio, uint8_t *restrict out, size_t width);

// Of these two, `in` and `out` may be the same.

/// ITU-R BT.601's 16…235 to 0…255.
void cjpeg_stretch_luma(const uint8_t *in, uint8_t *out, size_t width);
/// ITU-R BT.601's 16…240 to 0.5…255.5 about 128, cut to a byte.
void cjpeg_stretch_chroma(const uint8_t *in, uint8_t *out, size_t width);

#endif
