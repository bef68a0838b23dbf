#include "bare_h264.h"

#include <stdlib.h>
#include <string.h>

#include <libyuv/planar_functions.h>
#include <wels/codec_api.h>

struct bare_h264 {
    ISVCEncoder *encoder;
    SFrameBSInfo info;
    int width, height;
    uint8_t *chroma;
    uint8_t *output;
};

bare_h264 *bare_h264_create(int width, int height, int frames_per_second, int bitrate) {
    struct bare_h264 *bare = calloc(1, sizeof *bare);
    if (!bare || WelsCreateSVCEncoder(&bare->encoder)) abort();
    bare->width = width;
    bare->height = height;
    bare->chroma = malloc((size_t)width * height / 2);
    bare->output = malloc((size_t)width * height * 3);
    int quiet = 0, format = videoFormatI420;
    (*bare->encoder)->SetOption(bare->encoder, ENCODER_OPTION_TRACE_LEVEL, &quiet);
    SEncParamExt p;
    (*bare->encoder)->GetDefaultParams(bare->encoder, &p);
    p.iUsageType = CAMERA_VIDEO_REAL_TIME;
    p.iPicWidth = p.sSpatialLayers[0].iVideoWidth = width;
    p.iPicHeight = p.sSpatialLayers[0].iVideoHeight = height;
    p.fMaxFrameRate = p.sSpatialLayers[0].fFrameRate = (float)frames_per_second;
    p.iTargetBitrate = p.sSpatialLayers[0].iSpatialBitrate = bitrate;
    p.iMaxBitrate = p.sSpatialLayers[0].iMaxSpatialBitrate = UNSPECIFIED_BIT_RATE;
    p.iRCMode = RC_BITRATE_MODE;
    p.iComplexityMode = LOW_COMPLEXITY;
    p.uiIntraPeriod = 0;
    p.bEnableSceneChangeDetect = false;
    p.eSpsPpsIdStrategy = CONSTANT_ID;
    p.bEnableFrameSkip = false;
    p.iMinQp = 10;
    p.iMaxQp = 51;
    p.iMultipleThreadIdc = 1;
    p.sSpatialLayers[0].uiProfileIdc = PRO_BASELINE;
    if ((*bare->encoder)->InitializeExt(bare->encoder, &p)) abort();
    (*bare->encoder)->SetOption(bare->encoder, ENCODER_OPTION_DATAFORMAT, &format);
    return bare;
}

void bare_h264_destroy(bare_h264 *bare) {
    (*bare->encoder)->Uninitialize(bare->encoder);
    WelsDestroySVCEncoder(bare->encoder);
    free(bare->chroma);
    free(bare->output);
    free(bare);
}

size_t bare_h264_encode(
    bare_h264 *bare, const uint8_t *luma, int luma_stride, const uint8_t *first, const uint8_t *second,
    int chroma_stride, long long milliseconds) {
    SSourcePicture picture = {0};
    picture.iColorFormat = videoFormatI420;
    picture.iPicWidth = bare->width;
    picture.iPicHeight = bare->height;
    picture.uiTimeStamp = milliseconds;
    picture.pData[0] = (uint8_t *)luma;
    picture.iStride[0] = luma_stride;
    picture.pData[1] = (uint8_t *)first;
    picture.pData[2] = (uint8_t *)second;
    picture.iStride[1] = picture.iStride[2] = chroma_stride;
    if (!second) {
        int width = bare->width / 2, height = bare->height / 2;
        picture.pData[1] = bare->chroma;
        picture.pData[2] = bare->chroma + (size_t)width * height;
        picture.iStride[1] = picture.iStride[2] = width;
        SplitUVPlane(first, chroma_stride, picture.pData[1], width, picture.pData[2], width, width, height);
    }
    if ((*bare->encoder)->EncodeFrame(bare->encoder, &picture, &bare->info)) return 0;
    size_t count = 0;
    for (int index = 0; index < bare->info.iLayerNum; index++) {
        const SLayerBSInfo *layer = &bare->info.sLayerInfo[index];
        size_t bytes = 0;
        for (int unit = 0; unit < layer->iNalCount; unit++) bytes += (size_t)layer->pNalLengthInByte[unit];
        memcpy(bare->output + count, layer->pBsBuf, bytes);
        count += bytes;
    }
    return count;
}
