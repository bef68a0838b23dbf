#include <stdlib.h>
#include <string.h>

#include <libyuv/planar_functions.h>

#include "errors.h"
#include "samples.h"

/// A progressive picture has about ten scans; each costs a pass over the whole picture however short it is.
static const int most_scans = 100;

/// Rows of one component in a row of MCUs, at most.
enum { most_rows = MAX_SAMP_FACTOR * DCTSIZE };

struct cjpeg_decoder {
    struct jpeg_decompress_struct library;
    struct cjpeg_errors errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    /// Annex K's tables, of which MJPEG leaves out what it uses: luma's and chroma's.
    JHUFF_TBL standard_dc[2];
    JHUFF_TBL standard_ac[2];
    uint8_t *scratch;
    size_t scratch_size;
};

/// Chroma on its way to the target.
struct chroma {
    /// How many times as wide and high luma is: 1, 2 or 4.
    int h_ratio;
    int v_ratio;
    int width;
    int height;
    int strip_rows;
    uint8_t *strip;
    size_t stride;
    uint8_t *line;
};

// The source: all bytes are there from the beginning.

static void source_is_there(j_decompress_ptr library) { (void)library; }

static boolean source_ends(j_decompress_ptr library) {
    struct cjpeg_decoder *decoder = library->client_data;
    cjpeg_fail(&decoder->errors, CJPEG_DAMAGED, "it is cut off before its end");
}

static void source_skip(j_decompress_ptr library, long count) {
    if (count <= 0) return;
    if ((size_t)count > library->src->bytes_in_buffer) source_ends(library);
    library->src->next_input_byte += count;
    library->src->bytes_in_buffer -= (size_t)count;
}

static void limit_scans(j_common_ptr common) {
    j_decompress_ptr library = (j_decompress_ptr)common;
    struct cjpeg_decoder *decoder = library->client_data;
    if (library->input_scan_number > most_scans)
        cjpeg_fail(&decoder->errors, CJPEG_UNSUPPORTED, "it has more than 100 scans");
}

// Life

cjpeg_decoder *cjpeg_decoder_create(void) {
    struct cjpeg_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) return NULL;
    struct jpeg_compress_struct model;
    memset(&model, 0, sizeof model);
    model.err = decoder->library.err = cjpeg_errors_begin(&decoder->errors);
    if (setjmp(decoder->errors.jump)) {
        jpeg_destroy_compress(&model);
        cjpeg_decoder_destroy(decoder);
        return NULL;
    }
    // libjpeg's own copy of Annex K's tables is to be had of a compressor only.
    jpeg_create_compress(&model);
    model.in_color_space = JCS_YCbCr;
    model.input_components = 3;
    jpeg_set_defaults(&model);
    for (int table = 0; table < 2; table++) {
        decoder->standard_dc[table] = *model.dc_huff_tbl_ptrs[table];
        decoder->standard_ac[table] = *model.ac_huff_tbl_ptrs[table];
    }
    jpeg_destroy_compress(&model);

    jpeg_create_decompress(&decoder->library);
    decoder->library.client_data = decoder;
    decoder->source.init_source = source_is_there;
    decoder->source.fill_input_buffer = source_ends;
    decoder->source.skip_input_data = source_skip;
    decoder->source.resync_to_restart = jpeg_resync_to_restart;
    decoder->source.term_source = source_is_there;
    decoder->library.src = &decoder->source;
    decoder->progress.progress_monitor = limit_scans;
    decoder->library.progress = &decoder->progress;
    return decoder;
}

void cjpeg_decoder_destroy(cjpeg_decoder *decoder) {
    jpeg_destroy_decompress(&decoder->library);
    free(decoder->scratch);
    free(decoder);
}

const char *cjpeg_decoder_message(const cjpeg_decoder *decoder) { return decoder->errors.message; }

// The head

