#define _GNU_SOURCE
#include "screencopy.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

const char *const csc_manager_name = "zwlr_screencopy_manager_v1";

static const struct wl_interface frame_interface;

static const struct wl_interface *no_types[] = {NULL, NULL, NULL, NULL};
static const struct wl_interface *capture_types[] = {
    &frame_interface, NULL, &wl_output_interface, NULL, NULL, NULL, NULL};
static const struct wl_interface *copy_types[] = {&wl_buffer_interface};

enum { CAPTURE_OUTPUT, CAPTURE_OUTPUT_REGION, MANAGER_DESTROY };
static const struct wl_message manager_requests[] = {
    {"capture_output", "nio", capture_types},
    {"capture_output_region", "nioiiii", capture_types},
    {"destroy", "", no_types},
};
static const struct wl_interface manager_interface = {
    "zwlr_screencopy_manager_v1", 3, 3, manager_requests, 0, NULL};

enum { COPY, FRAME_DESTROY, COPY_WITH_DAMAGE };
static const struct wl_message frame_requests[] = {
    {"copy", "o", copy_types},
    {"destroy", "", no_types},
    {"copy_with_damage", "2o", copy_types},
};
static const struct wl_message frame_events[] = {
    {"buffer", "uuuu", no_types}, {"flags", "u", no_types},        {"ready", "uuu", no_types},
    {"failed", "", no_types},     {"damage", "2uuuu", no_types},   {"linux_dmabuf", "3uuu", no_types},
    {"buffer_done", "3", no_types},
};
static const struct wl_interface frame_interface = {
    "zwlr_screencopy_frame_v1", 3, 3, frame_requests, 7, frame_events};

struct csc_manager *csc_manager_bind(struct wl_registry *registry, uint32_t name) {
    return wl_registry_bind(registry, name, &manager_interface, 3);
}

struct wl_shm *csc_memory_bind(struct wl_registry *registry, uint32_t name) {
    return wl_registry_bind(registry, name, &wl_shm_interface, 1);
}

struct wl_output *csc_output_bind(struct wl_registry *registry, uint32_t name, uint32_t version) {
    return wl_registry_bind(registry, name, &wl_output_interface, version);
}

void csc_manager_destroy(struct csc_manager *manager) {
    wl_proxy_marshal_flags((struct wl_proxy *)manager, MANAGER_DESTROY, NULL, 3, WL_MARSHAL_FLAG_DESTROY);
}

struct csc_frame *csc_capture(struct csc_manager *manager, int shows_pointer, struct wl_output *output) {
    return (struct csc_frame *)wl_proxy_marshal_flags(
        (struct wl_proxy *)manager, CAPTURE_OUTPUT, &frame_interface, 3, 0, NULL, shows_pointer, output);
}

struct csc_frame *csc_capture_region(
    struct csc_manager *manager, int shows_pointer, struct wl_output *output, int32_t x, int32_t y, int32_t width,
    int32_t height) {
    return (struct csc_frame *)wl_proxy_marshal_flags(
        (struct wl_proxy *)manager, CAPTURE_OUTPUT_REGION, &frame_interface, 3, 0, NULL, shows_pointer, output, x, y,
        width, height);
}

void csc_frame_listen(struct csc_frame *frame, const struct csc_frame_listener *listener, void *data) {
    wl_proxy_add_listener((struct wl_proxy *)frame, (void (**)(void))listener, data);
}

void csc_frame_copy(struct csc_frame *frame, struct wl_buffer *buffer, int when_changed) {
    wl_proxy_marshal_flags((struct wl_proxy *)frame, when_changed ? COPY_WITH_DAMAGE : COPY, NULL, 3, 0, buffer);
}

void csc_frame_destroy(struct csc_frame *frame) {
    wl_proxy_marshal_flags((struct wl_proxy *)frame, FRAME_DESTROY, NULL, 3, WL_MARSHAL_FLAG_DESTROY);
}

int csc_shared_memory(size_t size) {
    int descriptor = memfd_create("capture", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) return -1;
    if (ftruncate(descriptor, (off_t)size) < 0 || fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK) < 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}
