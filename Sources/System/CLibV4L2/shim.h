#ifndef CLIBV4L2_SHIM_H
#define CLIBV4L2_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <libv4l2.h>
#include <libv4lconvert.h>

// From sys/ioctl.h, which is not included: what else it defines would count as this module's.
extern int ioctl(int fd, unsigned long request, ...);

// Variadic functions do not reach Swift.
static inline int clibv4l2_kernel_open(const char *path, int flags) { return open(path, flags); }
static inline int clibv4l2_kernel_ioctl(int fd, unsigned long request, void *argument) {
    return ioctl(fd, request, argument);
}
// The same file by another descriptor, or -1.
static inline int clibv4l2_duplicate(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }

// From link.h, which has it for _GNU_SOURCE only.
struct dl_phdr_info;
extern int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *object, size_t size, void *data), void *data);
// What `struct dl_phdr_info` begins with.
struct clibv4l2_loaded_object {
    unsigned long address;
    const char *path;
};

static inline int clibv4l2_is_plugin(struct dl_phdr_info *object, size_t size, void *unused) {
    (void)size, (void)unused;
    const char *path = ((const struct clibv4l2_loaded_object *)object)->path;
    return path != NULL && strstr(path, "/libv4l/plugins/") != NULL;
}

// Whether libv4l2 has a vendor's plug-in loaded. It unloads at once those that do not take the node that is opened.
static inline int clibv4l2_has_plugin(void) { return dl_iterate_phdr(clibv4l2_is_plugin, NULL); }

static inline int clibv4l2_ioctl(int fd, unsigned long request, void *argument) {
    return v4l2_ioctl(fd, request, argument);
}

// From sys/mman.h, which has it for _GNU_SOURCE only; with that other names would count as this module's.
extern void *mremap(void *address, size_t old_size, size_t new_size, int flags, ...);
#define CLIBV4L2_MREMAP_MAYMOVE 1
#define CLIBV4L2_MREMAP_FIXED 2

// Puts ordinary memory of the same content in the place of a mapping, in one step for whoever reads it meanwhile. Not
// for memory that anyone writes to. Returns 0, or an errno with the mapping as it was.
static inline int clibv4l2_detach(void *address, size_t byte_count) {
    void *copy = mmap(NULL, byte_count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) return errno;
    memcpy(copy, address, byte_count);
    if (mremap(copy, byte_count, byte_count, CLIBV4L2_MREMAP_MAYMOVE | CLIBV4L2_MREMAP_FIXED, address) == MAP_FAILED) {
        int error = errno;
        munmap(copy, byte_count);
        return error;
    }
    return 0;
}

// Macros of casts and sizes do not reach Swift.
#define CLIBV4L2_REQUEST(name) static const unsigned long clibv4l2_##name = VIDIOC_##name
CLIBV4L2_REQUEST(QUERYCAP);
CLIBV4L2_REQUEST(ENUM_FMT);
CLIBV4L2_REQUEST(G_FMT);
CLIBV4L2_REQUEST(S_FMT);
CLIBV4L2_REQUEST(TRY_FMT);
CLIBV4L2_REQUEST(ENUM_FRAMESIZES);
CLIBV4L2_REQUEST(ENUM_FRAMEINTERVALS);
CLIBV4L2_REQUEST(G_PARM);
CLIBV4L2_REQUEST(S_PARM);
CLIBV4L2_REQUEST(REQBUFS);
CLIBV4L2_REQUEST(QUERYBUF);
CLIBV4L2_REQUEST(QBUF);
CLIBV4L2_REQUEST(DQBUF);
CLIBV4L2_REQUEST(EXPBUF);
CLIBV4L2_REQUEST(STREAMON);
CLIBV4L2_REQUEST(STREAMOFF);
CLIBV4L2_REQUEST(ENUMINPUT);
CLIBV4L2_REQUEST(G_INPUT);
CLIBV4L2_REQUEST(S_INPUT);
CLIBV4L2_REQUEST(QUERYSTD);
CLIBV4L2_REQUEST(S_STD);
CLIBV4L2_REQUEST(QUERY_DV_TIMINGS);
CLIBV4L2_REQUEST(S_DV_TIMINGS);
CLIBV4L2_REQUEST(SUBSCRIBE_EVENT);
CLIBV4L2_REQUEST(DQEVENT);
CLIBV4L2_REQUEST(QUERY_EXT_CTRL);
CLIBV4L2_REQUEST(QUERYMENU);
CLIBV4L2_REQUEST(G_EXT_CTRLS);
CLIBV4L2_REQUEST(S_EXT_CTRLS);
CLIBV4L2_REQUEST(CROPCAP);
CLIBV4L2_REQUEST(G_SELECTION);
CLIBV4L2_REQUEST(S_SELECTION);
CLIBV4L2_REQUEST(ENCODER_CMD);
#undef CLIBV4L2_REQUEST

