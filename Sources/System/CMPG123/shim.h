#ifndef CMPG123_SHIM_H
#define CMPG123_SHIM_H

#include <mpg123.h>

// Some versions define these functions as macros of others, or with a type of offsets in the name, which does not reach
// Swift.

static inline int cmpg123_set(mpg123_handle *handle, enum mpg123_parms option, long value) {
    return mpg123_param(handle, option, value, 0);
}

// Decodes what was fed; `bytes` are valid until the next call.
static inline int cmpg123_decode(mpg123_handle *handle, const unsigned char **audio, size_t *bytes) {
    off_t number = 0;
    unsigned char *found = NULL;
    int result = mpg123_decode_frame(handle, &number, &found, bytes);
    *audio = found;
    return result;
}

#endif
