#include "samples.h"

#include <string.h>

void cjpeg_chroma_row(
    const uint8_t *restrict first, const uint8_t *restrict second, int ratio, uint8_t *restrict out, size_t width
) {
    // Loads and stores of pairs, since compilers make vectors of these, and not of every other byte.
    switch (ratio) {
    case 1:
        for (size_t x = 0; x < width; x++) {
            uint16_t one, two;
            memcpy(&one, first + 2 * x, sizeof one);
            memcpy(&two, second + 2 * x, sizeof two);
            out[x] = (uint8_t)((uint16_t)((one & 255) + (one >> 8) + (two & 255) + (two >> 8) + 2) >> 2);
        }
        break;
    case 2:
        for (size_t x = 0; x < width; x++) out[x] = (uint8_t)((first[x] + second[x] + 1) >> 1);
        break;
    default:
        for (size_t x = 0; x < width / 2; x++) {
            uint16_t pair = (uint16_t)(((first[x] + second[x] + 1) >> 1) * 0x0101);
            memcpy(out + 2 * x, &pair, sizeof pair);
        }
        if (width % 2 == 1) out[width - 1] = (uint8_t)((first[width / 2] + second[width / 2] + 1) >> 1);
        break;
    }
}

// In 16 bits, so that a vector holds as many samples as it can. Where both are the same, each sample is still read before
// it is written.

void cjpeg_stretch_luma(const uint8_t *in, uint8_t *out, size_t width) {
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#endif
    for (size_t x = 0; x < width; x++) {
        uint16_t above = in[x] < 16 ? 0 : (uint16_t)(in[x] - 16);
        // 255 / 219 = 149 / 128, less 0.0003.
        uint16_t value = (uint16_t)((uint16_t)(above * 149 + 64) >> 7);
        out[x] = value > 255 ? 255 : (uint8_t)value;
    }
}

void cjpeg_stretch_chroma(const uint8_t *in, uint8_t *out, size_t width) {
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#endif
    for (size_t x = 0; x < width; x++) {
        // 255 / 224 = 1 + 71 / 512, less 0.0003; about 128, where the sum is 128 + 18.
        uint16_t value = (uint16_t)(in[x] + ((uint16_t)(in[x] * 71 + 384) >> 9));
        value = value < 18 ? 0 : (uint16_t)(value - 18);
        out[x] = value > 255 ? 255 : (uint8_t)value;
    }
}
