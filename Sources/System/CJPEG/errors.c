#include "errors.h"

#include <string.h>

#include <jerror.h>

/// Cheap webcams leave some bytes between the end of their data and the next marker in every picture; viewers show
/// them without a flaw. More than these, and data are missing or bent.
static const int tolerated_extraneous_bytes = 16;

static cjpeg_result result_of(int code) {
    switch (code) {
    case JERR_OUT_OF_MEMORY:
        return CJPEG_OUT_OF_MEMORY;
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_MCU_SIZE:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_EMPTY_IMAGE:
    case JERR_IMAGE_TOO_BIG:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_SOF_UNSUPPORTED:
    case JERR_WIDTH_OVERFLOW:
        return CJPEG_UNSUPPORTED;
    case JERR_BAD_LIB_VERSION:
    case JERR_BAD_STATE:
    case JERR_BAD_STRUCT_SIZE:
        return CJPEG_FAILED;
    default:
        return CJPEG_DAMAGED;
    }
}

static _Noreturn void leave(j_common_ptr library) {
    struct cjpeg_errors *errors = (struct cjpeg_errors *)library->err;
    errors->manager.format_message(library, errors->message);
    errors->result = result_of(errors->manager.msg_code);
    longjmp(errors->jump, 1);
}

static void take_message(j_common_ptr library, int level) {
    if (level >= 0) return;
    const struct jpeg_error_mgr *manager = library->err;
    switch (manager->msg_code) {
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM:
        return;
    case JWRN_EXTRANEOUS_DATA:
        if (manager->msg_parm.i[0] <= tolerated_extraneous_bytes) return;
        break;
    }
    // libjpeg would go on with pixels of its own invention.
    leave(library);
}

static void print_nothing(j_common_ptr library) { (void)library; }

struct jpeg_error_mgr *cjpeg_errors_begin(struct cjpeg_errors *errors) {
    jpeg_std_error(&errors->manager);
    errors->manager.error_exit = leave;
    errors->manager.emit_message = take_message;
    errors->manager.output_message = print_nothing;
    errors->result = CJPEG_OK;
    errors->message[0] = '\0';
    return &errors->manager;
}

_Noreturn void cjpeg_fail(struct cjpeg_errors *errors, cjpeg_result result, const char *message) {
    strncpy(errors->message, message, sizeof errors->message - 1);
    errors->message[sizeof errors->message - 1] = '\0';
    errors->result = result;
    longjmp(errors->jump, 1);
}
