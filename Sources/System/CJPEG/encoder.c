#include <stdlib.h>
#include <string.h>

#include <libyuv/convert.h>
#include <libyuv/planar_functions.h>

#include "errors.h"
#include "samples.h"

/// Rows of a strip: an MCU of 4:2:0.
enum { luma_rows = 2 * DCTSIZE, chroma_rows = DCTSIZE };

struct cjpeg_encoder {
    struct jpeg_compress_struct library;
    struct cjpeg_errors errors;
    struct jpeg_destination_mgr destination;
    /// The bytes made, used again for each picture.
    uint8_t *output;
    size_t capacity;
    size_t count;
    uint8_t *scratch;
    size_t scratch_size;
};

// The destination: memory that grows.

static void offer(struct cjpeg_encoder *encoder, size_t used) {
    encoder->destination.next_output_byte = encoder->output + used;
    encoder->destination.free_in_buffer = encoder->capacity - used;
}

static void begin_output(j_compress_ptr library) { offer(library->client_data, 0); }

static boolean grow_output(j_compress_ptr library) {
    struct cjpeg_encoder *encoder = library->client_data;
    // libjpeg means the whole buffer here, whatever it says is free.
    const size_t used = encoder->capacity;
    uint8_t *grown = realloc(encoder->output, 2 * used);
    if (!grown) cjpeg_fail(&encoder->errors, CJPEG_OUT_OF_MEMORY, "there is no memory left for the encoded picture");
    encoder->output = grown;
    encoder->capacity = 2 * used;
    offer(encoder, used);
    return TRUE;
}

static void end_output(j_compress_ptr library) {
    struct cjpeg_encoder *encoder = library->client_data;
    encoder->count = encoder->capacity - encoder->destination.free_in_buffer;
}

// Life

cjpeg_encoder *cjpeg_encoder_create(int quality, bool optimizes) {
    struct cjpeg_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder) return NULL;
    encoder->capacity = 1 << 16;
    encoder->output = malloc(encoder->capacity);
    struct jpeg_compress_struct *library = &encoder->library;
    library->err = cjpeg_errors_begin(&encoder->errors);
    if (!encoder->output || setjmp(encoder->errors.jump)) {
        cjpeg_encoder_destroy(encoder);
        return NULL;
    }
    jpeg_create_compress(library);
    library->client_data = encoder;
    encoder->destination.init_destination = begin_output;
    encoder->destination.empty_output_buffer = grow_output;
    encoder->destination.term_destination = end_output;
    library->dest = &encoder->destination;
    library->in_color_space = JCS_YCbCr;
    library->input_components = 3;
    // 4:2:0 and Annex K's tables.
    jpeg_set_defaults(library);
    jpeg_set_quality(library, quality, TRUE);
    library->raw_data_in = TRUE;
    library->dct_method = JDCT_ISLOW;
    library->optimize_coding = optimizes;
    return encoder;
}

void cjpeg_encoder_destroy(cjpeg_encoder *encoder) {
    jpeg_destroy_compress(&encoder->library);
    free(encoder->output);
    free(encoder->scratch);
    free(encoder);
}

const char *cjpeg_encoder_message(const cjpeg_encoder *encoder) { return encoder->errors.message; }

// The picture

static void reserve_scratch(struct cjpeg_encoder *encoder, size_t size) {
    if (size <= encoder->scratch_size) return;
    free(encoder->scratch);
    encoder->scratch_size = 0;
    encoder->scratch = malloc(size);
    if (!encoder->scratch) cjpeg_fail(&encoder->errors, CJPEG_OUT_OF_MEMORY, "there is no memory left to encode");
    encoder->scratch_size = size;
}

/// Repeats the last sample to the end of the last block, which is encoded too.
static void pad(uint8_t *row, size_t width, size_t padded) {
    if (padded > width) memset(row + width, row[width - 1], padded - width);
}

/// Points `rows` at a strip: at the picture's own rows where they are whole blocks of JPEG's range, else at `scratch`.
/// Below the picture its last row is repeated.
static void point_luma(JSAMPROW *rows, const cjpeg_source *source, int top, uint8_t *scratch, size_t stride) {
    const size_t width = (size_t)source->width;
    const bool is_direct = !source->is_limited && width == stride;
    for (int row = 0; row < luma_rows; row++) {
        if (top + row >= source->height) {
            rows[row] = rows[row - 1];
            continue;
        }
        const uint8_t *from = source->luma + (size_t)(top + row) * source->luma_stride;
        // libjpeg only reads it.
        rows[row] = is_direct ? (JSAMPROW)from : scratch + (size_t)row * stride;
        if (is_direct) continue;
        if (source->is_limited) cjpeg_stretch_luma(from, rows[row], width);
        else memcpy(rows[row], from, width);
        pad(rows[row], width, stride);
    }
}

