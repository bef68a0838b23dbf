#include "cpng.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

/// What is under way: bytes that grow, and where a failure jumps to.
struct writing {
    cpng_output *output;
    size_t capacity;
    cpng_result result;
    jmp_buf jump;
};

static _Noreturn void leave(struct writing *writing, cpng_result result, const char *message) {
    writing->result = result;
    strncpy(writing->output->message, message, sizeof writing->output->message - 1);
    longjmp(writing->jump, 1);
}

static _Noreturn void fail(png_structp library, png_const_charp message) {
    leave(png_get_error_ptr(library), CPNG_FAILED, message);
}

static void ignore(png_structp library, png_const_charp message) {
    (void)library;
    (void)message;
}

static void append(png_structp library, png_bytep bytes, size_t count) {
    struct writing *writing = png_get_io_ptr(library);
    cpng_output *output = writing->output;
    if (count > writing->capacity - output->count) {
        size_t capacity = 2 * writing->capacity;
        while (count > capacity - output->count) capacity *= 2;
        uint8_t *grown = realloc(output->bytes, capacity);
        if (!grown) leave(writing, CPNG_OUT_OF_MEMORY, "there is no memory left for the encoded image");
        output->bytes = grown;
        writing->capacity = capacity;
    }
    memcpy(output->bytes + output->count, bytes, count);
    output->count += count;
}

static void flush(png_structp library) { (void)library; }

cpng_result cpng_encode(const cpng_source *source, cpng_output *output) {
    memset(output, 0, sizeof *output);
    struct writing writing = {.output = output, .capacity = 1 << 16, .result = CPNG_OUT_OF_MEMORY};
    output->bytes = malloc(writing.capacity);
    // Assigned before the jump can happen, and not after.
    png_structp library = png_create_write_struct(PNG_LIBPNG_VER_STRING, &writing, fail, ignore);
    png_infop info = library ? png_create_info_struct(library) : NULL;
    if (!output->bytes || !info || setjmp(writing.jump)) {
        png_destroy_write_struct(&library, info ? &info : NULL);
        cpng_free(output);
        return writing.result;
    }
    png_set_write_fn(library, &writing, append, flush);
    png_set_IHDR(
        library, info, source->width, source->height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
        PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(library, source->level);
    // One filter that suits photographs: to try all five for each row takes as long as the compression.
    png_set_filter(library, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
    if (source->exif) png_set_eXIf_1(library, info, (png_uint_32)source->exif_count, (png_bytep)source->exif);
    png_write_info(library, info);
    for (uint32_t row = 0; row < source->height; row++) png_write_row(library, source->samples + row * source->stride);
    // Without the information, whose eXIf would be written a second time.
    png_write_end(library, NULL);
    png_destroy_write_struct(&library, &info);
    return CPNG_OK;
}

void cpng_free(cpng_output *output) {
    free(output->bytes);
    output->bytes = NULL;
    output->count = 0;
}