/// libjpeg keeps tables for the pictures that follow; here each picture stands for itself. Their memory stays, since
/// libjpeg would make it anew for each.
static void forget_tables(struct cjpeg_decoder *decoder) {
    struct jpeg_decompress_struct *library = &decoder->library;
    for (int table = 0; table < NUM_HUFF_TBLS; table++) {
        JHUFF_TBL *dc = library->dc_huff_tbl_ptrs[table];
        JHUFF_TBL *ac = library->ac_huff_tbl_ptrs[table];
        static const JHUFF_TBL none;
        if (dc) *dc = table < 2 ? decoder->standard_dc[table] : none;
        if (ac) *ac = table < 2 ? decoder->standard_ac[table] : none;
    }
    for (int table = 0; table < NUM_QUANT_TBLS; table++) {
        JQUANT_TBL *quantization = library->quant_tbl_ptrs[table];
        if (quantization) memset(quantization, 0, sizeof *quantization);
    }
}

/// Where a picture uses what it has not defined, libjpeg finds no table in a new context; in one used before it finds
/// what ``forget_tables`` left.
static void add_missing_tables(struct cjpeg_decoder *decoder) {
    struct jpeg_decompress_struct *library = &decoder->library;
    for (int table = 0; table < 2; table++) {
        if (!library->dc_huff_tbl_ptrs[table]) {
            library->dc_huff_tbl_ptrs[table] = jpeg_alloc_huff_table((j_common_ptr)library);
            *library->dc_huff_tbl_ptrs[table] = decoder->standard_dc[table];
        }
        if (!library->ac_huff_tbl_ptrs[table]) {
            library->ac_huff_tbl_ptrs[table] = jpeg_alloc_huff_table((j_common_ptr)library);
            *library->ac_huff_tbl_ptrs[table] = decoder->standard_ac[table];
        }
    }
}

static bool is_known_ratio(int most, int factor) {
    return most % factor == 0 && (most / factor == 1 || most / factor == 2 || most / factor == 4);
}

static void check_kind(struct cjpeg_decoder *decoder, size_t count) {
    const struct jpeg_decompress_struct *library = &decoder->library;
    struct cjpeg_errors *errors = &decoder->errors;
    if (library->arith_code) cjpeg_fail(errors, CJPEG_UNSUPPORTED, "it is arithmetic-coded");
    switch (library->jpeg_color_space) {
    case JCS_GRAYSCALE:
        break;
    case JCS_YCbCr: {
        const jpeg_component_info *parts = library->comp_info;
        if (parts[0].h_samp_factor != library->max_h_samp_factor
            || parts[0].v_samp_factor != library->max_v_samp_factor)
            cjpeg_fail(errors, CJPEG_UNSUPPORTED, "it has less luma than chroma");
        for (int part = 1; part < 3; part++)
            if (!is_known_ratio(library->max_h_samp_factor, parts[part].h_samp_factor)
                || !is_known_ratio(library->max_v_samp_factor, parts[part].v_samp_factor))
                cjpeg_fail(errors, CJPEG_UNSUPPORTED, "its chroma has a third of luma's samples");
        break;
    }
    case JCS_RGB:
        cjpeg_fail(errors, CJPEG_UNSUPPORTED, "it is RGB");
    case JCS_CMYK:
    case JCS_YCCK:
        cjpeg_fail(errors, CJPEG_UNSUPPORTED, "it is CMYK, for print");
    default:
        cjpeg_fail(errors, CJPEG_UNSUPPORTED, "its components are neither grey nor Y, Cb and Cr");
    }
    // Huffman codes have at least one bit, and each block at least one code; so nobody makes much work with few bytes.
    size_t blocks = (((size_t)library->image_width + 7) / 8) * (((size_t)library->image_height + 7) / 8);
    if (blocks / 8 > count) cjpeg_fail(errors, CJPEG_DAMAGED, "it claims more pixels than its bytes can hold");
}

cjpeg_result cjpeg_decoder_begin(cjpeg_decoder *decoder, const void *bytes, size_t count, cjpeg_size *size) {
    struct jpeg_decompress_struct *library = &decoder->library;
    if (setjmp(decoder->errors.jump)) {
        jpeg_abort_decompress(library);
        return decoder->errors.result;
    }
    jpeg_abort_decompress(library);
    forget_tables(decoder);
    add_missing_tables(decoder);
    decoder->source.next_input_byte = bytes;
    decoder->source.bytes_in_buffer = count;
    jpeg_read_header(library, TRUE);
    check_kind(decoder, count);
    size->width = (int32_t)library->image_width;
    size->height = (int32_t)library->image_height;
    return CJPEG_OK;
}