static void point_chroma(
    JSAMPROW *rows[2], const cjpeg_source *source, int top, uint8_t *scratch, size_t stride
) {
    const size_t width = ((size_t)source->width + 1) / 2;
    const int height = (source->height + 1) / 2;
    const bool is_planar = source->layout == CJPEG_PLANAR;
    const bool is_direct = is_planar && !source->is_limited && width == stride;
    for (int row = 0; row < chroma_rows; row++) {
        if (top + row >= height) {
            rows[0][row] = rows[0][row - 1];
            rows[1][row] = rows[1][row - 1];
            continue;
        }
        const uint8_t *from[2];
        for (int part = 0; part < 2; part++) {
            from[part] = source->chroma[is_planar ? part : 0]
                + (size_t)(top + row) * source->chroma_stride[is_planar ? part : 0];
            rows[part][row] =
                is_direct ? (JSAMPROW)from[part] : scratch + (size_t)(part * chroma_rows + row) * stride;
        }
        if (is_direct) continue;
        if (!is_planar) {
            const bool is_uv = source->layout == CJPEG_UV;
            SplitUVPlane(from[0], 0, rows[is_uv ? 0 : 1][row], 0, rows[is_uv ? 1 : 0][row], 0, (int)width, 1);
        }
        for (int part = 0; part < 2; part++) {
            const uint8_t *in = is_planar ? from[part] : rows[part][row];
            if (source->is_limited) cjpeg_stretch_chroma(in, rows[part][row], width);
            else if (is_planar) memcpy(rows[part][row], in, width);
            pad(rows[part][row], width, stride);
        }
    }
}

typedef void stretching(const uint8_t *in, uint8_t *out, size_t width);

/// Points `rows` at the first `given` rows of a plane, which are brought to JPEG's range and to whole blocks where they
/// lie. Below them the last one is repeated.
static void point_scratch(
    JSAMPROW *rows, int count, int given, uint8_t *plane, size_t width, size_t stride, stretching *stretch
) {
    for (int row = 0; row < count; row++) {
        if (row >= given) {
            rows[row] = rows[row - 1];
            continue;
        }
        rows[row] = plane + (size_t)row * stride;
        if (stretch) stretch(rows[row], rows[row], width);
        pad(rows[row], width, stride);
    }
}

/// Unpacks a strip into `scratch`, where libjpeg finds it still near. Two rows share the mean of their chroma.
static void point_packed(
    JSAMPROW *luma, JSAMPROW *chroma[2], const cjpeg_source *source, int top, uint8_t *scratch, size_t luma_stride,
    size_t chroma_stride
) {
    const size_t width = (size_t)source->width;
    const int left = source->height - top;
    const int rows = left < luma_rows ? left : luma_rows;
    uint8_t *blue = scratch + luma_stride * luma_rows;
    uint8_t *red = blue + chroma_stride * chroma_rows;
    (source->packing == CJPEG_YUYV ? YUY2ToI420 : UYVYToI420)(
        source->luma + (size_t)top * source->luma_stride, (int)source->luma_stride, scratch, (int)luma_stride, blue,
        (int)chroma_stride, red, (int)chroma_stride, source->width, rows);
    stretching *stretch = source->is_limited ? cjpeg_stretch_chroma : NULL;
    point_scratch(luma, luma_rows, rows, scratch, width, luma_stride, source->is_limited ? cjpeg_stretch_luma : NULL);
    point_scratch(chroma[0], chroma_rows, (rows + 1) / 2, blue, (width + 1) / 2, chroma_stride, stretch);
    point_scratch(chroma[1], chroma_rows, (rows + 1) / 2, red, (width + 1) / 2, chroma_stride, stretch);
}

static void write_strips(struct cjpeg_encoder *encoder, const cjpeg_source *source) {
    struct jpeg_compress_struct *library = &encoder->library;
    const size_t luma_stride = (size_t)library->comp_info[0].width_in_blocks * DCTSIZE;
    const size_t chroma_stride = (size_t)library->comp_info[1].width_in_blocks * DCTSIZE;
    reserve_scratch(encoder, luma_stride * luma_rows + 2 * chroma_stride * chroma_rows);
    uint8_t *chroma = encoder->scratch + luma_stride * luma_rows;
    JSAMPROW luma[luma_rows];
    JSAMPROW blue[chroma_rows];
    JSAMPROW red[chroma_rows];
    JSAMPARRAY planes[3] = {luma, blue, red};
    JSAMPROW *both[2] = {blue, red};
    for (int top = 0; top < source->height; top += luma_rows) {
        if (source->packing != CJPEG_NOT_PACKED) {
            point_packed(luma, both, source, top, encoder->scratch, luma_stride, chroma_stride);
        } else {
            point_luma(luma, source, top, encoder->scratch, luma_stride);
            point_chroma(both, source, top / 2, chroma, chroma_stride);
        }
        jpeg_write_raw_data(library, planes, luma_rows);
    }
}

cjpeg_result cjpeg_encoder_encode(
    cjpeg_encoder *encoder, const cjpeg_source *source, const uint8_t **bytes, size_t *count
) {
    struct jpeg_compress_struct *library = &encoder->library;
    if (setjmp(encoder->errors.jump)) {
        jpeg_abort_compress(library);
        return encoder->errors.result;
    }
    library->image_width = (JDIMENSION)source->width;
    library->image_height = (JDIMENSION)source->height;
    jpeg_start_compress(library, TRUE);
    write_strips(encoder, source);
    jpeg_finish_compress(library);
    *bytes = encoder->output;
    *count = encoder->count;
    return CJPEG_OK;
}
