#define _GNU_SOURCE
#include "clinux_datagrams.h"

#include <errno.h>
#include <linux/filter.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/// Room for one control message with either family's packet information.
union control {
    struct cmsghdr header;
    unsigned char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

_Static_assert(sizeof(struct in_pktinfo) <= sizeof(struct in6_pktinfo), "the larger of the two");
_Static_assert(sizeof(struct clinux_origin) == 56, "handed between threads by value");

/// The longest wait of a batch in all for room in the send buffer.
enum { SEND_PATIENCE_MILLISECONDS = 5 };

struct clinux_batch {
    int slots;
    /// Number of slots that the last receive wrote, and that must be prepared again.
    int received;
    size_t in_size;
    size_t out_size;
    struct clinux_slot *slot;
    struct mmsghdr *in;
    struct mmsghdr *out;
    struct iovec *in_vector;
    struct iovec *out_vector;
    union control *control;
    uint8_t *bytes;
};

struct clinux_batch *clinux_batch_new(int slots, size_t in_size, size_t out_size) {
    if (slots < 1 || slots > 1024 || in_size > 65536 || out_size > 65536)
        return NULL;
    struct clinux_batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        return NULL;
    size_t count = (size_t)slots;
    batch->slots = batch->received = slots;
    batch->in_size = in_size;
    batch->out_size = out_size;
    batch->slot = calloc(count, sizeof *batch->slot);
    batch->in = calloc(count, sizeof *batch->in);
    batch->out = calloc(count, sizeof *batch->out);
    batch->in_vector = calloc(count, sizeof *batch->in_vector);
    batch->out_vector = calloc(count, sizeof *batch->out_vector);
    batch->control = calloc(count, sizeof *batch->control);
    batch->bytes = calloc(count, in_size + out_size);
    if (!batch->slot || !batch->in || !batch->out || !batch->in_vector || !batch->out_vector || !batch->control ||
        !batch->bytes) {
        clinux_batch_free(batch);
        return NULL;
    }
    for (size_t index = 0; index < count; index++) {
        struct clinux_slot *slot = &batch->slot[index];
        slot->in = batch->bytes + index * in_size;
        slot->out = batch->bytes + count * in_size + index * out_size;
        batch->in_vector[index] = (struct iovec){.iov_base = slot->in, .iov_len = in_size};
        batch->in[index].msg_hdr = (struct msghdr){
            .msg_name = &slot->peer,
            .msg_iov = &batch->in_vector[index],
            .msg_iovlen = 1,
            .msg_control = &batch->control[index],
        };
        batch->out[index].msg_hdr = (struct msghdr){.msg_iov = &batch->out_vector[index], .msg_iovlen = 1};
    }
    return batch;
}

void clinux_batch_free(struct clinux_batch *batch) {
    if (!batch)
        return;
    free(batch->slot);
    free(batch->in);
    free(batch->out);
    free(batch->in_vector);
    free(batch->out_vector);
    free(batch->control);
    free(batch->bytes);
    free(batch);
}

struct clinux_slot *clinux_batch_slots(struct clinux_batch *batch) { return batch->slot; }

int clinux_batch_receive(struct clinux_batch *batch, int descriptor, int wait) {
    // The kernel changed these, and only in the slots that it filled.
    for (int index = 0; index < batch->received; index++) {
        batch->in[index].msg_hdr.msg_namelen = sizeof batch->slot[index].peer;
        batch->in[index].msg_hdr.msg_controllen = sizeof batch->control[index];
    }
    batch->received = 0;
    int count = recvmmsg(descriptor, batch->in, (unsigned)batch->slots, wait ? MSG_WAITFORONE : MSG_DONTWAIT, NULL);
    if (count < 0) {
        // A failed receive may have touched the first one.
        batch->received = 1;
        return -errno;
    }
    const uint32_t in_size = (uint32_t)batch->in_size;
    for (int index = 0; index < count; index++) {
        const struct mmsghdr *message = &batch->in[index];
        struct clinux_slot *slot = &batch->slot[index];
        // The kernel never reports more than there is room for; the caller reads as many bytes as reported here.
        slot->in_length = message->msg_len < in_size ? message->msg_len : in_size;
        slot->out_length = 0;
        slot->is_truncated = (message->msg_hdr.msg_flags & MSG_TRUNC) != 0;
        slot->peer_length = message->msg_hdr.msg_namelen;
    }
    batch->received = count;
    return count;
}

/// The packet information of a received datagram; NULL if it has none from which a response may be sent.
///
/// The interface is cleared: the response must follow the routes, also where the query came another way. Only a
/// link-local address needs its interface. An address that is not one host's cannot be a source.
static struct cmsghdr *reply_control(struct msghdr *message) {
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (!header || (message->msg_flags & MSG_CTRUNC))
        return NULL;
    if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
        // ipi_spec_dst is the source that the kernel itself would choose: the query's destination, or for a broadcast
        // our own.
        struct in_pktinfo *info = (struct in_pktinfo *)CMSG_DATA(header);
        info->ipi_ifindex = 0;
        return header;
    }
    if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
        struct in6_pktinfo *info = (struct in6_pktinfo *)CMSG_DATA(header);
        if (IN6_IS_ADDR_MULTICAST(&info->ipi6_addr))
            return NULL;
        if (!IN6_IS_ADDR_LINKLOCAL(&info->ipi6_addr))
            info->ipi6_ifindex = 0;
        return header;
    }
    return NULL;
}

