#ifndef CLIBAV_SHIM_H
#define CLIBAV_SHIM_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/hwcontext.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>

// Macros of casts and tags do not reach Swift.
static const int clibav_again = AVERROR(EAGAIN);
static const int clibav_out_of_memory = AVERROR(ENOMEM);
static const int clibav_end = AVERROR_EOF;
static const int clibav_external = AVERROR_EXTERNAL;
static const int clibav_no_decoder = AVERROR_DECODER_NOT_FOUND;
static const int clibav_no_patches = AVERROR_PATCHWELCOME;
static const int clibav_interrupted = AVERROR_EXIT;
static const int clibav_no_protocol = AVERROR_PROTOCOL_NOT_FOUND;
static const int clibav_invalid_data = AVERROR_INVALIDDATA;
static const int clibav_http_unauthorized = AVERROR_HTTP_UNAUTHORIZED;
static const int clibav_http_forbidden = AVERROR_HTTP_FORBIDDEN;
static const int clibav_http_not_found = AVERROR_HTTP_NOT_FOUND;
static const int64_t clibav_no_time = AV_NOPTS_VALUE;

// Opens nothing, whatever a file names.
static inline int clibav_refuse_to_open(
    AVFormatContext *context, AVIOContext **opened, const char *url, int flags, AVDictionary **options) {
    return AVERROR(EACCES);
}

// What is known of the files that a container opens itself: HLS reports no error of theirs.
struct clibav_files {
    int (*open)(AVFormatContext *, AVIOContext **, const char *, int, AVDictionary **);
    // The first error.
    int error;
    // Whether segments replace files of their names.
    int overwrites;
    // The target duration of the playlist in seconds, which may not change (RFC 8216, 6.2.1); 0 before the first one.
    int target_duration;
    // The file that was opened last.
    char name[4096];
};

// Whether a segment, which is renamed from `live0.ts.tmp`, would replace a file that exists.
static inline int clibav_is_taken(const char *name) {
    char final[4096];
    size_t length = strlen(name);
    if (length > 7 && !strcmp(name + length - 7, ".ts.tmp")) {
        snprintf(final, sizeof final, "%.*s", (int)length - 4, name);
        return !access(final, F_OK) || !access(name, F_OK);
    }
    return length > 3 && !strcmp(name + length - 3, ".ts") && !access(name, F_OK);
}

static inline int clibav_open_file(
    AVFormatContext *context, AVIOContext **file, const char *name, int flags, AVDictionary **options) {
    struct clibav_files *files = context->opaque;
    snprintf(files->name, sizeof files->name, "%s", name);
    if (flags & AVIO_FLAG_WRITE && !files->overwrites && clibav_is_taken(name)) return AVERROR(EEXIST);
    return files->open(context, file, name, flags, options);
}

// The muxer states the longest segment so far. One second more leaves room for a frame that comes late; it is written over
// the digits of the muxer, unless it has more of them.
static inline void clibav_keep_target_duration(struct clibav_files *files) {
    static const char tag[] = "#EXT-X-TARGETDURATION:";
    FILE *playlist = fopen(files->name, "r+");
    if (!playlist) return;
    char head[512];
    size_t length = fread(head, 1, sizeof head - 1, playlist);
    head[length] = 0;
    char *digits = strstr(head, tag);
    if (digits) {
        digits += sizeof tag - 1;
        int stated = atoi(digits), width = (int)strspn(digits, "0123456789");
        if (!files->target_duration) files->target_duration = stated + 1;
        if (files->target_duration < stated) files->target_duration = stated;
        char text[16];
        if (snprintf(text, sizeof text, "%d", files->target_duration) == width
            && !fseek(playlist, (long)(digits - head), SEEK_SET))
            fwrite(text, 1, width, playlist);
    }
    fclose(playlist);
}

static inline int clibav_close_file(AVFormatContext *context, AVIOContext *file) {
    struct clibav_files *files = context->opaque;
    avio_flush(file);
    int error = file->error;
    int result = avio_close(file);
    if (error >= 0) error = result;
    const char *ending = strstr(files->name, ".m3u8.tmp");
    int is_playlist = ending && !ending[strlen(".m3u8.tmp")];
    if (error >= 0) {
        if (is_playlist) clibav_keep_target_duration(files);
        return 0;
    }
    if (files->error >= 0) files->error = error;
    // An incomplete playlist would replace the complete one.
    if (is_playlist) remove(files->name);
    return error;
}

// Watches the files that a container opens itself. `files` must outlive the context.
static inline void clibav_watch_files(AVFormatContext *context, struct clibav_files *files) {
    files->open = context->io_open;
    context->opaque = files;
    context->io_open = clibav_open_file;
    context->io_close2 = clibav_close_file;
}

// From here on the context reads nothing but what it was given.
static inline void clibav_contain(AVFormatContext *context) { context->io_open = clibav_refuse_to_open; }