// The picture

static void reserve_scratch(struct cjpeg_decoder *decoder, size_t size) {
    if (size <= decoder->scratch_size) return;
    free(decoder->scratch);
    decoder->scratch_size = 0;
    decoder->scratch = malloc(size);
    if (!decoder->scratch) cjpeg_fail(&decoder->errors, CJPEG_OUT_OF_MEMORY, "there is no memory left to decode");
    decoder->scratch_size = size;
}

/// One row of half of luma's width and height: row `row` of those that come of the strip.
static const uint8_t *chroma_row(const struct chroma *part, int strip, int row, size_t width, uint8_t *out) {
    const int top = strip * part->strip_rows;
    const int last = (part->height - top < part->strip_rows ? part->height - top : part->strip_rows) - 1;
    int first = part->v_ratio == 1 ? 2 * row : part->v_ratio == 2 ? row : row / 2;
    int second = part->v_ratio == 1 ? 2 * row + 1 : first;
    // Odd heights end with a single row.
    if (first > last) first = last;
    if (second > last) second = last;
    const uint8_t *one = part->strip + (size_t)first * part->stride;
    if (part->h_ratio == 2 && first == second && !out) return one;
    if (!out) out = part->line;
    cjpeg_chroma_row(one, part->strip + (size_t)second * part->stride, part->h_ratio, out, width);
    return out;
}

static void put_chroma(
    const struct cjpeg_decoder *decoder, const cjpeg_target *target, const struct chroma parts[2], int strip
) {
    const struct jpeg_decompress_struct *library = &decoder->library;
    const size_t width = (library->image_width + 1) / 2;
    const int height = (int)(library->image_height + 1) / 2;
    const int top = strip * library->max_v_samp_factor * DCTSIZE / 2;
    int rows = library->max_v_samp_factor * DCTSIZE / 2;
    if (rows > height - top) rows = height - top;
    for (int part = 0; part < 2; part++) {
        // Odd widths end with a single sample, where two are averaged.
        if (parts[part].h_ratio != 1 || parts[part].width % 2 == 0) continue;
        for (int row = 0; row < parts[part].strip_rows; row++) {
            uint8_t *end = parts[part].strip + (size_t)row * parts[part].stride + parts[part].width;
            end[0] = end[-1];
        }
    }
    if (target->layout != CJPEG_PLANAR) {
        const int first = target->layout == CJPEG_VU;
        for (int row = 0; row < rows; row++) {
            uint8_t *out = target->chroma[0] + (size_t)(top + row) * target->chroma_stride[0];
            MergeUVPlane(
                chroma_row(&parts[first], strip, row, width, NULL), 0,
                chroma_row(&parts[1 - first], strip, row, width, NULL), 0, out, 0, (int)width, 1);
        }
        return;
    }
    for (int part = 0; part < 2; part++)
        for (int row = 0; row < rows; row++)
            chroma_row(
                &parts[part], strip, row, width,
                target->chroma[part] + (size_t)(top + row) * target->chroma_stride[part]);
}

/// Points `rows` at a strip of a plane; what lies below the plane goes to `waste`.
static void point(JSAMPROW *rows, int count, uint8_t *plane, size_t stride, int top, int height, uint8_t *waste) {
    for (int row = 0; row < count; row++)
        rows[row] = top + row < height ? plane + (size_t)(top + row) * stride : waste;
}