// The picture format of a node, single- or multi-planar. `struct v4l2_pix_format_mplane` is packed, and its fields
// do not reach Swift.
struct clibv4l2_picture {
    unsigned int width, height, pixelformat, field;
    unsigned int colorspace, ycbcr_enc, quantization, xfer_func;
    // No picture that is taken has more than three.
    unsigned int plane_count, bytesperline[3], sizeimage[3];
};

// The two kinds of format have these fields in common, by name.
#define CLIBV4L2_ASSIGN_SHARED(target, source) \
    (target).width = (source).width, (target).height = (source).height, \
    (target).pixelformat = (source).pixelformat, (target).field = (source).field

#define CLIBV4L2_ASSIGN_COLOR(target, source) \
    (target).colorspace = (source).colorspace, (target).ycbcr_enc = (source).ycbcr_enc, \
    (target).quantization = (source).quantization, (target).xfer_func = (source).xfer_func

static inline struct clibv4l2_picture clibv4l2_get_picture(const struct v4l2_format *format) {
    struct clibv4l2_picture picture = {0};
    if (V4L2_TYPE_IS_MULTIPLANAR(format->type)) {
        const struct v4l2_pix_format_mplane *pix = &format->fmt.pix_mp;
        CLIBV4L2_ASSIGN_SHARED(picture, *pix);
        CLIBV4L2_ASSIGN_COLOR(picture, *pix);
        picture.plane_count = pix->num_planes < 3 ? pix->num_planes : 3;
        for (unsigned int i = 0; i < picture.plane_count; i++) {
            picture.bytesperline[i] = pix->plane_fmt[i].bytesperline;
            picture.sizeimage[i] = pix->plane_fmt[i].sizeimage;
        }
    } else {
        const struct v4l2_pix_format *pix = &format->fmt.pix;
        CLIBV4L2_ASSIGN_SHARED(picture, *pix);
        CLIBV4L2_ASSIGN_COLOR(picture, *pix);
        picture.plane_count = 1;
        picture.bytesperline[0] = pix->bytesperline;
        picture.sizeimage[0] = pix->sizeimage;
    }
    return picture;
}

// Sets what a program asks for; the driver fills in the rest.
static inline void clibv4l2_set_picture(
    struct v4l2_format *format, unsigned int width, unsigned int height, unsigned int pixelformat, unsigned int field) {
    struct clibv4l2_picture picture = {.width = width, .height = height, .pixelformat = pixelformat, .field = field};
    if (V4L2_TYPE_IS_MULTIPLANAR(format->type)) {
        CLIBV4L2_ASSIGN_SHARED(format->fmt.pix_mp, picture);
    } else {
        CLIBV4L2_ASSIGN_SHARED(format->fmt.pix, picture);
    }
}

// Sets the format of a codec's queue: what its frames look like, and what their buffers must hold. Zeros leave strides
// and sizes to the driver.
static inline void clibv4l2_set_codec_picture(struct v4l2_format *format, const struct clibv4l2_picture *picture) {
    memset(&format->fmt, 0, sizeof format->fmt);
    if (V4L2_TYPE_IS_MULTIPLANAR(format->type)) {
        struct v4l2_pix_format_mplane *pix = &format->fmt.pix_mp;
        CLIBV4L2_ASSIGN_SHARED(*pix, *picture);
        CLIBV4L2_ASSIGN_COLOR(*pix, *picture);
        pix->num_planes = 1;
        pix->plane_fmt[0].bytesperline = picture->bytesperline[0];
        pix->plane_fmt[0].sizeimage = picture->sizeimage[0];
    } else {
        struct v4l2_pix_format *pix = &format->fmt.pix;
        CLIBV4L2_ASSIGN_SHARED(*pix, *picture);
        CLIBV4L2_ASSIGN_COLOR(*pix, *picture);
        pix->bytesperline = picture->bytesperline[0];
        pix->sizeimage = picture->sizeimage[0];
        // Otherwise the kernel resets color.
        pix->priv = V4L2_PIX_FMT_PRIV_MAGIC;
    }
}
#undef CLIBV4L2_ASSIGN_SHARED
#undef CLIBV4L2_ASSIGN_COLOR

// What tells one signal from another. `struct v4l2_dv_timings` is packed as well.
struct clibv4l2_timings {
    unsigned int width, height, interlaced;
    unsigned long long pixelclock;
};

static inline struct clibv4l2_timings clibv4l2_get_timings(const struct v4l2_dv_timings *timings) {
    return (struct clibv4l2_timings){
        timings->bt.width, timings->bt.height, timings->bt.interlaced, timings->bt.pixelclock};
}

static const unsigned int clibv4l2_control_next = V4L2_CTRL_FLAG_NEXT_CTRL | V4L2_CTRL_FLAG_NEXT_COMPOUND;

#endif
