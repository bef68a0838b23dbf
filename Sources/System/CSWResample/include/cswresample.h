#ifndef CSWRESAMPLE_H
#define CSWRESAMPLE_H

#include <errno.h>
#include <stdint.h>

/// Resampling of interleaved samples, by libswresample.
///
/// In C for one reason: the library's headers declare types of libavutil, as those of CLibAV do. Where a module of Swift
/// reads both, such a type belongs to either, and to which one depends on the files that are compiled together.

struct SwrContext;

/// The result of a function that had no memory: AVERROR(ENOMEM).
static const int cswresample_out_of_memory = -ENOMEM;

/// A resampler that can change its rate while it runs, or NULL with the library's error in `result`. Samples are 16-bit
/// integers, or 32-bit floating point where `from_float` or `to_float` is not 0.
struct SwrContext *cswresample_make(
    int from_float, int from_channels, int from_rate, int to_float, int to_channels, int to_rate, int *result);
void cswresample_free(struct SwrContext *context);

/// The frames that were written, or the library's error. Without input it gives what is left.
int cswresample_convert(
    struct SwrContext *context, void *output, int output_frames, const void *input, int input_frames);

/// Forgets the sound before; the library's error, or 0.
int cswresample_reset(struct SwrContext *context);

/// How long the sound is that was taken and not given yet, in units of 1/`base` s.
int64_t cswresample_delay(struct SwrContext *context, int64_t base);

/// At most how many frames come of an input, or the library's error.
int cswresample_output_frames(struct SwrContext *context, int input_frames);

/// Gives so many more frames over the next `distance` frames of output.
void cswresample_compensate(struct SwrContext *context, int frames, int distance);

#endif
