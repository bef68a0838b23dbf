#ifndef BARE_H264_H
#define BARE_H264_H

#include <stddef.h>
#include <stdint.h>

/// openh264 and nothing else, with the settings of this project's encoder: what that is measured against.
typedef struct bare_h264 bare_h264;

bare_h264 *_Nonnull bare_h264_create(int width, int height, int frames_per_second, int bitrate);
void bare_h264_destroy(bare_h264 *_Nonnull bare);

/// One frame of planes without padding; without `second`, `first` has U and V interleaved. The number of bytes, which are
/// copied once, as everyone must who keeps a packet; 0 for failure.
size_t bare_h264_encode(
    bare_h264 *_Nonnull bare, const uint8_t *_Nonnull luma, int luma_stride, const uint8_t *_Nonnull first,
    const uint8_t *_Nullable second, int chroma_stride, long long milliseconds);

#endif
