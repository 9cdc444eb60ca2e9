#pragma once

// libcurl for Swift, which cannot call variadic functions: one typed wrapper for each kind of argument, so that the
// compiler passes exactly the C type that libcurl reads back.

#include <curl/curl.h>

// MARK: Options of an easy handle

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
    return (curl_easy_setopt)(easy, option, value);
}

// The text is copied; NULL unsets the option.
static inline CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) {
    return (curl_easy_setopt)(easy, option, value);
}

// The list is not copied: it must outlive the transfer.
static inline CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return (curl_easy_setopt)(easy, option, value);
}

// What a callback will be handed.
static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return (curl_easy_setopt)(easy, option, value);
}

// The URL is not copied: it must outlive the handle's use of it.
static inline CURLcode ccurl_set_url(CURL *easy, CURLU *url) {
    return (curl_easy_setopt)(easy, CURLOPT_CURLU, url);
}

static inline CURLcode ccurl_set_share(CURL *easy, CURLSH *share) {
    return (curl_easy_setopt)(easy, CURLOPT_SHARE, share);
}

// The body is copied; NULL stands for an empty one.
static inline CURLcode ccurl_set_post(CURL *easy, const void *body, curl_off_t size) {
    CURLcode result = (curl_easy_setopt)(easy, CURLOPT_POSTFIELDSIZE_LARGE, size);
    if (result != CURLE_OK) return result;
    return (curl_easy_setopt)(easy, CURLOPT_COPYPOSTFIELDS, body ? (const char *)body : "");
}

static inline CURLcode ccurl_set_on_body(CURL *easy, curl_write_callback callback) {
    return (curl_easy_setopt)(easy, CURLOPT_WRITEFUNCTION, callback);
}

static inline CURLcode ccurl_set_on_header(CURL *easy, curl_write_callback callback) {
    return (curl_easy_setopt)(easy, CURLOPT_HEADERFUNCTION, callback);
}

static inline CURLcode ccurl_set_before_request(CURL *easy, curl_prereq_callback callback) {
    return (curl_easy_setopt)(easy, CURLOPT_PREREQFUNCTION, callback);
}

static inline CURLcode ccurl_set_open_socket(CURL *easy, curl_opensocket_callback callback) {
    return (curl_easy_setopt)(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}

static inline CURLcode ccurl_set_close_socket(CURL *easy, curl_closesocket_callback callback) {
    return (curl_easy_setopt)(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

// The callback is handed the TLS library's own context before each handshake.
static inline CURLcode ccurl_set_on_tls(CURL *easy, curl_ssl_ctx_callback callback) {
    return (curl_easy_setopt)(easy, CURLOPT_SSL_CTX_FUNCTION, callback);
}

// MARK: What an easy handle knows

static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) {
    return (curl_easy_getinfo)(easy, info, value);
}

static inline CURLcode ccurl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
    return (curl_easy_getinfo)(easy, info, value);
}

// The pointer that CURLOPT_PRIVATE set; NULL when none is set.
static inline void *ccurl_get_private(CURL *easy) {
    char *value = NULL;
    (curl_easy_getinfo)(easy, CURLINFO_PRIVATE, &value);
    return value;
}

// MARK: Options of a multi handle

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return (curl_multi_setopt)(multi, option, value);
}

static inline CURLMcode ccurl_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
    return (curl_multi_setopt)(multi, option, value);
}

static inline CURLMcode ccurl_multi_set_on_socket(CURLM *multi, curl_socket_callback callback) {
    return (curl_multi_setopt)(multi, CURLMOPT_SOCKETFUNCTION, callback);
}

static inline CURLMcode ccurl_multi_set_on_timer(CURLM *multi, curl_multi_timer_callback callback) {
    return (curl_multi_setopt)(multi, CURLMOPT_TIMERFUNCTION, callback);
}

// MARK: Options of a share handle

static inline CURLSHcode ccurl_share_add(CURLSH *share, curl_lock_data data) {
    return (curl_share_setopt)(share, CURLSHOPT_SHARE, data);
}

// MARK: Macros that Swift does not see

static const curl_socket_t ccurl_no_socket = CURL_SOCKET_BAD;
static const long ccurl_global_default = CURL_GLOBAL_DEFAULT;
