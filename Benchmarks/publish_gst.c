// Publishes VP8 by GStreamer's webrtcbin, to compare CPU, memory and delay with.
//
//   publish_gst SOURCE SECONDS
//
// SOURCE is a pipeline that gives VP8, with an element named pace. The offer is written to standard output, with a line with
// a dot after it, and the answer is read from standard input in the same way; then come the result, and the moments when
// frames are due.
#define GST_USE_UNSTABLE_API
#include <gst/gst.h>
#include <gst/webrtc/webrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { WARM_UP = 4, FRAMES = 100000 };

static GstElement *rtc;
static int seconds, asked, frame_count;
static double due[FRAMES], cpu_before;
static gint64 begin_time;

static double cpu(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static gboolean begin(gpointer data) {
    (void)data;
    cpu_before = cpu();
    begin_time = g_get_monotonic_time();
    return FALSE;
}

static gboolean end(gpointer data) {
    (void)data;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double wall = (g_get_monotonic_time() - begin_time) / 1e6;
    printf("%.3f %.3f\n", (cpu() - cpu_before) / wall * 1e3, usage.ru_maxrss * 1024 / 1e6);
    for (int index = 0; index < frame_count; index++) printf("due %.6f\n", due[index]);
    fflush(stdout);
    _exit(0);
}

static gpointer negotiate(gpointer offer) {
    printf("%s.\n", (char *)offer);
    fflush(stdout);
    GString *answer = g_string_new(NULL);
    char line[4096];
    while (fgets(line, sizeof line, stdin) && strcmp(line, ".\n") != 0) g_string_append(answer, line);
    GstSDPMessage *message;
    if (gst_sdp_message_new_from_text(answer->str, &message) != GST_SDP_OK) exit(1);
    GstWebRTCSessionDescription *description =
        gst_webrtc_session_description_new(GST_WEBRTC_SDP_TYPE_ANSWER, message);
    g_signal_emit_by_name(rtc, "set-remote-description", description, NULL);
    return NULL;
}

static void gathered(GObject *object, GParamSpec *property, gpointer data) {
    (void)object, (void)property, (void)data;
    GstWebRTCICEGatheringState state;
    GstWebRTCSessionDescription *description;
    g_object_get(rtc, "ice-gathering-state", &state, NULL);
    if (state != GST_WEBRTC_ICE_GATHERING_STATE_COMPLETE || asked++) return;
    g_object_get(rtc, "local-description", &description, NULL);
    g_thread_new("negotiate", negotiate, gst_sdp_message_as_text(description->sdp));
}

static void offered(GstPromise *promise, gpointer data) {
    (void)data;
    GstWebRTCSessionDescription *description;
    gst_structure_get(
        gst_promise_get_reply(promise), "offer", GST_TYPE_WEBRTC_SESSION_DESCRIPTION, &description, NULL);
    g_signal_emit_by_name(rtc, "set-local-description", description, NULL);
}

static void needed(GstElement *element, gpointer data) {
    (void)data;
    g_signal_emit_by_name(element, "create-offer", NULL, gst_promise_new_with_change_func(offered, NULL, NULL));
}

static GstPadProbeReturn is_due(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
    (void)pad, (void)info, (void)data;
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    if (frame_count < FRAMES) due[frame_count++] = time.tv_sec + time.tv_nsec / 1e9;
    return GST_PAD_PROBE_OK;
}

int main(int count, char **arguments) {
    if (count != 3) return 64;
    gst_init(NULL, NULL);
    seconds = atoi(arguments[2]);
    char *text = g_strdup_printf(
        "%s ! rtpvp8pay mtu=1200 picture-id-mode=2 pt=96 ! "
        "application/x-rtp,media=video,encoding-name=VP8,payload=96 ! webrtcbin name=rtc bundle-policy=max-bundle",
        arguments[1]);
    GError *error = NULL;
    GstElement *pipeline = gst_parse_launch(text, &error);
    if (error) {
        fprintf(stderr, "%s\n", error->message);
        return 1;
    }
    rtc = gst_bin_get_by_name(GST_BIN(pipeline), "rtc");
    g_signal_connect(rtc, "on-negotiation-needed", G_CALLBACK(needed), NULL);
    g_signal_connect(rtc, "notify::ice-gathering-state", G_CALLBACK(gathered), NULL);
    GstElement *pace = gst_bin_get_by_name(GST_BIN(pipeline), "pace");
    GstPad *pad = gst_element_get_static_pad(pace, "src");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, is_due, NULL, NULL);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    g_timeout_add(WARM_UP * 1000, begin, NULL);
    g_timeout_add((WARM_UP + seconds) * 1000, end, NULL);
    g_main_loop_run(g_main_loop_new(NULL, FALSE));
}
