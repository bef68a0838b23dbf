#include "cswresample.h"

#include <libavutil/channel_layout.h>
#include <libavutil/error.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>

_Static_assert(AVERROR(ENOMEM) == -ENOMEM, "cswresample_out_of_memory");

struct SwrContext *cswresample_make(
    int from_float, int from_channels, int from_rate, int to_float, int to_channels, int to_rate, int *result) {
    AVChannelLayout from_layout, to_layout;
    av_channel_layout_default(&from_layout, from_channels);
    av_channel_layout_default(&to_layout, to_channels);
    struct SwrContext *context = NULL;
    *result = swr_alloc_set_opts2(
        &context, &to_layout, to_float ? AV_SAMPLE_FMT_FLT : AV_SAMPLE_FMT_S16, to_rate, &from_layout,
        from_float ? AV_SAMPLE_FMT_FLT : AV_SAMPLE_FMT_S16, from_rate, 0, NULL);
    av_channel_layout_uninit(&from_layout);
    av_channel_layout_uninit(&to_layout);
    if (*result < 0) return NULL;
    // Compensation needs the resampler even between equal rates.
    av_opt_set_int(context, "flags", SWR_FLAG_RESAMPLE, 0);
    *result = swr_init(context);
    if (*result < 0) swr_free(&context);
    return context;
}

void cswresample_free(struct SwrContext *context) { swr_free(&context); }

int cswresample_convert(
    struct SwrContext *context, void *output, int output_frames, const void *input, int input_frames) {
    // The type of the pointers to the input differs from version to version.
    uint8_t *out = (uint8_t *)output;
    const uint8_t *in = (const uint8_t *)input;
    return swr_convert(context, &out, output_frames, input ? (const uint8_t **)&in : NULL, input_frames);
}

int cswresample_reset(struct SwrContext *context) {
    swr_close(context);
    return swr_init(context);
}

int64_t cswresample_delay(struct SwrContext *context, int64_t base) { return swr_get_delay(context, base); }

int cswresample_output_frames(struct SwrContext *context, int input_frames) {
    return swr_get_out_samples(context, input_frames);
}

void cswresample_compensate(struct SwrContext *context, int frames, int distance) {
    // A failure leaves the rate as it is.
    (void)swr_set_compensation(context, frames, distance);
}
