#ifndef CPIPEWIRE_SHIM_H
#define CPIPEWIRE_SHIM_H

#include <pipewire/pipewire.h>
#include <spa/node/command.h>
#include <spa/param/buffers.h>
#include <spa/param/video/format-utils.h>

// Macros of casts and of method tables do not reach Swift, and neither do variadic functions.

static const uint32_t cpw_id_any = PW_ID_ANY;

static inline int cpw_loop_descriptor(struct pw_loop *loop) { return pw_loop_get_fd(loop); }
static inline void cpw_loop_enter(struct pw_loop *loop) { pw_loop_enter(loop); }
static inline void cpw_loop_leave(struct pw_loop *loop) { pw_loop_leave(loop); }
// Handles pending events without waiting.
static inline int cpw_loop_iterate(struct pw_loop *loop) { return pw_loop_iterate(loop, 0); }

static inline void cpw_core_listen(
    struct pw_core *core, struct spa_hook *hook, const struct pw_core_events *events, void *data) {
    pw_core_add_listener(core, hook, events, data);
}
static inline int cpw_core_sync(struct pw_core *core) { return pw_core_sync(core, PW_ID_CORE, 0); }

static inline struct pw_registry *cpw_registry_open(struct pw_core *core) {
    return pw_core_get_registry(core, PW_VERSION_REGISTRY, 0);
}
static inline void cpw_registry_listen(
    struct pw_registry *registry, struct spa_hook *hook, const struct pw_registry_events *events, void *data) {
    pw_registry_add_listener(registry, hook, events, data);
}
static inline void cpw_registry_close(struct pw_registry *registry, struct spa_hook *hook) {
    spa_hook_remove(hook);
    pw_proxy_destroy((struct pw_proxy *)registry);
}

// From sys/mman.h, which has it for _GNU_SOURCE only.
extern void *mremap(void *address, size_t old_size, size_t new_size, int flags, ...);

// Maps the same shared pages once more, so that they stay when the library unmaps its own. NULL where they are not shared.
static inline void *cpw_map_again(void *pages, size_t byte_count) {
    void *again = mremap(pages, 0, byte_count, 1 /* MREMAP_MAYMOVE */);
    return again == (void *)-1 ? NULL : again;
}

// Has the server clear a node's format and buffers, until a reader needs them again.
static inline void cpw_suspend(struct pw_registry *registry, uint32_t id) {
    struct pw_node *node =
        (struct pw_node *)pw_registry_bind(registry, id, PW_TYPE_INTERFACE_Node, PW_VERSION_NODE, 0);
    if (node == NULL) return;
    struct spa_command command = SPA_NODE_COMMAND_INIT(SPA_NODE_COMMAND_Suspend);
    pw_node_send_command(node, &command);
    pw_proxy_destroy((struct pw_proxy *)node);
}

static inline struct pw_properties *cpw_properties(void) { return pw_properties_new(NULL, NULL); }

// What a raw video format says; zeros for what it leaves open.
struct cpw_format {
    uint32_t format, width, height;
    uint32_t rate_numerator, rate_denominator;
    uint32_t maximum_rate_numerator, maximum_rate_denominator;
    uint32_t color_matrix, color_range;
    // Whether the memory has a layout of a GPU's.
    bool has_modifier;
};

static inline bool cpw_parse_format(const struct spa_pod *pod, struct cpw_format *result) {
    uint32_t type = 0, subtype = 0;
    struct spa_video_info_raw raw;
    memset(&raw, 0, sizeof raw);
    memset(result, 0, sizeof *result);
    if (pod == NULL || spa_format_parse(pod, &type, &subtype) < 0 || type != SPA_MEDIA_TYPE_video
        || subtype != SPA_MEDIA_SUBTYPE_raw || spa_format_video_raw_parse(pod, &raw) < 0)
        return false;
    result->format = raw.format;
    result->width = raw.size.width;
    result->height = raw.size.height;
    result->rate_numerator = raw.framerate.num;
    result->rate_denominator = raw.framerate.denom;
    result->maximum_rate_numerator = raw.max_framerate.num;
    result->maximum_rate_denominator = raw.max_framerate.denom;
    result->color_matrix = raw.color_matrix;
    result->color_range = raw.color_range;
    result->has_modifier = spa_pod_find_prop(pod, NULL, SPA_FORMAT_VIDEO_modifier) != NULL;
    return true;
}

// Begins a format of raw video; `formats` are in the order of preference.
static inline void cpw_begin_format(
    struct spa_pod_builder *builder, struct spa_pod_frame *frame, const uint32_t *formats, uint32_t count) {
    struct spa_pod_frame choice;
    spa_pod_builder_push_object(builder, frame, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
    spa_pod_builder_add(
        builder, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype,
        SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), 0);
    spa_pod_builder_prop(builder, SPA_FORMAT_VIDEO_format, 0);
    spa_pod_builder_push_choice(builder, &choice, count > 1 ? SPA_CHOICE_Enum : SPA_CHOICE_None, 0);
    // The first of a choice is its default, and comes again among the values.
    if (count > 1) spa_pod_builder_id(builder, formats[0]);
    for (uint32_t i = 0; i < count; i++) spa_pod_builder_id(builder, formats[i]);
    spa_pod_builder_pop(builder, &choice);
}

