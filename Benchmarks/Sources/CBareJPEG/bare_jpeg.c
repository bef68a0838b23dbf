#include "bare_jpeg.h"

#include <stdlib.h>

#include <libyuv/convert.h>
#include <turbojpeg.h>

struct bare_jpeg {
    tjhandle decoder;
    tjhandle encoder;
    unsigned char *output;
    unsigned long capacity;
};

bare_jpeg *bare_jpeg_create(void) {
    struct bare_jpeg *bare = calloc(1, sizeof *bare);
    if (!bare) abort();
    bare->decoder = tjInitDecompress();
    bare->encoder = tjInitCompress();
    if (!bare->decoder || !bare->encoder) abort();
    return bare;
}

void bare_jpeg_destroy(bare_jpeg *bare) {
    tjDestroy(bare->decoder);
    tjDestroy(bare->encoder);
    tjFree(bare->output);
    free(bare);
}

int bare_jpeg_libyuv(const uint8_t *jpeg, size_t count, int width, int height, uint8_t *luma, uint8_t *chroma) {
    return MJPGToNV12(jpeg, count, luma, width, chroma, (width + 1) / 2 * 2, width, height, width, height);
}

int bare_jpeg_decode(bare_jpeg *bare, const uint8_t *jpeg, size_t count, uint8_t *const *planes) {
    // The head is read first, as one must who does not know the size.
    int width, height, sampling, space;
    if (tjDecompressHeader3(bare->decoder, jpeg, count, &width, &height, &sampling, &space)) return -1;
    return tjDecompressToYUVPlanes(
        bare->decoder, jpeg, count, (unsigned char **)planes, width, NULL, height, TJFLAG_ACCURATEDCT);
}

size_t bare_jpeg_encode(bare_jpeg *bare, const uint8_t *const *planes, int width, int height, int quality) {
    const unsigned long most = tjBufSize(width, height, TJSAMP_420);
    if (bare->capacity < most) {
        tjFree(bare->output);
        bare->output = tjAlloc((int)most);
        bare->capacity = most;
    }
    unsigned long count = bare->capacity;
    if (tjCompressFromYUVPlanes(
            bare->encoder, (const unsigned char **)planes, width, NULL, height, TJSAMP_420, &bare->output, &count,
            quality, TJFLAG_ACCURATEDCT | TJFLAG_NOREALLOC))
        return 0;
    return count;
}
