#ifndef CLIBXCB_SHIM_H
#define CLIBXCB_SHIM_H

#include <stdbool.h>
#include <xcb/composite.h>
#include <xcb/damage.h>
#include <xcb/randr.h>
#include <xcb/shm.h>
#include <xcb/xcb.h>
#include <xcb/xcbext.h>
#include <xcb/xfixes.h>
#include <xcb/xinput.h>

// For the tests, which link it themselves: a pointer that moves and clicks.
#if __has_include(<xcb/xtest.h>)
#include <xcb/xtest.h>
#endif

// The identifiers of extensions are variables, which Swift does not take for safe.
enum clibxcb_extension {
    CLIBXCB_COMPOSITE,
    CLIBXCB_DAMAGE,
    CLIBXCB_RANDR,
    CLIBXCB_SHM,
    CLIBXCB_XFIXES,
    CLIBXCB_INPUT,
};

// What the server says of an extension; NULL when the connection is broken. Belongs to the connection.
static inline const xcb_query_extension_reply_t *clibxcb_extension_data(
    xcb_connection_t *connection, enum clibxcb_extension extension) {
    xcb_extension_t *identifiers[] = {
        &xcb_composite_id, &xcb_damage_id, &xcb_randr_id, &xcb_shm_id, &xcb_xfixes_id, &xcb_input_id,
    };
    return xcb_get_extension_data(connection, identifiers[extension]);
}

// Asks to be told whenever any pointing device has moved, whoever has grabbed it (XInput 2.1).
static inline void clibxcb_select_raw_motion(xcb_connection_t *connection, xcb_window_t root) {
    struct {
        xcb_input_event_mask_t head;
        uint32_t mask;
    } request = {{XCB_INPUT_DEVICE_ALL_MASTER, 1}, XCB_INPUT_XI_EVENT_MASK_RAW_MOTION};
    xcb_input_xi_select_events(connection, root, 1, &request.head);
}

// The type of an event of an extension that has no range of numbers of its own; 0 for another's.
static inline uint16_t clibxcb_generic_event_type(const xcb_generic_event_t *event, uint8_t major_opcode) {
    const xcb_ge_generic_event_t *generic = (const xcb_ge_generic_event_t *)event;
    bool is_its = (event->response_type & 0x7f) == XCB_GE_GENERIC && generic->extension == major_opcode;
    return is_its ? generic->event_type : 0;
}

#endif