// `options` are `name=value:…`, for the decoders that look at the streams.
static inline int clibav_find_stream_info(AVFormatContext *context, const char *options) {
    unsigned int count = context->nb_streams;
    AVDictionary **each = av_calloc(count + 1, sizeof(*each));
    if (!each) return AVERROR(ENOMEM);
    for (unsigned int i = 0; i < count; i++) av_dict_parse_string(&each[i], options, "=", ":", 0);
    int result = avformat_find_stream_info(context, each);
    for (unsigned int i = 0; i < count; i++) av_dict_free(&each[i]);
    av_free(each);
    return result;
}

// The number of the stream to show, or an error. Takes no decoder back, whose type differs from version to version.
static inline int clibav_best_video(AVFormatContext *context) {
    return av_find_best_stream(context, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
}

// The number of the stream of sound to play, or an error.
static inline int clibav_best_audio(AVFormatContext *context) {
    return av_find_best_stream(context, AVMEDIA_TYPE_AUDIO, -1, -1, NULL, 0);
}

// How many samples at the beginning of a packet are not to be heard, as the demuxer knows it.
static inline uint32_t clibav_skipped_samples(const AVPacket *packet) {
    size_t size = 0;
    const uint8_t *data = av_packet_get_side_data(packet, AV_PKT_DATA_SKIP_SAMPLES, &size);
    return data && size >= 10 ? AV_RL32(data) : 0;
}

static inline int clibav_channel_count(const AVFrame *frame) { return frame->ch_layout.nb_channels; }

static inline int clibav_channels_of(const AVCodecParameters *parameters) { return parameters->ch_layout.nb_channels; }

// The samples of a frame as interleaved floats; false for a type of samples that is not known.
static inline int clibav_interleave(const AVFrame *frame, float *out) {
    int channels = frame->ch_layout.nb_channels, planar = av_sample_fmt_is_planar(frame->format);
    enum AVSampleFormat type = av_get_packed_sample_fmt(frame->format);
    for (int channel = 0; channel < channels; channel++) {
        const uint8_t *samples = frame->extended_data[planar ? channel : 0];
        int step = planar ? 1 : channels, first = planar ? 0 : channel;
        for (int i = 0; i < frame->nb_samples; i++) {
            int at = first + i * step;
            float value;
            switch (type) {
            case AV_SAMPLE_FMT_U8: value = (samples[at] - 128) / 128.0f; break;
            case AV_SAMPLE_FMT_S16: value = ((const int16_t *)samples)[at] / 32768.0f; break;
            case AV_SAMPLE_FMT_S32: value = ((const int32_t *)samples)[at] / 2147483648.0f; break;
            case AV_SAMPLE_FMT_FLT: value = ((const float *)samples)[at]; break;
            case AV_SAMPLE_FMT_DBL: value = (float)((const double *)samples)[at]; break;
            default: return 0;
            }
            out[i * channels + channel] = value;
        }
    }
    return 1;
}

// Nine numbers, or NULL: what turns the pictures of a stream upright.
static inline const int32_t *clibav_stream_matrix(const AVStream *stream) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 100)
    const AVPacketSideData *data = av_packet_side_data_get(
        stream->codecpar->coded_side_data, stream->codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
    return data && data->size >= 36 ? (const int32_t *)data->data : NULL;
#else
    size_t size = 0;
    const uint8_t *data = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
    return data && size >= 36 ? (const int32_t *)data : NULL;
#endif
}

// The same of one picture.
static inline const int32_t *clibav_frame_matrix(const AVFrame *frame) {
    const AVFrameSideData *data = av_frame_get_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX);
    return data && data->size >= 36 ? (const int32_t *)data->data : NULL;
}

// How many packets of a stream's index do not lie within the first `size` bytes of the file, and how many there are.
static inline int clibav_packets_beyond(AVStream *stream, int64_t size, int *count) {
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(59, 3, 100)
    *count = avformat_index_get_entries_count(stream);
#else
    *count = stream->nb_index_entries;
#endif
    int beyond = 0;
    for (int i = 0; i < *count; i++) {
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(59, 3, 100)
        const AVIndexEntry *entry = avformat_index_get_entry(stream, i);
#else
        const AVIndexEntry *entry = &stream->index_entries[i];
#endif
        if (entry->pos > size - entry->size) beyond++;
    }
    return beyond;
}

static inline int clibav_is_encrypted(const AVPacket *packet) {
    size_t size = 0;
    return av_packet_get_side_data(packet, AV_PKT_DATA_ENCRYPTION_INFO, &size) != NULL;
}

// How long a picture is shown, in units of its stream; 0 when unknown.
static inline int64_t clibav_frame_duration(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
    return frame->duration;
#else
    return frame->pkt_duration;
#endif
}

static inline int clibav_is_interlaced(const AVFrame *frame) {
#ifdef AV_FRAME_FLAG_INTERLACED
    return (frame->flags & AV_FRAME_FLAG_INTERLACED) != 0;
#else
    return frame->interlaced_frame;
#endif
}

