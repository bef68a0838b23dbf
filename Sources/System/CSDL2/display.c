#include "csdl2.h"

#include <SDL2/SDL_syswm.h>
#include <X11/Xlib.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <wayland-client.h>

static volatile bool has_lost_x_server;

struct csdl_confirmations {
    struct wl_callback *shown;
    struct wl_callback *read;
};

static bool get_info(SDL_Window *window, SDL_SysWMinfo *info) {
    SDL_VERSION(&info->version);
    return SDL_GetWindowWMInfo(window, info);
}

int csdl_descriptor(SDL_Window *window) {
    SDL_SysWMinfo info;
    if (!get_info(window, &info)) return -1;
    switch (info.subsystem) {
    case SDL_SYSWM_WAYLAND: return wl_display_get_fd(info.info.wl.display);
    case SDL_SYSWM_X11: return ConnectionNumber(info.info.x11.display);
    default: return -1;
    }
}

void csdl_flush(SDL_Window *window) {
    SDL_SysWMinfo info;
    if (!get_info(window, &info)) return;
    // A socket that takes no more is flushed at the next turn.
    if (info.subsystem == SDL_SYSWM_WAYLAND) wl_display_flush(info.info.wl.display);
    if (info.subsystem == SDL_SYSWM_X11) XFlush(info.info.x11.display);
}

void csdl_disconnect(SDL_Window *window) {
    SDL_SysWMinfo info;
    if (!get_info(window, &info) || info.subsystem != SDL_SYSWM_WAYLAND) return;
    shutdown(wl_display_get_fd(info.info.wl.display), SHUT_RDWR);
}

const char *csdl_gl_renderer(void) {
    enum { GL_RENDERER = 0x1F01 };
    const unsigned char *(*get_string)(unsigned int) =
        (const unsigned char *(*)(unsigned int))SDL_GL_GetProcAddress("glGetString");
    return get_string ? (const char *)get_string(GL_RENDERER) : NULL;
}

static int ignore_request_error(Display *display, XErrorEvent *error) {
    (void)display;
    (void)error;
    return 0;
}

static int ignore_connection_error(Display *display) {
    (void)display;
    return 0;
}

// In place of exit(1), which Xlib calls where there is no such handler.
static void record_loss(Display *display, void *data) {
    (void)display;
    (void)data;
    has_lost_x_server = true;
}

void csdl_survive_loss(SDL_Window *window) {
    SDL_SysWMinfo info;
    if (!get_info(window, &info) || info.subsystem != SDL_SYSWM_X11) return;
    XSetErrorHandler(ignore_request_error);
    XSetIOErrorHandler(ignore_connection_error);
    XSetIOErrorExitHandler(info.info.x11.display, record_loss, NULL);
}

bool csdl_has_lost_x_server(void) { return has_lost_x_server; }

csdl_confirmations *csdl_confirmations_create(void) { return calloc(1, sizeof(csdl_confirmations)); }

void csdl_confirmations_free(csdl_confirmations *confirmations) {
    csdl_forget(confirmations);
    free(confirmations);
}

static void forget(struct wl_callback **callback) {
    if (*callback) wl_callback_destroy(*callback);
    *callback = NULL;
}

static void is_done(void *data, struct wl_callback *callback, uint32_t value) {
    (void)callback;
    (void)value;
    forget(data);
}

static const struct wl_callback_listener listener = {is_done};

void csdl_will_present(csdl_confirmations *confirmations, SDL_Window *window) {
    SDL_SysWMinfo info;
    if (!get_info(window, &info) || info.subsystem != SDL_SYSWM_WAYLAND) return;
    forget(&confirmations->shown);
    confirmations->shown = wl_surface_frame(info.info.wl.surface);
    if (confirmations->shown) wl_callback_add_listener(confirmations->shown, &listener, &confirmations->shown);
}

void csdl_did_present(csdl_confirmations *confirmations, SDL_Window *window) {
    SDL_SysWMinfo info;
    if (!get_info(window, &info) || info.subsystem != SDL_SYSWM_WAYLAND) return;
    forget(&confirmations->read);
    confirmations->read = wl_display_sync(info.info.wl.display);
    if (confirmations->read) wl_callback_add_listener(confirmations->read, &listener, &confirmations->read);
}

void csdl_forget(csdl_confirmations *confirmations) {
    forget(&confirmations->shown);
    forget(&confirmations->read);
}

bool csdl_is_unread(const csdl_confirmations *confirmations) { return confirmations->read != NULL; }
bool csdl_is_unshown(const csdl_confirmations *confirmations) { return confirmations->shown != NULL; }
