#ifndef CLIBVPX_SHIM_H
#define CLIBVPX_SHIM_H

#include <vpx/vp8cx.h>
#include <vpx/vp8dx.h>
#include <vpx/vpx_decoder.h>
#include <vpx/vpx_encoder.h>

// Macros of casts and sums do not reach Swift.
static const int clibvpx_encoder_abi_version = VPX_ENCODER_ABI_VERSION;
static const int clibvpx_decoder_abi_version = VPX_DECODER_ABI_VERSION;

// Variadic functions do not reach Swift. For the controls that take an int or an enum.
static inline vpx_codec_err_t clibvpx_control_int(vpx_codec_ctx_t *context, int control, int value) {
    return vpx_codec_control_(context, control, value);
}

// For the controls that take a pointer.
static inline vpx_codec_err_t clibvpx_control_pointer(vpx_codec_ctx_t *context, int control, void *value) {
    return vpx_codec_control_(context, control, value);
}

#endif
