#ifndef COPUS_SHIM_H
#define COPUS_SHIM_H

#include <opus/opus.h>

// Variadic functions do not reach Swift, nor do the requests, which are macros with checks of types.

static inline int copus_set(OpusEncoder *encoder, int request, opus_int32 value) {
    return opus_encoder_ctl(encoder, request, value);
}

static inline int copus_get(OpusEncoder *encoder, int request, opus_int32 *value) {
    return opus_encoder_ctl(encoder, request, value);
}

static inline int copus_reset_encoder(OpusEncoder *encoder) { return opus_encoder_ctl(encoder, OPUS_RESET_STATE); }

static inline int copus_reset_decoder(OpusDecoder *decoder) { return opus_decoder_ctl(decoder, OPUS_RESET_STATE); }

#endif
