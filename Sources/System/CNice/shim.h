#ifndef CNICE_SHIM_H
#define CNICE_SHIM_H

#include <fcntl.h>
#include <netinet/in.h>
#include <nice/agent.h>
#include <string.h>
#include <sys/socket.h>

// Swift has no functions of variable arguments, and no casts between types of functions.

/// An agent as WebRTC needs it: RFC 8445 with regular nomination and consent freshness, UDP only, no question to a router,
/// and a check each 5 ms, which connects three times as fast as each 20.
static inline NiceAgent *nice_shim_agent_new(GMainContext *context, int is_controlling) {
    NiceAgent *agent = nice_agent_new_full(
        context, NICE_COMPATIBILITY_RFC5245,
        (NiceAgentOption)(NICE_AGENT_OPTION_REGULAR_NOMINATION | NICE_AGENT_OPTION_CONSENT_FRESHNESS));
    g_object_set(
        agent, "controlling-mode", (gboolean)is_controlling, "upnp", FALSE, "ice-tcp", FALSE, "stun-pacing-timer", 5u,
        NULL);
    return agent;
}

static inline void nice_shim_set_stun_server(NiceAgent *agent, const char *address, unsigned port) {
    g_object_set(agent, "stun-server", address, "stun-server-port", (guint)port, NULL);
}

static inline void nice_shim_set_relay_only(NiceAgent *agent) { g_object_set(agent, "force-relay", TRUE, NULL); }

typedef void (*nice_shim_gathered_function)(NiceAgent *agent, guint stream, gpointer context);
typedef void (*nice_shim_state_function)(NiceAgent *agent, guint stream, guint component, guint state, gpointer context);

static inline void nice_shim_connect_signals(
    NiceAgent *agent, nice_shim_gathered_function gathered, nice_shim_state_function state, void *context) {
    g_signal_connect(agent, "candidate-gathering-done", G_CALLBACK(gathered), context);
    g_signal_connect(agent, "component-state-changed", G_CALLBACK(state), context);
}

static inline void nice_shim_disconnect_signals(NiceAgent *agent, void *context) {
    g_signal_handlers_disconnect_by_data(agent, context);
}

typedef void (*nice_shim_pair_function)(
    NiceAgent *agent, guint stream, guint component, NiceCandidate *local, NiceCandidate *remote, gpointer context);

static inline void nice_shim_connect_pair_signal(NiceAgent *agent, nice_shim_pair_function changed, void *context) {
    g_signal_connect(agent, "new-selected-pair-full", G_CALLBACK(changed), context);
}

/// A duplicate of the socket of the chosen pair, and the address of the peer there; -1 without a pair, where it goes by a
/// relay of this side, or no descriptor is left.
static inline int nice_shim_direct_path(
    NiceAgent *agent, guint stream, guint component, struct sockaddr_storage *peer, socklen_t *length) {
    NiceCandidate *local = NULL, *remote = NULL;
    if (!nice_agent_get_selected_pair(agent, stream, component, &local, &remote)
        || local->type == NICE_CANDIDATE_TYPE_RELAYED || local->transport != NICE_CANDIDATE_TRANSPORT_UDP
        || remote->transport != NICE_CANDIDATE_TRANSPORT_UDP)
        return -1;
    GSocket *socket = nice_agent_get_selected_socket(agent, stream, component);
    if (!socket) return -1;
    memset(peer, 0, sizeof *peer);
    nice_address_copy_to_sockaddr(&remote->addr, (struct sockaddr *)peer);
    *length = peer->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    int descriptor = fcntl(g_socket_get_fd(socket), F_DUPFD_CLOEXEC, 0);
    g_object_unref(socket);
    return descriptor;
}

/// Takes the path in use as one that the peer consents to, which libnice does not know of.
static inline gboolean nice_shim_keep_path(NiceAgent *agent, guint stream, guint component) {
    NiceCandidate *local = NULL, *remote = NULL, *same_local = NULL, *same_remote = NULL;
    if (!nice_agent_get_selected_pair(agent, stream, component, &local, &remote)) return FALSE;
    gchar *local_name = g_strdup(local->foundation), *remote_name = g_strdup(remote->foundation);
    gboolean is_kept = nice_agent_set_selected_pair(agent, stream, component, local_name, remote_name)
        && nice_agent_get_selected_pair(agent, stream, component, &same_local, &same_remote)
        && local == same_local && remote == same_remote;
    g_free(local_name);
    g_free(remote_name);
    return is_kept;
}

/// For `nice_agent_close_async`: releases what the closing has held.
typedef void (*nice_shim_closed_function)(GObject *agent, GAsyncResult *result, gpointer context);

/// Runs a function in the context's thread; true to be called again after the interval.
static inline GSource *nice_shim_add_timer(
    GMainContext *context, unsigned milliseconds, GSourceFunc function, void *argument, GDestroyNotify release) {
    GSource *source = milliseconds > 0 ? g_timeout_source_new(milliseconds) : g_idle_source_new();
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, function, argument, release);
    g_source_attach(source, context);
    return source;
}

static inline void nice_shim_free_candidates(GSList *list) {
    g_slist_free_full(list, (GDestroyNotify)nice_candidate_free);
}

#endif
