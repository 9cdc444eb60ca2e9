#define _GNU_SOURCE
#include "clinux_owner.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

int clinux_diag_socket(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    return descriptor < 0 ? -errno : descriptor;
}

int clinux_udp_owner(
    int descriptor, int family, const void *client, uint16_t client_port, const void *server, uint16_t server_port,
    uint32_t *user, uint64_t *group) {
    static _Atomic uint32_t sequence;
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 body;
    } request = {
        .header = {.nlmsg_len = sizeof request,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST,
                   .nlmsg_seq = ++sequence},
        .body = {.sdiag_family = (uint8_t)family, .sdiag_protocol = IPPROTO_UDP, .idiag_states = ~0u},
    };
    size_t length = family == AF_INET6 ? 16 : 4;
    // For UDP the kernel takes the source for the far end (udp_dump_one).
    memcpy(request.body.id.idiag_src, server, length);
    memcpy(request.body.id.idiag_dst, client, length);
    request.body.id.idiag_sport = htons(server_port);
    request.body.id.idiag_dport = htons(client_port);
    request.body.id.idiag_cookie[0] = request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    if (sendto(descriptor, &request, sizeof request, 0, (struct sockaddr *)&kernel, sizeof kernel) < 0)
        return -errno;
    for (;;) {
        _Alignas(struct nlmsghdr) char buffer[4096];
        struct sockaddr_nl sender;
        socklen_t sender_length = sizeof sender;
        // The kernel has replied before sendto returns.
        ssize_t size = recvfrom(
            descriptor, buffer, sizeof buffer, MSG_DONTWAIT, (struct sockaddr *)&sender, &sender_length);
        if (size < 0)
            return -errno;
        const struct nlmsghdr *header = (const void *)buffer;
        if (sender.nl_pid != 0 || (size_t)size < sizeof *header || header->nlmsg_len > (size_t)size
            || header->nlmsg_seq != request.header.nlmsg_seq)
            continue;
        if (header->nlmsg_type == NLMSG_ERROR) {
            const struct nlmsgerr *error = NLMSG_DATA(header);
            return header->nlmsg_len >= NLMSG_LENGTH(sizeof *error) && error->error < 0 ? error->error : -EPROTO;
        }
        const struct inet_diag_msg *message = NLMSG_DATA(header);
        if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY || header->nlmsg_len < NLMSG_LENGTH(sizeof *message))
            return -EPROTO;
        *user = message->idiag_uid;
        *group = 0;
        const char *at = (const char *)message + NLMSG_ALIGN(sizeof *message);
        const char *end = buffer + header->nlmsg_len;
        while (at + sizeof(struct nlattr) <= end) {
            const struct nlattr *attribute = (const void *)at;
            if (attribute->nla_len < sizeof *attribute || at + attribute->nla_len > end)
                break;
            if (attribute->nla_type == INET_DIAG_CGROUP_ID && attribute->nla_len >= sizeof *attribute + sizeof *group)
                memcpy(group, attribute + 1, sizeof *group);
            at += NLA_ALIGN(attribute->nla_len);
        }
        return 0;
    }
}
