#ifndef CJPEG_ERRORS_H
#define CJPEG_ERRORS_H

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>

#include <jpeglib.h>

#include "cjpeg.h"

/// libjpeg's error manager, which jumps to `jump` with `result` and `message` set.
struct cjpeg_errors {
    /// The first member: libjpeg knows no other.
    struct jpeg_error_mgr manager;
    jmp_buf jump;
    cjpeg_result result;
    char message[JMSG_LENGTH_MAX];
};

struct jpeg_error_mgr *cjpeg_errors_begin(struct cjpeg_errors *errors);

/// Ends what is under way, as a fault that libjpeg finds does.
_Noreturn void cjpeg_fail(struct cjpeg_errors *errors, cjpeg_result result, const char *message);

#endif