// Ends with AV_PIX_FMT_NONE; NULL where it depends on the device.
static inline const enum AVPixelFormat *clibav_pixel_formats(const AVCodec *codec) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)
    const void *formats = NULL;
    int count = 0;
    return avcodec_get_supported_config(NULL, codec, AV_CODEC_CONFIG_PIX_FORMAT, 0, &formats, &count) < 0 ? NULL : formats;
#else
    return codec->pix_fmts;
#endif
}

static inline int clibav_is_key(const AVFrame *frame) {
#ifdef AV_FRAME_FLAG_KEY
    return (frame->flags & AV_FRAME_FLAG_KEY) != 0;
#else
    return frame->key_frame;
#endif
}

// The type of scalers is hidden in some versions and open in others. `space` is a number of AVCOL_SPC.
static inline void *clibav_scaler_make(
    int width, int height, enum AVPixelFormat from, enum AVPixelFormat to, int space, int full_range) {
    struct SwsContext *scaler = sws_getContext(
        width, height, from, width, height, to,
        SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP | SWS_FULL_CHR_H_INT, NULL, NULL, NULL);
    if (scaler) {
        const int *coefficients = sws_getCoefficients(space);
        sws_setColorspaceDetails(scaler, coefficients, full_range, coefficients, full_range, 0, 1 << 16, 1 << 16);
    }
    return scaler;
}

static inline void clibav_scaler_free(void *scaler) { sws_freeContext((struct SwsContext *)scaler); }

static inline int clibav_scaler_run(
    void *scaler, const AVFrame *frame, void *plane0, int stride0, void *plane1, int stride1, void *plane2, int stride2) {
    uint8_t *planes[4] = {(uint8_t *)plane0, (uint8_t *)plane1, (uint8_t *)plane2, NULL};
    int strides[4] = {stride0, stride1, stride2, 0};
    return sws_scale(
        (struct SwsContext *)scaler, (const uint8_t *const *)frame->data, frame->linesize, 0, frame->height, planes,
        strides);
}

// The type of the function that writes differs from version to version. `seek` is NULL for a pipe.
static inline AVIOContext *clibav_make_writer(
    void *block, int size, void *opaque, int (*write)(void *, const uint8_t *, int),
    int64_t (*seek)(void *, int64_t, int)) {
    return avio_alloc_context((unsigned char *)block, size, 1, opaque, NULL, (void *)write, seek);
}

static inline void clibav_set_audio(AVCodecParameters *parameters, int sample_rate, int channels) {
    parameters->sample_rate = sample_rate;
    av_channel_layout_default(&parameters->ch_layout, channels);
}

// Says that the last `count` samples of a packet of sound are not to be heard; nothing for none.
static inline void clibav_discard_end(AVPacket *packet, int count) {
    uint8_t *data = count > 0 ? av_packet_new_side_data(packet, AV_PKT_DATA_SKIP_SAMPLES, 10) : NULL;
    if (!data) return;
    memset(data, 0, 10);
    AV_WL32(data + 4, count);
}

// `matrix` has nine numbers; see clibav_stream_matrix.
static inline int clibav_set_stream_matrix(AVStream *stream, const int32_t *matrix) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 100)
    AVPacketSideData *data = av_packet_side_data_new(
        &stream->codecpar->coded_side_data, &stream->codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX, 36, 0);
    uint8_t *bytes = data ? data->data : NULL;
#else
    uint8_t *bytes = av_stream_new_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, 36);
#endif
    if (!bytes) return AVERROR(ENOMEM);
    memcpy(bytes, matrix, 36);
    return 0;
}

// Memory of others as the library's: `release` is called with `opaque` when the last reference is gone.
static inline AVBufferRef *clibav_wrap(
    uint8_t *bytes, int64_t size, void *opaque, void (*release)(void *opaque, uint8_t *bytes)) {
    return av_buffer_create(bytes, size, release, opaque, AV_BUFFER_FLAG_READONLY);
}

// A pool of surfaces of a VA-API device; `device` is NULL for the first one.
static inline int clibav_make_surfaces(
    AVBufferRef **made, const char *device, enum AVPixelFormat format, int width, int height) {
    AVBufferRef *opened = NULL;
    int result = av_hwdevice_ctx_create(&opened, AV_HWDEVICE_TYPE_VAAPI, device, NULL, 0);
    if (result < 0) return result;
    AVBufferRef *frames = av_hwframe_ctx_alloc(opened);
    av_buffer_unref(&opened);
    if (!frames) return AVERROR(ENOMEM);
    AVHWFramesContext *context = (AVHWFramesContext *)frames->data;
    context->format = AV_PIX_FMT_VAAPI;
    context->sw_format = format;
    context->width = width;
    context->height = height;
    context->initial_pool_size = 20;
    result = av_hwframe_ctx_init(frames);
    if (result < 0)
        av_buffer_unref(&frames);
    else
        *made = frames;
    return result;
}

#endif
