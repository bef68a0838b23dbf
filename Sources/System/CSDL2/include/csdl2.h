#ifndef CSDL2_H
#define CSDL2_H

#include <SDL2/SDL.h>
#include <stdbool.h>

/// SDL2, and what it does not tell of the connection beneath its windows: its descriptor, whether the compositor still
/// answers, and the loss of an X server.
///
/// In C since the error handlers of Xlib must live for as long as the process. All calls are for SDL's thread.

/// The position of a window that the desktop places.
static const int csdl_position_undefined = SDL_WINDOWPOS_UNDEFINED;

/// The descriptor of the connection of a window, to poll; -1 when SDL does not tell.
int csdl_descriptor(SDL_Window *_Nonnull window);

/// Sends what waits to be sent, without waiting.
void csdl_flush(SDL_Window *_Nonnull window);

/// What draws for OpenGL in the present context, such as `llvmpipe`; NULL when there is none.
const char *_Nullable csdl_gl_renderer(void);

/// Closes the connection of a window on Wayland, as its compositor would: no call waits for that any more. All windows lose it.
void csdl_disconnect(SDL_Window *_Nonnull window);

/// Keeps the loss of the X server, and errors of X requests, from ending the process; for a window of X11, before any draw.
/// Other windows are left alone.
void csdl_survive_loss(SDL_Window *_Nonnull window);

/// Whether an X server was lost. From then on nothing of SDL may be called.
bool csdl_has_lost_x_server(void);

/// The confirmations of the last picture of a window on Wayland. Of X11 nothing is ever pending.
typedef struct csdl_confirmations csdl_confirmations;

csdl_confirmations *_Nullable csdl_confirmations_create(void);
/// Before the connection is closed.
void csdl_confirmations_free(csdl_confirmations *_Nonnull confirmations);

/// Before a picture is presented: asks to be notified when the compositor has use for the next one.
void csdl_will_present(csdl_confirmations *_Nonnull confirmations, SDL_Window *_Nonnull window);
/// After it: asks to be notified when the compositor has read the requests so far.
void csdl_did_present(csdl_confirmations *_Nonnull confirmations, SDL_Window *_Nonnull window);
/// Forgets both.
void csdl_forget(csdl_confirmations *_Nonnull confirmations);

/// Whether the compositor has not read the last picture's requests yet.
bool csdl_is_unread(const csdl_confirmations *_Nonnull confirmations);
/// Whether the compositor has had no use for another picture yet: it has not shown the last one.
bool csdl_is_unshown(const csdl_confirmations *_Nonnull confirmations);

#endif
