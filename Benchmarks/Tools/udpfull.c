// udpfull: the cost of a complete UDP DNS responder in C, the reference for a cached answer. One thread: epoll,
// recvmmsg and sendmmsg in batches of 64, header checks, access check, name parsed and lower-cased, hash, a locked
// shard of an open addressing table, TTL patched, OPT answered, packet information read and set so that the reply
// leaves from the address asked. Each name is "learned" with one fixed A record when first seen. No policy, no
// eviction.
//
//   udpfull PORT            (127.0.0.1 only)
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

enum { BATCH = 64, SIZE = 4096, SHARDS = 64, SLOTS = 1 << 16, RECORD_SIZE = 16, OPT_SIZE = 11 };
enum { NOERROR = 0, FORMERR = 1, NOTIMP = 4, REFUSED = 5 };

struct entry {
    uint64_t hash;
    uint32_t stored;
    uint16_t key_length, answer_length;
    uint8_t key[260], answer[64];
};
struct shard {
    pthread_mutex_t lock;
    struct entry *slots;
};
static struct shard shards[SHARDS];

static uint64_t hash(const uint8_t *bytes, unsigned count) {
    uint64_t state = 0x9e3779b97f4a7c15ull ^ count, word;
    for (; count >= 8; bytes += 8, count -= 8) {
        memcpy(&word, bytes, 8);
        state = (state ^ word) * 0xff51afd7ed558ccdull;
        state ^= state >> 32;
    }
    word = 0;
    memcpy(&word, bytes, count);
    state = (state ^ word) * 0xff51afd7ed558ccdull;
    return (state ^ state >> 29) | 1;
}

static uint32_t boot_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint32_t)t.tv_sec;
}

/// Copies the lower-cased name at byte 12 to `key`; returns its length, 0 if it is malformed.
static unsigned read_name(const uint8_t *message, unsigned length, uint8_t *key) {
    unsigned at = 12, count = 0;
    for (;;) {
        if (at >= length || message[at] > 63 || count + message[at] + 1u > 255)
            return 0;
        unsigned label = message[at++];
        key[count++] = (uint8_t)label;
        if (!label)
            return count;
        if (at + label > length)
            return 0;
        for (unsigned i = 0; i < label; i++) {
            uint8_t byte = message[at + i];
            key[count++] = byte >= 'A' && byte <= 'Z' ? byte | 32 : byte;
        }
        at += label;
    }
}

/// Copies the answer for `key` to `answer`, storing it first if it is missing; returns its length.
static unsigned look_up(const uint8_t *key, unsigned count, uint32_t now, uint8_t *answer, uint32_t *age) {
    static const uint8_t record[RECORD_SIZE] = {0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0xff, 0xff, 0, 4, 192, 0, 2, 1};
    uint64_t wanted = hash(key, count);
    struct shard *shard = &shards[wanted >> 58];
    unsigned length = 0;
    pthread_mutex_lock(&shard->lock);
    for (uint64_t i = wanted >> 8; !length; i++) {
        struct entry *entry = &shard->slots[i & (SLOTS - 1)];
        if (!entry->hash) {
            entry->hash = wanted, entry->stored = now;
            entry->key_length = (uint16_t)count, entry->answer_length = sizeof record;
            memcpy(entry->key, key, count), memcpy(entry->answer, record, sizeof record);
        }
        if (entry->hash == wanted && entry->key_length == count && !memcmp(entry->key, key, count)) {
            length = entry->answer_length, *age = now - entry->stored;
            memcpy(answer, entry->answer, length);
        }
    }
    pthread_mutex_unlock(&shard->lock);
    return length;
}

