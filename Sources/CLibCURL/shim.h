#ifndef CLIBCURL_SHIM_H
#define CLIBCURL_SHIM_H

// Its macros stand in the way of functions that pass an option on.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

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

#endif
