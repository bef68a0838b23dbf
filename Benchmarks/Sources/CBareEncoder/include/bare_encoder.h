#ifndef BARE_ENCODER_H
#define BARE_ENCODER_H

#include <stddef.h>

/// One clip and how to encode it; the rest is libwebrtc's choice for a camera, as the VP8 encoder of this project
/// makes it.
typedef struct {
    int width;
    int height;
    /// NV12, or else I420; rows without padding.
    int is_nv12;
    int frames_per_second;
    /// The ticks per second of the timestamps.
    int ticks_per_second;
    /// In thousands of bits per second.
    int bitrate;
    /// libvpx's cpu-used; negative.
    int speed;
} bare_settings;

/// What a run has cost.
typedef struct {
    /// CPU of the whole process, in seconds.
    double cpu;
    /// In seconds.
    double wall;
    /// Packets that came out.
    int packets;
} bare_result;

/// Encodes the frames that lie one after the other at `frames`, and afterwards, outside of the measured time,
/// writes an IVF file to `path` unless that is null. Gives 0, libvpx's error code, or -1 when the file could not be
/// written.
int bare_encode(
    const bare_settings *_Nonnull settings, const unsigned char *_Nonnull frames, size_t frame_count,
    const char *_Nullable path, bare_result *_Nonnull result);

#endif
