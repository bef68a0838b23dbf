#include "bare_encoder.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vpx/vp8cx.h>
#include <vpx/vpx_encoder.h>

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void put(unsigned char *to, uint64_t value, int bytes) {
    for (int index = 0; index < bytes; index++) to[index] = (unsigned char)(value >> (8 * index));
}

static vpx_codec_err_t open_encoder(vpx_codec_ctx_t *codec, const bare_settings *settings) {
    vpx_codec_enc_cfg_t config;
    vpx_codec_err_t error = vpx_codec_enc_config_default(vpx_codec_vp8_cx(), &config, 0);
    if (error) return error;
    config.g_w = (unsigned)settings->width;
    config.g_h = (unsigned)settings->height;
    config.g_threads = 1;
    config.g_timebase.num = 1;
    config.g_timebase.den = settings->ticks_per_second;
    config.g_lag_in_frames = 0;
    config.g_error_resilient = 0;
    config.g_pass = VPX_RC_ONE_PASS;
    config.rc_end_usage = VPX_CBR;
    config.rc_target_bitrate = (unsigned)settings->bitrate;
    config.rc_undershoot_pct = 100;
    config.rc_overshoot_pct = 15;
    config.rc_buf_initial_sz = 500;
    config.rc_buf_optimal_sz = 600;
    config.rc_buf_sz = 1000;
    config.rc_min_quantizer = 2;
    config.rc_max_quantizer = 56;
    config.rc_dropframe_thresh = 0;
    config.rc_resize_allowed = 0;
    config.kf_mode = VPX_KF_DISABLED;
    error = vpx_codec_enc_init(codec, vpx_codec_vp8_cx(), &config, 0);
    if (error) return error;
    unsigned intra = 300;
    if (settings->frames_per_second * 30 > 300) intra = (unsigned)settings->frames_per_second * 30;
    vpx_codec_control(codec, VP8E_SET_CPUUSED, settings->speed);
    vpx_codec_control(codec, VP8E_SET_STATIC_THRESHOLD, 1);
    vpx_codec_control(codec, VP8E_SET_TOKEN_PARTITIONS, VP8_ONE_TOKENPARTITION);
    vpx_codec_control(codec, VP8E_SET_NOISE_SENSITIVITY, 0);
    vpx_codec_control(codec, VP8E_SET_MAX_INTRA_BITRATE_PCT, intra);
    return VPX_CODEC_OK;
}

static void wrap(vpx_image_t *image, const bare_settings *settings, const unsigned char *frame) {
    int width = settings->width, height = settings->height;
    int chroma_width = (width + 1) / 2, chroma_height = (height + 1) / 2;
    unsigned char *luma = (unsigned char *)frame;
    memset(image, 0, sizeof *image);
    image->fmt = settings->is_nv12 ? VPX_IMG_FMT_NV12 : VPX_IMG_FMT_I420;
    image->w = image->d_w = (unsigned)width;
    image->h = image->d_h = (unsigned)height;
    image->x_chroma_shift = image->y_chroma_shift = 1;
    image->bit_depth = 8;
    image->bps = 12;
    image->planes[VPX_PLANE_Y] = luma;
    image->planes[VPX_PLANE_U] = luma + (size_t)width * height;
    image->planes[VPX_PLANE_V] =
        image->planes[VPX_PLANE_U] + (settings->is_nv12 ? 1 : (size_t)chroma_width * chroma_height);
    image->stride[VPX_PLANE_Y] = width;
    image->stride[VPX_PLANE_U] = image->stride[VPX_PLANE_V] = settings->is_nv12 ? 2 * chroma_width : chroma_width;
}

static int write_file(const char *path, const unsigned char *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    if (!file) return -1;
    size_t written = fwrite(bytes, 1, count, file);
    return fclose(file) == 0 && written == count ? 0 : -1;
}

int bare_encode(
    const bare_settings *settings, const unsigned char *frames, size_t frame_count, const char *path,
    bare_result *result) {
    size_t chroma = (size_t)((settings->width + 1) / 2) * ((settings->height + 1) / 2);
    size_t frame_bytes = (size_t)settings->width * settings->height + 2 * chroma;
    // As large as the frames: no packet is larger than its picture. Pages that stay unused cost nothing.
    unsigned char *output = malloc(32 + frame_count * (frame_bytes + 12));
    if (!output) return VPX_CODEC_MEM_ERROR;
    size_t count = 32;
    memset(result, 0, sizeof *result);

    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    vpx_codec_ctx_t codec;
    vpx_codec_err_t error = open_encoder(&codec, settings);
    if (error) {
        free(output);
        return error;
    }
    for (size_t index = 0; index < frame_count && !error; index++) {
        vpx_image_t image;
        wrap(&image, settings, frames + index * frame_bytes);
        vpx_codec_pts_t start = (vpx_codec_pts_t)index * settings->ticks_per_second / settings->frames_per_second;
        vpx_codec_pts_t end = (vpx_codec_pts_t)(index + 1) * settings->ticks_per_second / settings->frames_per_second;
        error = vpx_codec_encode(&codec, &image, start, (unsigned long)(end - start), 0, VPX_DL_REALTIME);
        vpx_codec_iter_t iterator = NULL;
        const vpx_codec_cx_pkt_t *packet;
        while (!error && (packet = vpx_codec_get_cx_data(&codec, &iterator))) {
            if (packet->kind != VPX_CODEC_CX_FRAME_PKT) continue;
            put(output + count, packet->data.frame.sz, 4);
            put(output + count + 4, (uint64_t)packet->data.frame.pts, 8);
            memcpy(output + count + 12, packet->data.frame.buf, packet->data.frame.sz);
            count += 12 + packet->data.frame.sz;
            result->packets++;
        }
    }
    vpx_codec_destroy(&codec);
    result->cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    result->wall = seconds(CLOCK_MONOTONIC) - wall;

    int status = (int)error;
    if (!error && path) {
        memset(output, 0, 32);
        memcpy(output, "DKIF\0\0\40\0VP80", 12);
        put(output + 12, (uint64_t)settings->width, 2);
        put(output + 14, (uint64_t)settings->height, 2);
        put(output + 16, (uint64_t)settings->ticks_per_second, 4);
        put(output + 20, 1, 4);
        put(output + 24, (uint64_t)result->packets, 4);
        status = write_file(path, output, count);
    }
    free(output);
    return status;
}
