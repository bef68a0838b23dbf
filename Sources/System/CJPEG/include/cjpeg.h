#ifndef CJPEG_H
#define CJPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// JPEG pictures to and from planes of 4:2:0, one row of MCUs after the other, by libjpeg's interface for raw data.
///
/// In C for one reason: libjpeg ends in a jump when it fails, which must not leave C. A context is for one thread at a
/// time; it and its memory are used again for every picture.

typedef enum {
    CJPEG_OK = 0,
    /// The bytes are no whole, sound JPEG picture.
    CJPEG_DAMAGED,
    /// The picture is of a kind that is not taken.
    CJPEG_UNSUPPORTED,
    CJPEG_OUT_OF_MEMORY,
    /// libjpeg refused for a reason that is no fault of the picture.
    CJPEG_FAILED,
} cjpeg_result;

typedef struct cjpeg_decoder cjpeg_decoder;

/// What the picture's head says.
typedef struct {
    int32_t width;
    int32_t height;
} cjpeg_size;

/// How the chroma of a picture of 4:2:0 lies.
typedef enum {
    CJPEG_PLANAR,
    /// U, V, U, V … in the first plane.
    CJPEG_UV,
    /// V, U, V, U … in the first plane.
    CJPEG_VU,
} cjpeg_chroma;

/// Where a decoded picture goes. Rows of luma and planar chroma must have room for whole blocks: strides are multiples
/// of 64 bytes, the last row's included.
typedef struct {
    uint8_t *_Nonnull luma;
    size_t luma_stride;
    cjpeg_chroma layout;
    /// U and V, or both interleaved in the first.
    uint8_t *_Nonnull chroma[2];
    size_t chroma_stride[2];
} cjpeg_target;

/// NULL when there is no memory.
cjpeg_decoder *_Nullable cjpeg_decoder_create(void);
void cjpeg_decoder_destroy(cjpeg_decoder *_Nonnull decoder);

/// Begins with a picture. `bytes` must stay until it is decoded or the next is begun.
cjpeg_result cjpeg_decoder_begin(
    cjpeg_decoder *_Nonnull decoder, const void *_Nonnull bytes, size_t count, cjpeg_size *_Nonnull size);

/// Decodes the picture begun, once, into planes of its size.
cjpeg_result cjpeg_decoder_decode(cjpeg_decoder *_Nonnull decoder, const cjpeg_target *_Nonnull target);

/// What the last failure was, without a full stop; valid until the next call.
const char *_Nonnull cjpeg_decoder_message(const cjpeg_decoder *_Nonnull decoder);

typedef struct cjpeg_encoder cjpeg_encoder;

/// How the samples of 4:2:2 lie where luma and chroma share rows.
typedef enum {
    /// They do not share rows.
    CJPEG_NOT_PACKED,
    /// Y, U, Y, V.
    CJPEG_YUYV,
    /// U, Y, V, Y.
    CJPEG_UYVY,
} cjpeg_packing;

/// A picture of 4:2:0, or of packed 4:2:2, to encode. Nothing is read beyond the samples of a row.
typedef struct {
    int32_t width;
    int32_t height;
    cjpeg_packing packing;
    /// All samples where they are packed; the rest says nothing then.
    const uint8_t *_Nonnull luma;
    size_t luma_stride;
    cjpeg_chroma layout;
    /// U and V, or both interleaved in the first.
    const uint8_t *_Nonnull chroma[2];
    size_t chroma_stride[2];
    /// Luma from 16 to 235 and chroma from 16 to 240, which are stretched to JPEG's full range.
    bool is_limited;
} cjpeg_source;

/// - quality: 1 to 100, as libjpeg scales it.
/// - optimizes: whether each picture gets Huffman tables of its own: smaller, and slower.
/// NULL when there is no memory.
cjpeg_encoder *_Nullable cjpeg_encoder_create(int quality, bool optimizes);
void cjpeg_encoder_destroy(cjpeg_encoder *_Nonnull encoder);

/// Encodes a picture. `bytes` are valid until the next call.
cjpeg_result cjpeg_encoder_encode(
    cjpeg_encoder *_Nonnull encoder, const cjpeg_source *_Nonnull source,
    const uint8_t *_Nullable *_Nonnull bytes, size_t *_Nonnull count);

/// What the last failure was, without a full stop; valid until the next call.
const char *_Nonnull cjpeg_encoder_message(const cjpeg_encoder *_Nonnull encoder);

#endif
