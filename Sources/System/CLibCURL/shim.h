#ifndef CLIBCURL_SHIM_H
#define CLIBCURL_SHIM_H

// Its macros stand in the way of functions that pass an option on.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/select.h>
#include <sys/socket.h>

// Swift cannot call functions of variable arguments.

static inline CURLcode curl_shim_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_shim_set_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_shim_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

/// For `CURLOPT_WRITEFUNCTION` and `CURLOPT_HEADERFUNCTION`.
typedef size_t (*curl_shim_data_function)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode curl_shim_set_data_function(CURL *handle, CURLoption option, curl_shim_data_function value) {
    return curl_easy_setopt(handle, option, value);
}

/// For `CURLOPT_PREREQFUNCTION`.
typedef int (*curl_shim_request_function)(
    void *context, char *server_address, char *own_address, int server_port, int own_port);

static inline CURLcode curl_shim_set_request_function(CURL *handle, curl_shim_request_function value) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, value);
}

static inline CURLcode curl_shim_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode curl_shim_get_string(CURL *handle, CURLINFO info, char **value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode curl_shim_get_socket(CURL *handle, curl_socket_t *value) {
    return curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, value);
}

/// The connection of `handle` from this port of ours, where it waits for nothing but bytes; -1 when it is not so, and for
/// descriptors that an `fd_set` cannot hold.
///
/// Looked for by the port, since newer versions name descriptors of curl's own as well.
static inline curl_socket_t curl_shim_get_receiving_socket(CURLM *handle, int port) {
    fd_set receiving, sending, failing;
    FD_ZERO(&receiving);
    FD_ZERO(&sending);
    FD_ZERO(&failing);
    int highest = -1;
    if (port <= 0 || curl_multi_fdset(handle, &receiving, &sending, &failing, &highest) != CURLM_OK) return -1;
    for (int candidate = 0; candidate <= highest; candidate++) {
        if (!FD_ISSET(candidate, &receiving) || FD_ISSET(candidate, &sending)) continue;
        struct sockaddr_storage address;
        socklen_t length = sizeof(address);
        if (getsockname(candidate, (struct sockaddr *)&address, &length) != 0) continue;
        int found = address.ss_family == AF_INET    ? ntohs(((struct sockaddr_in *)&address)->sin_port)
                    : address.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&address)->sin6_port)
                                                    : 0;
        if (found == port) return candidate;
    }
    return -1;
}

static inline CURLMcode curl_shim_set_multi_long(CURLM *handle, CURLMoption option, long value) {
    return curl_multi_setopt(handle, option, value);
}

/// What the next finished transfer ended with; false when none has finished.
static inline int curl_shim_take_result(CURLM *handle, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(handle, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return 1;
    }
    return 0;
}

static inline CURLcode curl_shim_global_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

/// What is answered to a server that asks for a name and password: no more than these two are understood everywhere.
static const long curl_shim_basic_and_digest = (long)(CURLAUTH_BASIC | CURLAUTH_DIGEST);

static const long curl_shim_bearer = (long)CURLAUTH_BEARER;

#endif