/// Prepares one message for each slot with a response, without gaps, and returns their number.
static int queue_replies(struct clinux_batch *batch) {
    int queued = 0;
    for (int index = 0; index < batch->received; index++) {
        struct clinux_slot *slot = &batch->slot[index];
        if (slot->out_length == 0 || slot->out_length > batch->out_size)
            continue;
        struct msghdr *question = &batch->in[index].msg_hdr;
        batch->out_vector[queued] = (struct iovec){.iov_base = slot->out, .iov_len = slot->out_length};
        struct msghdr *reply = &batch->out[queued++].msg_hdr;
        reply->msg_name = &slot->peer;
        reply->msg_namelen = slot->peer_length;
        reply->msg_control = reply_control(question);
        reply->msg_controllen = reply->msg_control ? question->msg_controllen : 0;
    }
    return queued;
}

/// Sends messages by the first of the sockets whose send buffer has room, and waits at the last one for at most `patience`
/// milliseconds in all. Returns how many were sent.
static int send_messages(const int *descriptors, int count, struct mmsghdr *messages, int queued, int patience) {
    int next = 0, sent = 0;
    while (next < queued && count > 0) {
        int done = sendmmsg(*descriptors, messages + next, (unsigned)(queued - next), MSG_DONTWAIT | MSG_NOSIGNAL);
        struct pollfd room = {.fd = *descriptors, .events = POLLOUT};
        if (done > 0) {
            next += done;
            sent += done;
        } else if (errno == EAGAIN && count > 1) {
            descriptors++;
            count--;
        } else if (errno == EAGAIN) {
            while (patience > 0 && poll(&room, 1, 1) <= 0)
                patience--;
            if (patience-- <= 0)
                break;
        } else if (errno != EINTR) {
            // That one peer is unreachable: port 0, no route, a firewall rule on this machine.
            next++;
        }
    }
    return sent;
}

int clinux_batch_send(struct clinux_batch *batch, const int *descriptors, int count) {
    return send_messages(descriptors, count, batch->out, queue_replies(batch), SEND_PATIENCE_MILLISECONDS);
}

