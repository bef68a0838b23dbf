#ifndef CPNG_H
#define CPNG_H

#include <stddef.h>
#include <stdint.h>

/// PNG images of 8-bit RGB, by libpng.
///
/// In C for one reason: libpng ends in a jump when it fails, which must not leave C.

typedef enum {
    CPNG_OK = 0,
    CPNG_OUT_OF_MEMORY,
    /// libpng refused; the message says why.
    CPNG_FAILED,
} cpng_result;

/// An image to encode. Nothing is read beyond the samples of a row.
typedef struct {
    uint32_t width;
    uint32_t height;
    /// Red, green, blue.
    const uint8_t *_Nonnull samples;
    size_t stride;
    /// The eXIf chunk: a TIFF header and its directories; NULL for none.
    const uint8_t *_Nullable exif;
    size_t exif_count;
    /// zlib's level, 1 to 9.
    int level;
} cpng_source;

/// The encoded image, or why there is none.
typedef struct {
    /// For `cpng_free`; NULL after a failure.
    uint8_t *_Nullable bytes;
    size_t count;
    /// Without a full stop.
    char message[200];
} cpng_output;

/// Encodes an image. From any thread.
cpng_result cpng_encode(const cpng_source *_Nonnull source, cpng_output *_Nonnull output);
void cpng_free(cpng_output *_Nonnull output);

#endif
