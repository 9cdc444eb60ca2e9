#pragma once

// libmicrohttpd for Swift, which cannot call variadic functions.

#include <microhttpd.h>
#include <stddef.h>

// A server on a listening socket, which it takes over. It has no thread: it is run when its epoll descriptor is
// readable or its time-out has come, and only then. NULL when it cannot be made; the socket is then still the caller's.
static inline struct MHD_Daemon *cmicrohttpd_start(
    int listener, MHD_AccessHandlerCallback handle, MHD_RequestCompletedCallback completed,
    MHD_NotifyConnectionCallback changed, void *data, unsigned int connections, size_t memory, unsigned int timeout) {
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, data, MHD_OPTION_LISTEN_SOCKET, listener,
        MHD_OPTION_NOTIFY_COMPLETED, completed, data, MHD_OPTION_NOTIFY_CONNECTION, changed, data, MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory, MHD_OPTION_CONNECTION_TIMEOUT, timeout, MHD_OPTION_END);
}

// The descriptor that tells when to run it; -1 if there is none.
static inline int cmicrohttpd_epoll(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

// What `changed` has stored for a connection; NULL if nothing.
static inline void *cmicrohttpd_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

// The socket of a connection, which is the library's; -1 if there is none.
static inline int cmicrohttpd_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

// Leaves a connection open however long nothing is sent.
static inline void cmicrohttpd_stay(struct MHD_Connection *connection) {
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 0U);
}

// How many clients are connected.
static inline unsigned int cmicrohttpd_connections(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

// Its enumerations' constants, under names that no import rule changes.
static const enum MHD_Result cmicrohttpd_yes = MHD_YES;
static const enum MHD_Result cmicrohttpd_no = MHD_NO;
static const enum MHD_ValueKind cmicrohttpd_parameters = MHD_GET_ARGUMENT_KIND;
static const enum MHD_ValueKind cmicrohttpd_fields = MHD_HEADER_KIND;
static const enum MHD_ConnectionNotificationCode cmicrohttpd_connected = MHD_CONNECTION_NOTIFY_STARTED;
static const enum MHD_ResponseMemoryMode cmicrohttpd_copied = MHD_RESPMEM_MUST_COPY;
