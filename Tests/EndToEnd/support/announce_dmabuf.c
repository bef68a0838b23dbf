// For xdg-desktop-portal-wlr 0.7 under a compositor without a GPU: that version gives up unless screencopy announces a
// DMA-BUF format. Loaded into it, this announces one. The backend uses shared memory all the same.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <wayland-client.h>

struct listener {
    void (*buffer)(void *, void *, uint32_t, uint32_t, uint32_t, uint32_t);
    void *flags, *ready, *failed, *damage;
    void (*linux_dmabuf)(void *, void *, uint32_t, uint32_t, uint32_t);
    void *buffer_done;
};
static const struct listener *own;
static struct listener changed;

static void buffer(void *data, void *frame, uint32_t format, uint32_t width, uint32_t height, uint32_t stride) {
    own->buffer(data, frame, format, width, height, stride);
    own->linux_dmabuf(data, frame, 0x34325258 /* XR24 */, width, height);
}

int wl_proxy_add_listener(struct wl_proxy *proxy, void (**listener)(void), void *data) {
    int (*next)(struct wl_proxy *, void (**)(void), void *) = dlsym(RTLD_NEXT, "wl_proxy_add_listener");
    if (strcmp(wl_proxy_get_class(proxy), "zwlr_screencopy_frame_v1") == 0) {
        own = (const struct listener *)(const void *)listener;
        changed = *own;
        changed.buffer = buffer;
        listener = (void (**)(void))(void *)&changed;
    }
    return next(proxy, listener, data);
}
