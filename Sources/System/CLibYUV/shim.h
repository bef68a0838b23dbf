#ifndef CLIBYUV_SHIM_H
#define CLIBYUV_SHIM_H

#include <libyuv/convert.h>
#include <libyuv/convert_argb.h>
#include <libyuv/convert_from.h>
#include <libyuv/convert_from_argb.h>
#include <libyuv/planar_functions.h>
#include <libyuv/rotate.h>
#include <libyuv/rotate_argb.h>
#include <libyuv/row.h>
#include <libyuv/scale.h>
#include <libyuv/version.h>
#include <libyuv/scale_argb.h>
#include <libyuv/scale_uv.h>
#include <stdbool.h>

// The library has it, but the header of version 1857 declares its neighbour twice in its place.
extern const struct YuvConstants kYvuI601Constants;

#if defined(__x86_64__)

// The library's own constants of limited range hold the weight of blue down to 2.0, where BT.709 has 2.112:
// pure blue comes out 12 codes too dark (row_common.cc, LIBYUV_UNLIMITED_DATA). These are the true ones, in
// its units: 1/64 for chroma, 1/64 * 65536/257 for luma, and half a unit for rounding.
#define LIBYUV_REPEAT(a, b) {a, b, a, b, a, b, a, b, a, b, a, b, a, b, a, b, \
                             a, b, a, b, a, b, a, b, a, b, a, b, a, b, a, b}
#define LIBYUV_LIMITED_RANGE(UB, UG, VG, VR)                                                       \
    {LIBYUV_REPEAT(UB, 0), LIBYUV_REPEAT(UG, VG), LIBYUV_REPEAT(0, VR),                            \
     {19003, 19003, 19003, 19003, 19003, 19003, 19003, 19003, 19003, 19003, 19003, 19003, 19003,   \
      19003, 19003, 19003},                                                                        \
     {-1160, -1160, -1160, -1160, -1160, -1160, -1160, -1160, -1160, -1160, -1160, -1160, -1160,   \
      -1160, -1160, -1160}}

// U and V exchanged is red and blue exchanged.
static const struct YuvConstants libyuv_bt601 __attribute__((aligned(32))) = LIBYUV_LIMITED_RANGE(129, 25, 52, 102);
static const struct YuvConstants libyuv_bt601_vu __attribute__((aligned(32))) = LIBYUV_LIMITED_RANGE(102, 52, 25, 129);
static const struct YuvConstants libyuv_bt709 __attribute__((aligned(32))) = LIBYUV_LIMITED_RANGE(135, 14, 34, 115);
static const struct YuvConstants libyuv_bt709_vu __attribute__((aligned(32))) = LIBYUV_LIMITED_RANGE(115, 34, 14, 135);

#else

#define libyuv_bt601 kYuvI601Constants
#define libyuv_bt601_vu kYvuI601Constants
#define libyuv_bt709 kYuvH709Constants
#define libyuv_bt709_vu kYvuH709Constants

#endif

/// The constants for luma and chroma to RGB; `swapped` for U and V exchanged, which exchanges red and blue.
/// By address, since the library's vector code needs their alignment.
static inline const struct YuvConstants *libyuv_constants(bool bt709, bool full, bool swapped) {
    if (bt709) {
        if (full) return swapped ? &kYvuF709Constants : &kYuvF709Constants;
        return swapped ? &libyuv_bt709_vu : &libyuv_bt709;
    }
    if (full) return swapped ? &kYvuJPEGConstants : &kYuvJPEGConstants;
    return swapped ? &libyuv_bt601_vu : &libyuv_bt601;
}

#endif
