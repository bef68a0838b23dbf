#ifndef CSWRESAMPLE_SHIM_H
#define CSWRESAMPLE_SHIM_H

#include <errno.h>

#include <libavutil/channel_layout.h>
#include <libavutil/error.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>

// Macros of casts do not reach Swift.
static const int cswresample_out_of_memory = AVERROR(ENOMEM);

// A resampler of interleaved samples that can change its rate while it runs, or NULL with the error in `result`.
static inline struct SwrContext *cswresample_make(
    enum AVSampleFormat from, int from_channels, int from_rate, enum AVSampleFormat to, int to_channels, int to_rate,
    int *result) {
    AVChannelLayout from_layout, to_layout;
    av_channel_layout_default(&from_layout, from_channels);
    av_channel_layout_default(&to_layout, to_channels);
    struct SwrContext *context = NULL;
    *result = swr_alloc_set_opts2(&context, &to_layout, to, to_rate, &from_layout, from, from_rate, 0, NULL);
    av_channel_layout_uninit(&from_layout);
    av_channel_layout_uninit(&to_layout);
    if (*result < 0) return NULL;
    // Compensation needs the resampler even between equal rates.
    av_opt_set_int(context, "flags", SWR_FLAG_RESAMPLE, 0);
    *result = swr_init(context);
    if (*result < 0) swr_free(&context);
    return context;
}

// The type of the pointers to the input differs from version to version.
static inline int cswresample_convert(
    struct SwrContext *context, void *output, int output_frames, const void *input, int input_frames) {
    uint8_t *out = (uint8_t *)output;
    const uint8_t *in = (const uint8_t *)input;
    return swr_convert(context, &out, output_frames, input ? (const uint8_t **)&in : NULL, input_frames);
}

static inline void cswresample_free(struct SwrContext *context) { swr_free(&context); }

#endif