// Connects a stream that takes frames of any size; the given size and rate are preferred.
static inline int cpw_connect_reader(
    struct pw_stream *stream, uint32_t target, const uint32_t *formats, uint32_t count, uint32_t width, uint32_t height,
    uint32_t rate_numerator, uint32_t rate_denominator) {
    uint8_t memory[2048];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    struct spa_pod_frame frame;
    cpw_begin_format(&builder, &frame, formats, count);
    spa_pod_builder_add(
        &builder, SPA_FORMAT_VIDEO_size,
        SPA_POD_CHOICE_RANGE_Rectangle(
            &SPA_RECTANGLE(width, height), &SPA_RECTANGLE(1, 1), &SPA_RECTANGLE(16383, 16383)),
        SPA_FORMAT_VIDEO_framerate,
        SPA_POD_CHOICE_RANGE_Fraction(
            &SPA_FRACTION(rate_numerator, rate_denominator), &SPA_FRACTION(0, 1), &SPA_FRACTION(1000, 1)),
        0);
    const struct spa_pod *params[] = {(const struct spa_pod *)spa_pod_builder_pop(&builder, &frame)};
    return pw_stream_connect(
        stream, PW_DIRECTION_INPUT, target,
        (enum pw_stream_flags)(PW_STREAM_FLAG_AUTOCONNECT | PW_STREAM_FLAG_DONT_RECONNECT), params, 1);
}

static inline const struct spa_pod *cpw_meta(
    struct spa_pod_builder *builder, uint32_t type, int32_t size, int32_t minimum, int32_t maximum) {
    return (const struct spa_pod *)spa_pod_builder_add_object(
        builder, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(type), SPA_PARAM_META_size,
        SPA_POD_CHOICE_RANGE_Int(size, minimum, maximum));
}

// Answers a format: what memory a reader takes, and the metadata of each frame.
static inline int cpw_accept_reader(struct pw_stream *stream) {
    uint8_t memory[4096];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const int32_t header = sizeof(struct spa_meta_header), region = sizeof(struct spa_meta_region);
    const struct spa_pod *params[] = {
        (const struct spa_pod *)spa_pod_builder_add_object(
            &builder, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers,
            SPA_POD_CHOICE_RANGE_Int(8, 2, 16), SPA_PARAM_BUFFERS_dataType,
            SPA_POD_CHOICE_FLAGS_Int((1 << SPA_DATA_MemFd) | (1 << SPA_DATA_MemPtr))),
        cpw_meta(&builder, SPA_META_Header, header, header, header),
        cpw_meta(&builder, SPA_META_VideoDamage, region * 16, region, region * 64),
        cpw_meta(&builder, SPA_META_VideoCrop, region, region, region)};
    return pw_stream_update_params(stream, params, 4);
}

// Connects a stream that offers frames of one format, as a camera does. It drives the graph: a frame is sent when it is
// triggered.
static inline int cpw_connect_camera(
    struct pw_stream *stream, uint32_t format, uint32_t width, uint32_t height, uint32_t rate_numerator,
    uint32_t rate_denominator) {
    uint8_t memory[1024];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    struct spa_pod_frame frame;
    cpw_begin_format(&builder, &frame, &format, 1);
    spa_pod_builder_add(
        &builder, SPA_FORMAT_VIDEO_size, SPA_POD_Rectangle(&SPA_RECTANGLE(width, height)), SPA_FORMAT_VIDEO_framerate,
        SPA_POD_Fraction(&SPA_FRACTION(rate_numerator, rate_denominator)), 0);
    const struct spa_pod *params[] = {(const struct spa_pod *)spa_pod_builder_pop(&builder, &frame)};
    return pw_stream_connect(
        stream, PW_DIRECTION_OUTPUT, PW_ID_ANY,
        (enum pw_stream_flags)(PW_STREAM_FLAG_MAP_BUFFERS | PW_STREAM_FLAG_DRIVER), params, 1);
}

// Answers a format that readers have chosen: the memory of a frame.
static inline int cpw_accept_camera(struct pw_stream *stream, int32_t byte_count, int32_t stride) {
    uint8_t memory[1024];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const int32_t header = sizeof(struct spa_meta_header);
    const struct spa_pod *params[] = {
        (const struct spa_pod *)spa_pod_builder_add_object(
            &builder, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers,
            SPA_POD_CHOICE_RANGE_Int(4, 2, 16), SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(1), SPA_PARAM_BUFFERS_size,
            SPA_POD_Int(byte_count), SPA_PARAM_BUFFERS_stride, SPA_POD_Int(stride), SPA_PARAM_BUFFERS_dataType,
            SPA_POD_CHOICE_FLAGS_Int((1 << SPA_DATA_MemFd) | (1 << SPA_DATA_MemPtr))),
        cpw_meta(&builder, SPA_META_Header, header, header, header)};
    return pw_stream_update_params(stream, params, 2);
}

static inline struct spa_meta_header *cpw_header(const struct spa_buffer *buffer) {
    return (struct spa_meta_header *)spa_buffer_find_meta_data(
        buffer, SPA_META_Header, sizeof(struct spa_meta_header));
}

// The part of a buffer that is the picture; false where all of it is.
static inline bool cpw_crop(const struct spa_buffer *buffer, struct spa_region *result) {
    const struct spa_meta_region *crop =
        (const struct spa_meta_region *)spa_buffer_find_meta_data(buffer, SPA_META_VideoCrop, sizeof *crop);
    if (crop == NULL || !spa_meta_region_is_valid(crop)) return false;
    *result = crop->region;
    return true;
}

// The parts that differ from the buffer before, at most `capacity` rectangles; -1 where the producer does not say.
static inline int cpw_damage(const struct spa_buffer *buffer, struct spa_region *result, int capacity) {
    const struct spa_meta *meta = spa_buffer_find_meta(buffer, SPA_META_VideoDamage);
    if (meta == NULL) return -1;
    int count = 0;
    const struct spa_meta_region *region;
    spa_meta_for_each(region, meta) {
        if (!spa_meta_region_is_valid(region)) break;
        if (count == capacity) return -1;
        result[count++] = region->region;
    }
    return count;
}

#endif
