#ifndef COPENH264_SHIM_H
#define COPENH264_SHIM_H

#include <wels/codec_api.h>

// The library's objects are tables of functions behind two pointers; called here, so that Swift need not copy a table for
// each call.

static inline int copenh264_get_defaults(ISVCEncoder *encoder, SEncParamExt *settings) {
    return (*encoder)->GetDefaultParams(encoder, settings);
}

static inline int copenh264_initialize(ISVCEncoder *encoder, const SEncParamExt *settings) {
    return (*encoder)->InitializeExt(encoder, settings);
}

static inline int copenh264_encode(ISVCEncoder *encoder, const SSourcePicture *picture, SFrameBSInfo *output) {
    return (*encoder)->EncodeFrame(encoder, picture, output);
}

static inline int copenh264_force_key_frame(ISVCEncoder *encoder) { return (*encoder)->ForceIntraFrame(encoder, true); }

static inline int copenh264_set(ISVCEncoder *encoder, ENCODER_OPTION option, void *value) {
    return (*encoder)->SetOption(encoder, option, value);
}

static inline const SLayerBSInfo *copenh264_layer(const SFrameBSInfo *output, int index) {
    return &output->sLayerInfo[index];
}

static inline void copenh264_destroy(ISVCEncoder *encoder) {
    (*encoder)->Uninitialize(encoder);
    WelsDestroySVCEncoder(encoder);
}

#endif
