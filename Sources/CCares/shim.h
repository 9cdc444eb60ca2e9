#pragma once

#include <ares.h>
#include <netinet/in.h>
#include <string.h>

// What the headers define as macros in one release and as enumerators in another, with one type each.
static const int ccares_success = ARES_SUCCESS;
static const int ccares_no_memory = ARES_ENOMEM;
static const int ccares_connection_refused = ARES_ECONNREFUSED;
static const ares_socket_t ccares_no_socket = ARES_SOCKET_BAD;

// Opens a channel to one server: 4 or 16 bytes of address in network order, the port of UDP and TCP in host order, and the
// interface to bind to, or NULL. Nothing is taken from /etc/resolv.conf, /etc/nsswitch.conf, the host name or the
// environment: each setting that c-ares would look up there is given. It makes a single try, and hands every
// response over that has the query's ID and question, whatever its code.
static inline int ccares_open(
    ares_channel *channel, const unsigned char *address, int length, int port, const char *interface, int over_tcp,
    int timeout_ms, ares_sock_state_cb changed, void *data)
{
    struct ares_options options;
    memset(&options, 0, sizeof options);
    options.flags = ARES_FLAG_NOCHECKRESP | ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES
        | (over_tcp ? ARES_FLAG_USEVC : 0);
    options.timeout = timeout_ms;
    options.tries = 1;
    options.ndots = 1;
    options.udp_port = 53;
    options.tcp_port = 53;
    options.lookups = (char *)"b";
    options.sock_state_cb = changed;
    options.sock_state_cb_data = data;
    int status = ares_init_options(
        channel, &options,
        ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS | ARES_OPT_UDP_PORT | ARES_OPT_TCP_PORT
            | ARES_OPT_SERVERS | ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS | ARES_OPT_SORTLIST | ARES_OPT_SOCK_STATE_CB
            | ARES_OPT_NOROTATE);
    if (status != ARES_SUCCESS) return status;

    struct ares_addr_port_node node;
    memset(&node, 0, sizeof node);
    node.family = length == 4 ? AF_INET : AF_INET6;
    memcpy(&node.addr, address, length == 4 ? 4 : 16);
    node.udp_port = port;
    node.tcp_port = port;
    status = ares_set_servers_ports(*channel, &node);
    if (status != ARES_SUCCESS) {
        ares_destroy(*channel);
        return status;
    }
    if (interface) ares_set_local_dev(*channel, interface);
    return ARES_SUCCESS;
}
