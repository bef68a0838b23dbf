#ifndef CSCREENCOPY_H
#define CSCREENCOPY_H

#include <stdint.h>
#include <wayland-client.h>

// wlr-screencopy-unstable-v1, version 3: the tables that `wayland-scanner` generates from
// https://gitlab.freedesktop.org/wlroots/wlr-protocols/-/blob/master/unstable/wlr-screencopy-unstable-v1.xml

struct csc_manager;
struct csc_frame;

// In the order of the protocol's events.
struct csc_frame_listener {
    void (*buffer)(void *data, struct csc_frame *frame, uint32_t format, uint32_t width, uint32_t height, uint32_t stride);
    void (*flags)(void *data, struct csc_frame *frame, uint32_t flags);
    void (*ready)(
        void *data, struct csc_frame *frame, uint32_t seconds_high, uint32_t seconds_low, uint32_t nanoseconds);
    void (*failed)(void *data, struct csc_frame *frame);
    void (*damage)(void *data, struct csc_frame *frame, uint32_t x, uint32_t y, uint32_t width, uint32_t height);
    void (*dma_buffer)(void *data, struct csc_frame *frame, uint32_t format, uint32_t width, uint32_t height);
    void (*buffer_done)(void *data, struct csc_frame *frame);
};

// The interface's name among the globals.
extern const char *const csc_manager_name;

struct csc_manager *csc_manager_bind(struct wl_registry *registry, uint32_t name);
struct wl_shm *csc_memory_bind(struct wl_registry *registry, uint32_t name);
struct wl_output *csc_output_bind(struct wl_registry *registry, uint32_t name, uint32_t version);
void csc_manager_destroy(struct csc_manager *manager);
// NULL without memory.
struct csc_frame *csc_capture(struct csc_manager *manager, int shows_pointer, struct wl_output *output);
// In the output's logical coordinates.
struct csc_frame *csc_capture_region(
    struct csc_manager *manager, int shows_pointer, struct wl_output *output, int32_t x, int32_t y, int32_t width,
    int32_t height);
void csc_frame_listen(struct csc_frame *frame, const struct csc_frame_listener *listener, void *data);
// Into the buffer: at once, or when something has changed.
void csc_frame_copy(struct csc_frame *frame, struct wl_buffer *buffer, int when_changed);
void csc_frame_destroy(struct csc_frame *frame);

// Memory that the compositor can write but not shrink, which would end this process. Negative on failure.
int csc_shared_memory(size_t size);

#endif