/// Writes the reply over the query; returns its length, 0 to drop.
static unsigned reply(uint8_t *message, unsigned length, uint32_t client, uint32_t now) {
    if (length < 12 || message[2] & 0x80)
        return 0;
    uint8_t key[260];
    unsigned rcode = NOERROR, name = 0, at = 12;
    if (ntohl(client) >> 24 != 127)
        rcode = REFUSED;
    else if (message[2] >> 3 & 15)
        rcode = NOTIMP;
    else if (message[4] || message[5] != 1 || !(name = read_name(message, length, key)) || at + name + 4 > length)
        rcode = FORMERR;
    if (rcode) {
        message[2] = (message[2] & 0x79) | 0x80, message[3] = 0x80 | (uint8_t)rcode;
        memset(message + 4, 0, 8);
        return 12;
    }
    at += name;
    memcpy(key + name, message + at, 4);
    at += 4;
    int has_opt = (message[10] | message[11]) && at + OPT_SIZE <= length && !message[at] && message[at + 2] == 41;
    unsigned space = has_opt ? (unsigned)(message[at + 3] << 8 | message[at + 4]) : 512;
    if (space < 512)
        space = 512;

    uint8_t answer[64];
    uint32_t age = 0, ttl;
    unsigned answer_length = look_up(key, name + 4, now, answer, &age);
    memcpy(&ttl, answer + 6, 4);
    ttl = htonl(ntohl(ttl) > age ? ntohl(ttl) - age : 0);
    memcpy(answer + 6, &ttl, 4);

    message[2] = (message[2] & 1) | 0x80, message[3] = 0x80;
    memset(message + 6, 0, 6);
    if (at + answer_length + (has_opt ? OPT_SIZE : 0) > space) {
        message[2] |= 2;
        answer_length = 0;
    } else {
        message[7] = 1;
    }
    memcpy(message + at, answer, answer_length);
    at += answer_length;
    if (has_opt) {
        static const uint8_t opt[OPT_SIZE] = {0, 0, 41, 4, 208};
        memcpy(message + at, opt, sizeof opt);
        at += OPT_SIZE;
        message[11] = 1;
    }
    return at;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: udpfull PORT\n");
        return 2;
    }
    for (int i = 0; i < SHARDS; i++) {
        pthread_mutex_init(&shards[i].lock, NULL);
        shards[i].slots = calloc(SLOTS, sizeof(struct entry));
        if (!shards[i].slots) {
            perror("calloc");
            return 1;
        }
    }
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), bytes = 4 << 20, one = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes))
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes))
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &one, sizeof one);
    struct sockaddr_in self = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
    self.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *)&self, sizeof self)) {
        perror("bind");
        return 1;
    }
    int loop = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event);
    static uint8_t buffers[BATCH][SIZE], control[BATCH][64];
    static struct mmsghdr in[BATCH], out[BATCH];
    static struct iovec vectors[BATCH];
    static struct sockaddr_in peers[BATCH];
    for (;;) {
        if (epoll_wait(loop, &event, 1, -1) < 1)
            continue;
        for (int count = BATCH; count == BATCH;) {
            for (int i = 0; i < BATCH; i++) {
                vectors[i] = (struct iovec){buffers[i], 1500};
                in[i].msg_hdr = (struct msghdr){
                    .msg_name = &peers[i],
                    .msg_namelen = sizeof peers[i],
                    .msg_iov = &vectors[i],
                    .msg_iovlen = 1,
                    .msg_control = control[i],
                    .msg_controllen = sizeof control[i],
                };
            }
            count = recvmmsg(fd, in, BATCH, MSG_DONTWAIT, NULL);
            uint32_t now = boot_seconds();
            int ready = 0;
            for (int i = 0; i < count; i++) {
                unsigned length = reply(buffers[i], in[i].msg_len, peers[i].sin_addr.s_addr, now);
                if (!length)
                    continue;
                struct cmsghdr *header = CMSG_FIRSTHDR(&in[i].msg_hdr);
                if (header && header->cmsg_type == IP_PKTINFO)
                    ((struct in_pktinfo *)CMSG_DATA(header))->ipi_ifindex = 0;
                vectors[i].iov_len = length;
                out[ready++] = in[i];
            }
            for (int sent = 0; sent < ready;) {
                int done = sendmmsg(fd, out + sent, (unsigned)(ready - sent), 0);
                if (done < 0)
                    break;
                sent += done;
            }
        }
    }
}