static void read_strips(struct cjpeg_decoder *decoder, const cjpeg_target *target) {
    struct jpeg_decompress_struct *library = &decoder->library;
    const int width = (int)library->image_width;
    const int height = (int)library->image_height;
    const int lines = library->max_v_samp_factor * DCTSIZE;
    const bool is_grey = library->num_components == 1;
    const jpeg_component_info *info = library->comp_info;
    const size_t luma_bytes = (size_t)info[0].width_in_blocks * DCTSIZE;
    if (luma_bytes > target->luma_stride)
        cjpeg_fail(&decoder->errors, CJPEG_FAILED, "rows have no room for whole blocks");

    struct chroma parts[2] = {{0}};
    const bool is_planar = target->layout == CJPEG_PLANAR;
    bool is_direct = is_planar;
    size_t size = cjpeg_align(luma_bytes);
    for (int part = 0; part < (is_grey ? 0 : 2); part++) {
        const jpeg_component_info *from = &info[part + 1];
        parts[part].h_ratio = library->max_h_samp_factor / from->h_samp_factor;
        parts[part].v_ratio = library->max_v_samp_factor / from->v_samp_factor;
        parts[part].width = (int)from->downsampled_width;
        parts[part].height = (int)from->downsampled_height;
        parts[part].strip_rows = from->v_samp_factor * DCTSIZE;
        const size_t bytes = (size_t)from->width_in_blocks * DCTSIZE;
        // One more, for odd widths.
        parts[part].stride = cjpeg_align(bytes + 1);
        size += parts[part].stride * (size_t)parts[part].strip_rows + cjpeg_align((size_t)(width + 1) / 2);
        is_direct = is_direct && parts[part].h_ratio == 2 && parts[part].v_ratio == 2
            && bytes <= target->chroma_stride[part];
    }
    reserve_scratch(decoder, size);
    uint8_t *waste = decoder->scratch;
    uint8_t *next = waste + cjpeg_align(luma_bytes);
    for (int part = 0; part < (is_grey ? 0 : 2); part++) {
        parts[part].strip = next;
        next += parts[part].stride * (size_t)parts[part].strip_rows;
        parts[part].line = next;
        next += cjpeg_align((size_t)(width + 1) / 2);
    }

    JSAMPROW rows[3][most_rows];
    JSAMPARRAY planes[3] = {rows[0], rows[1], rows[2]};
    for (int strip = 0; strip * lines < height; strip++) {
        point(rows[0], lines, target->luma, target->luma_stride, strip * lines, height, waste);
        for (int part = 0; part < (is_grey ? 0 : 2); part++) {
            const int count = parts[part].strip_rows;
            if (is_direct)
                point(
                    rows[part + 1], count, target->chroma[part], target->chroma_stride[part], strip * count,
                    (height + 1) / 2, waste);
            else
                point(rows[part + 1], count, parts[part].strip, parts[part].stride, 0, count, waste);
        }
        jpeg_read_raw_data(library, planes, (JDIMENSION)lines);
        if (!is_grey && !is_direct) put_chroma(decoder, target, parts, strip);
    }
    if (!is_grey) return;
    const size_t bytes = ((size_t)width + 1) / 2 * (is_planar ? 1 : 2);
    for (int plane = 0; plane < (is_planar ? 2 : 1); plane++)
        for (int row = 0; row < (height + 1) / 2; row++)
            memset(target->chroma[plane] + (size_t)row * target->chroma_stride[plane], 128, bytes);
}

cjpeg_result cjpeg_decoder_decode(cjpeg_decoder *decoder, const cjpeg_target *target) {
    struct jpeg_decompress_struct *library = &decoder->library;
    if (setjmp(decoder->errors.jump)) {
        jpeg_abort_decompress(library);
        return decoder->errors.result;
    }
    library->raw_data_out = TRUE;
    library->out_color_space = library->jpeg_color_space;
    library->dct_method = JDCT_ISLOW;
    library->do_fancy_upsampling = FALSE;
    library->do_block_smoothing = FALSE;
    jpeg_start_decompress(library);
    for (int part = 0; part < library->num_components; part++) {
        // None when no scan has the component; zero when the table is only what an earlier picture has left.
        const JQUANT_TBL *table = library->comp_info[part].quant_table;
        if (!table || table->quantval[0] == 0)
            cjpeg_fail(&decoder->errors, CJPEG_DAMAGED, "it lacks a component or its quantization table");
    }
    read_strips(decoder, target);
    jpeg_finish_decompress(library);
    return CJPEG_OK;
}
