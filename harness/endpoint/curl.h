/*
 * curl - libcurl, opened when the first endpoint is named: linked, it would bring thirty libraries
 * into every process of assay, workers among them. After this header its functions are called by
 * their own names.
 */
#ifndef ASSAY_ENDPOINT_CURL_H
#define ASSAY_ENDPOINT_CURL_H

#define CURL_DISABLE_TYPECHECK /* its macros would hide the functions */
#include <curl/curl.h>

#include "harness/core/status.h"

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#define CURL_MAP(X)                                                                                \
    X(curl_easy_cleanup)                                                                           \
    X(curl_easy_getinfo)                                                                           \
    X(curl_easy_init)                                                                              \
    X(curl_easy_perform)                                                                           \
    X(curl_easy_setopt)                                                                            \
    X(curl_easy_strerror)                                                                          \
    X(curl_free)                                                                                   \
    X(curl_global_init)                                                                            \
    X(curl_multi_add_handle)                                                                       \
    X(curl_multi_cleanup)                                                                          \
    X(curl_multi_info_read)                                                                        \
    X(curl_multi_init)                                                                             \
    X(curl_multi_remove_handle)                                                                    \
    X(curl_multi_setopt)                                                                           \
    X(curl_multi_socket_action)                                                                    \
    X(curl_slist_append)                                                                           \
    X(curl_slist_free_all)                                                                         \
    X(curl_url)                                                                                    \
    X(curl_url_cleanup)                                                                            \
    X(curl_url_get)                                                                                \
    X(curl_url_set)

struct curl_functions {
#define CURL_MEMBER(name) __typeof__(&name) name;
    CURL_MAP(CURL_MEMBER)
#undef CURL_MEMBER
};

/* Filled by curl_open. */
extern struct curl_functions curl;

/* Opens libcurl and starts it, once; UNAVAILABLE, with the reason: it is not installed. */
enum status curl_open(struct error *err);

#ifndef CURL_UNMAPPED
#define curl_easy_cleanup curl.curl_easy_cleanup
#define curl_easy_getinfo curl.curl_easy_getinfo
#define curl_easy_init curl.curl_easy_init
#define curl_easy_perform curl.curl_easy_perform
#define curl_easy_setopt curl.curl_easy_setopt
#define curl_easy_strerror curl.curl_easy_strerror
#define curl_free curl.curl_free
#define curl_multi_add_handle curl.curl_multi_add_handle
#define curl_multi_cleanup curl.curl_multi_cleanup
#define curl_multi_info_read curl.curl_multi_info_read
#define curl_multi_init curl.curl_multi_init
#define curl_multi_remove_handle curl.curl_multi_remove_handle
#define curl_multi_setopt curl.curl_multi_setopt
#define curl_multi_socket_action curl.curl_multi_socket_action
#define curl_slist_append curl.curl_slist_append
#define curl_slist_free_all curl.curl_slist_free_all
#define curl_url curl.curl_url
#define curl_url_cleanup curl.curl_url_cleanup
#define curl_url_get curl.curl_url_get
#define curl_url_set curl.curl_url_set
#endif

#endif
