// libcamera for Swift: its interface is C++ without a stable ABI, so one file of C++ is compiled against the version that is
// installed, behind these functions of C. Where libcamera is missing they exist too, and return -ENOSYS.
//
// Functions return 0 or a count, or a negative number of errno. A session belongs to one thread at a time; only
// `lc_session_descriptor` may be polled elsewhere.
#ifndef CLIBCAMERA_H
#define CLIBCAMERA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The version that this program was compiled against, as in "0.0.3"; NULL without libcamera.
const char *lc_version(void);

enum { LC_NAME = 128, LC_ID = 256, LC_PLANES = 3 };

/// A camera that libcamera lists.
typedef struct lc_camera {
    char id[LC_ID];
    /// Its model; empty where libcamera knows none.
    char model[LC_NAME];
    /// 0 front, 1 back, 2 external, -1 unknown.
    int32_t location;
    /// Degrees by which the sensor is mounted counterclockwise: 0, 90, 180 or 270.
    int32_t rotation;
} lc_camera;

/// Writes the first `capacity` cameras to `cameras`, and returns how many there are. Starts libcamera at the first call, which
/// takes some hundredths of a second; it then runs until the process ends, because it can run only once in a process.
int lc_list(lc_camera *cameras, int capacity);

/// Ends libcamera unless a session exists; the next call starts it again. It may miss devices that come while it starts.
void lc_restart(void);

/// A camera that this process has acquired.
typedef struct lc_session lc_session;

/// Acquires a camera. -ENODEV: there is no such camera; -EBUSY: another process, or another session, has it.
int lc_session_open(const char *id, lc_session **session);

/// Stops, frees the buffers and releases the camera. The caller has unmapped the buffers.
void lc_session_close(lc_session *session);

/// Sizes of a pixel format of the video stream.
typedef struct lc_format {
    /// The code of DRM.
    uint32_t fourcc;
    uint32_t min_width, min_height, max_width, max_height;
    /// The steps from size to size; 0 where only some sizes between are possible.
    uint32_t width_step, height_step;
} lc_format;

/// Writes the first `capacity` formats to `formats`, and returns how many there are.
int lc_session_formats(lc_session *session, lc_format *formats, int capacity);

/// Writes the first `capacity` single sizes of a format, width and height in turn, and returns how many there are.
int lc_session_sizes(lc_session *session, uint32_t fourcc, uint32_t *sizes, int capacity);

/// What the camera delivers.
typedef struct lc_stream {
    uint32_t fourcc;
    uint32_t width, height;
    /// The bytes from row to row of the first plane.
    uint32_t stride;
    uint32_t buffers;
    /// Whether the colors are known.
    bool has_color;
    bool is_bt709, is_full_range;
} lc_stream;

/// Sets format, size and the number of buffers. The camera may adjust each: `stream` is what it has taken.
int lc_session_configure(
    lc_session *session, uint32_t fourcc, uint32_t width, uint32_t height, uint32_t buffers, lc_stream *stream);

/// Allocates the buffers; returns their number.
int lc_session_allocate(lc_session *session);

/// The planes of samples of a buffer; several may lie behind one descriptor, which the session keeps.
typedef struct lc_buffer {
    uint32_t planes;
    int descriptors[LC_PLANES];
    uint32_t offsets[LC_PLANES];
    uint32_t lengths[LC_PLANES];
} lc_buffer;

int lc_session_buffer(lc_session *session, int index, lc_buffer *buffer);

/// Around reads of a buffer's memory by the processor, whose cache some devices do not see.
int lc_begin_read(int descriptor);
int lc_end_read(int descriptor);

/// A control of a camera.
typedef struct lc_control {
    uint32_t id;
    char name[LC_NAME];
    /// b: a switch, i: an integer, f: a number, x: another, which is not set by `lc_session_set`.
    char kind;
    bool has_default;
    double minimum, maximum, standard;
} lc_control;

/// Writes the first `capacity` controls to `controls`, and returns how many there are.
int lc_session_controls(lc_session *session, lc_control *controls, int capacity);

/// Sets a control with the next request that is queued, or at the start. -EINVAL: there is no such control, or not of a number.
int lc_session_set(lc_session *session, uint32_t id, double value);

/// Starts to stream. The duration of frames in microseconds is set where the camera has such a control; 0 for its own.
int lc_session_start(lc_session *session, int64_t shortest, int64_t longest);

/// Stops, and drops completed frames. All buffers are the caller's again.
int lc_session_stop(lc_session *session);

/// Hands a buffer to the camera, to fill it.
int lc_session_queue(lc_session *session, int index);

/// Readable once a frame is complete, or the camera has gone.
int lc_session_descriptor(lc_session *session);

/// 1 when a device of the process's has gone without a word of libcamera, which reports that for few cameras; 0 otherwise. Reads
/// /proc/self/fd: ask where no frame comes.
int lc_session_has_gone(lc_session *session);

/// A completed buffer.
typedef struct lc_frame {
    int32_t index;
    /// Whether it is a whole picture; otherwise the camera reports an error.
    bool is_complete;
    uint32_t sequence;
    /// Nanoseconds of the start of the exposure, and of the buffer; 0 where the camera states none.
    int64_t sensor_time, buffer_time;
    /// Microseconds, and a factor; 0 where the camera states none.
    int32_t exposure;
    float gain;
} lc_frame;

/// The next completed buffer, which is the caller's then. -EAGAIN: none yet; -ENODEV: the camera has gone.
int lc_session_take(lc_session *session, lc_frame *frame);

#ifdef __cplusplus
}
#endif

#endif
