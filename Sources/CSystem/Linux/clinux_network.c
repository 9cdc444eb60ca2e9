#define _GNU_SOURCE
#include "clinux_network.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <unistd.h>

static int result(int value) { return value < 0 ? -errno : value; }

int clinux_route_socket(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (descriptor < 0)
        return -errno;
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK,
        .nl_groups =
            RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE,
    };
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0) {
        int error = errno;
        close(descriptor);
        return -error;
    }
    return descriptor;
}

int clinux_route_dump(int descriptor, uint16_t type) {
    struct {
        struct nlmsghdr header;
        struct rtgenmsg body;
    } request = {
        .header = {.nlmsg_len = NLMSG_LENGTH(sizeof request.body),
                   .nlmsg_type = type,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .body = {.rtgen_family = AF_UNSPEC},
    };
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t sent = sendto(
        descriptor, &request, request.header.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof kernel);
    return sent < 0 ? -errno : 0;
}

int clinux_route_receive(int descriptor, void *buffer, size_t size) {
    struct sockaddr_nl sender;
    struct iovec part = {.iov_base = buffer, .iov_len = size};
    struct msghdr message = {
        .msg_name = &sender, .msg_namelen = sizeof sender, .msg_iov = &part, .msg_iovlen = 1};
    memset(&sender, 0, sizeof sender);
    ssize_t length = recvmsg(descriptor, &message, MSG_DONTWAIT);
    if (length < 0)
        return -errno;
    // Other processes may send here too; only the kernel has port ID 0.
    if (sender.nl_family != AF_NETLINK || sender.nl_pid != 0)
        return 0;
    return message.msg_flags & MSG_TRUNC ? -ENOBUFS : (int)length;
}

static int route_lookup(int descriptor, int family, const void *address, void *source) {
    size_t length = family == AF_INET6 ? 16 : 4;
    struct {
        struct nlmsghdr header;
        struct rtmsg body;
        struct rtattr attribute;
        unsigned char destination[16];
    } request = {
        .header = {.nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST},
        .body = {.rtm_family = (unsigned char)family, .rtm_dst_len = (unsigned char)(8 * length)},
        .attribute = {.rta_len = (unsigned short)RTA_LENGTH(length), .rta_type = RTA_DST},
    };
    request.header.nlmsg_len = (uint32_t)(NLMSG_LENGTH(sizeof request.body) + RTA_LENGTH(length));
    memcpy(request.destination, address, length);
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    if (sendto(descriptor, &request, request.header.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof kernel) < 0)
        return -errno;
    // The kernel has queued its answer by the time `sendto` returns.
    union {
        struct nlmsghdr header;
        unsigned char bytes[4096];
    } reply;
    ssize_t received = recv(descriptor, &reply, sizeof reply, MSG_DONTWAIT);
    if (received < 0)
        return -errno;
    if (!NLMSG_OK(&reply.header, (size_t)received))
        return -EBADMSG;
    if (reply.header.nlmsg_type == NLMSG_ERROR) {
        const struct nlmsgerr *error = NLMSG_DATA(&reply.header);
        return reply.header.nlmsg_len >= NLMSG_LENGTH(sizeof *error) && error->error < 0 ? error->error : -EBADMSG;
    }
    if (reply.header.nlmsg_type != RTM_NEWROUTE || reply.header.nlmsg_len < NLMSG_LENGTH(sizeof(struct rtmsg)))
        return -EBADMSG;
    const struct rtmsg *route = NLMSG_DATA(&reply.header);
    size_t left = RTM_PAYLOAD(&reply.header);
    int index = 0;
    for (const struct rtattr *at = RTM_RTA(route); RTA_OK(at, left); at = RTA_NEXT(at, left)) {
        if (at->rta_type == RTA_OIF && RTA_PAYLOAD(at) >= sizeof index)
            memcpy(&index, RTA_DATA(at), sizeof index);
        if (at->rta_type == RTA_PREFSRC && RTA_PAYLOAD(at) >= length)
            memcpy(source, RTA_DATA(at), length);
    }
    return index > 0 ? index : -ENODEV;
}

int clinux_route_lookup(int family, const void *address, void *source) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (descriptor < 0)
        return -errno;
    int index = route_lookup(descriptor, family, address, source);
    close(descriptor);
    return index;
}

int clinux_inotify_create(void) { return result(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)); }

int clinux_inotify_watch_directory(int descriptor, const char *path) {
    return result(inotify_add_watch(
        descriptor, path,
        IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR));
}

int clinux_inotify_watch_file(int descriptor, const char *path) {
    return result(inotify_add_watch(
        descriptor, path, IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF | IN_DONT_FOLLOW));
}

void clinux_inotify_remove(int descriptor, int watch) { (void)inotify_rm_watch(descriptor, watch); }

int clinux_clock_jump_create(void) {
    int descriptor = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (descriptor < 0)
        return -errno;
    int error = clinux_clock_jump_rearm(descriptor);
    if (error < 0)
        close(descriptor);
    return error < 0 ? error : descriptor;
}

int clinux_clock_jump_rearm(int descriptor) {
    uint64_t expirations;
    (void)!read(descriptor, &expirations, sizeof expirations);
    // Some 290 years after 1970: the latest time that the kernel represents.
    struct itimerspec never = {.it_value.tv_sec = INT64_MAX / 1000000000};
    return result(timerfd_settime(descriptor, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL));
}
