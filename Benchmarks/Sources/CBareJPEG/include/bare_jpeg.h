#ifndef BARE_JPEG_H
#define BARE_JPEG_H

#include <stddef.h>
#include <stdint.h>

/// TurboJPEG and libyuv as programs commonly use them: what this project's JPEG is measured against.
typedef struct bare_jpeg bare_jpeg;

bare_jpeg *_Nonnull bare_jpeg_create(void);
void bare_jpeg_destroy(bare_jpeg *_Nonnull bare);

/// JPEG of 4:2:0 or 4:2:2 to NV12 by libyuv's MJPGToNV12; 0 for success.
int bare_jpeg_libyuv(
    const uint8_t *_Nonnull jpeg, size_t count, int width, int height, uint8_t *_Nonnull luma, uint8_t *_Nonnull chroma);
/// JPEG to planes in its own sampling by tjDecompressToYUVPlanes; 0 for success.
int bare_jpeg_decode(
    bare_jpeg *_Nonnull bare, const uint8_t *_Nonnull jpeg, size_t count, uint8_t *_Nonnull const *_Nonnull planes);
/// I420 to JPEG by tjCompressFromYUVPlanes; the number of bytes, 0 for failure.
size_t bare_jpeg_encode(
    bare_jpeg *_Nonnull bare, const uint8_t *_Nonnull const *_Nonnull planes, int width, int height, int quality);

#endif