void clinux_batch_origin(struct clinux_batch *batch, int slot, struct clinux_origin *origin) {
    memset(origin, 0, sizeof *origin);
    if (slot < 0 || slot >= batch->received)
        return;
    struct msghdr *question = &batch->in[slot].msg_hdr;
    origin->peer = batch->slot[slot].peer;
    origin->peer_length = question->msg_namelen;
    struct cmsghdr *header = reply_control(question);
    if (!header)
        return;
    origin->has_local = 1;
    if (header->cmsg_level == IPPROTO_IP) {
        struct in_pktinfo *info = (struct in_pktinfo *)CMSG_DATA(header);
        memcpy(origin->local, &info->ipi_spec_dst, sizeof info->ipi_spec_dst);
    } else {
        struct in6_pktinfo *info = (struct in6_pktinfo *)CMSG_DATA(header);
        memcpy(origin->local, &info->ipi6_addr, sizeof info->ipi6_addr);
        origin->interface = (uint32_t)info->ipi6_ifindex;
    }
}

/// Fills the message of one late response; `vector` and `control` must outlive it.
static void fill_reply(struct msghdr *message, struct iovec *vector, union control *control, const uint8_t *bytes,
                       const struct clinux_late_reply *reply) {
    const struct clinux_origin *origin = &reply->origin;
    *vector = (struct iovec){.iov_base = (void *)(bytes + reply->offset), .iov_len = reply->length};
    *message = (struct msghdr){
        .msg_name = (void *)&origin->peer,
        .msg_namelen = origin->peer_length,
        .msg_iov = vector,
        .msg_iovlen = 1,
    };
    if (!origin->has_local)
        return;
    memset(control, 0, sizeof *control);
    message->msg_control = control;
    if (origin->peer.sin6_family == AF_INET) {
        struct in_pktinfo *info = (struct in_pktinfo *)CMSG_DATA(&control->header);
        control->header.cmsg_level = IPPROTO_IP;
        control->header.cmsg_type = IP_PKTINFO;
        control->header.cmsg_len = CMSG_LEN(sizeof *info);
        message->msg_controllen = CMSG_SPACE(sizeof *info);
        memcpy(&info->ipi_spec_dst, origin->local, sizeof info->ipi_spec_dst);
    } else {
        struct in6_pktinfo *info = (struct in6_pktinfo *)CMSG_DATA(&control->header);
        control->header.cmsg_level = IPPROTO_IPV6;
        control->header.cmsg_type = IPV6_PKTINFO;
        control->header.cmsg_len = CMSG_LEN(sizeof *info);
        message->msg_controllen = CMSG_SPACE(sizeof *info);
        memcpy(&info->ipi6_addr, origin->local, sizeof info->ipi6_addr);
        info->ipi6_ifindex = origin->interface;
    }
}

int clinux_send_late(const int *descriptors, int descriptor_count, const uint8_t *bytes,
                     const struct clinux_late_reply *replies, int count) {
    struct mmsghdr messages[CLINUX_LATE_MAX];
    struct iovec vectors[CLINUX_LATE_MAX];
    union control controls[CLINUX_LATE_MAX];
    if (count > CLINUX_LATE_MAX)
        count = CLINUX_LATE_MAX;
    for (int index = 0; index < count; index++)
        fill_reply(&messages[index].msg_hdr, &vectors[index], &controls[index], bytes, &replies[index]);
    return send_messages(descriptors, descriptor_count, messages, count, 0);
}

int clinux_spread_datagrams(int descriptor, int family, int senders, int receivers) {
    if (senders < 1 || receivers < 1 || receivers > 65535 - senders)
        return -EINVAL;
    // The last four bytes of the source address, and the source port after a header without options. With options other
    // bytes are read, which distribute the load less evenly and lose nothing.
    const uint32_t address = (uint32_t)SKF_NET_OFF + (family == AF_INET ? 12 : 20);
    const uint32_t port = (uint32_t)SKF_NET_OFF + (family == AF_INET ? 20 : 40);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, address),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, port),
        BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0),
        // Multiplied by 2^32 / the golden ratio, neighbouring values are spread apart (Knuth, The Art of Computer
        // Programming, 6.4).
        BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 0x9e3779b1),
        BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 16),
        BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, (uint32_t)receivers),
        BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, (uint32_t)senders),
        BPF_STMT(BPF_RET | BPF_A, 0),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    if (setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program) != 0)
        return -errno;
    return 0;
}
