// dnssoak: DNS load on 127.0.0.1 over UDP and TCP that checks every address it gets, for hours.
//
//   dnssoak --port PORT --rate N [--new N] [--names N] [--suffix NAME] [--patience S] [--seed N]
//
// Sends so many queries a second over UDP, half of them A, half AAAA: names drawn from --names known ones, the first ones
// more often, and --new names a second that were never asked for. One query in a hundred goes over TCP instead, some over
// connections that stay open, some over one of their own. A name says its addresses: `h-A-B.SUFFIX` has 198.18.A.B and
// 2001:db8::A:B. Prints one line of JSON each second, with what came in it; what is wrong goes to stderr. Ends with its
// standard input: sends no more, waits for what is outstanding, and prints the sums.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    SOCKETS = 8,
    IDS = 65536,
    KEPT = 4,
    STREAMS = 64,
    STREAM_QUERIES = 64,
    BUFFER = 16384,
    TYPE_A = 1,
    TYPE_AAAA = 28,
    WRONG_SHOWN = 100,
};

struct question {
    uint64_t sent;
    uint32_t number;
    uint8_t a, b, type;
    bool is_new, is_open;
};

struct counts {
    uint64_t sent, good, failed, empty, wrong, lost, tcp_sent, tcp_good, tcp_failed, tcp_lost, tcp_closed, slowest;
};

struct stream {
    int fd;
    bool is_kept, is_connected;
    unsigned next, open;
    struct question questions[STREAM_QUERIES];
    uint8_t in[BUFFER], out[BUFFER];
    size_t in_length, out_length;
};

struct expiry {
    uint64_t sent;
    uint8_t socket;
    uint16_t id;
};

static struct question questions[SOCKETS][IDS];
static struct stream streams[STREAMS];
static struct counts now_counts, sums;
static int sockets[SOCKETS];
static uint16_t next_id[SOCKETS];
static struct expiry *queue;
static size_t queue_size, queue_head, queue_tail;
static uint64_t patience = 2500000000u, state = 1;
static uint32_t names = 20000, new_number;
static const char *suffix = "soak.example";
static struct sockaddr_in server;
static unsigned wrong_shown;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static uint64_t random64(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/// Decimal digits as a reader of hexadecimal digits takes them: 25 is 0x25.
static uint16_t as_hexadecimal(unsigned value) {
    return (uint16_t)((value / 100) << 8 | (value / 10 % 10) << 4 | value % 10);
}

static struct question draw(bool is_new) {
    struct question q = {.is_new = is_new, .type = random64() & 1 ? TYPE_A : TYPE_AAAA};
    if (is_new) {
        q.number = new_number++;
        q.a = (uint8_t)(q.number / 200 % 200);
        q.b = (uint8_t)(q.number % 200 + 1);
        return q;
    }
    double u = (double)(random64() >> 11) / 9007199254740992.0;
    q.number = (uint32_t)(u * u * u * names);
    q.a = (uint8_t)(q.number / 200);
    q.b = (uint8_t)(q.number % 200 + 1);
    return q;
}

static void text(const struct question *q, char *out, size_t size) {
    if (q->is_new)
        snprintf(out, size, "n%u-%u-%u.%s", q->number, q->a, q->b, suffix);
    else
        snprintf(out, size, "h-%u-%u.%s", q->a, q->b, suffix);
}

static size_t encode(const struct question *q, uint16_t id, uint8_t *out) {
    char name[256];
    text(q, name, sizeof name);
    uint8_t *end = mempcpy(out, (uint8_t[12]){(uint8_t)(id >> 8), (uint8_t)id, 1, 0, 0, 1}, 12);
    for (const char *label = name; *label;) {
        const char *dot = strchrnul(label, '.');
        *end++ = (uint8_t)(dot - label);
        end = mempcpy(end, label, (size_t)(dot - label));
        label = *dot ? dot + 1 : dot;
    }
    end = mempcpy(end, (uint8_t[5]){0, 0, q->type, 0, 1}, 5);
    return (size_t)(end - out);
}

static size_t skip_name(const uint8_t *m, size_t length, size_t at) {
    while (at < length) {
        if (m[at] == 0)
            return at + 1;
        if (m[at] >= 0xC0)
            return at + 2;
        at += m[at] + 1u;
    }
    return length;
}

enum verdict { GOOD, FAILED, EMPTY, WRONG };

/// Whether a reply says what the name says: exactly its one address; or that the family is empty.
static enum verdict verdict(const uint8_t *m, size_t length, const struct question *q) {
    if (length < 12)
        return WRONG;
    if ((m[3] & 15) == 2)
        return FAILED;
    if ((m[3] & 15) == 0 && m[6] == 0 && m[7] == 0)
        return EMPTY;
    if ((m[3] & 15) != 0 || m[6] != 0 || m[7] != 1)
        return WRONG;
    size_t at = skip_name(m, length, 12) + 4;
    at = skip_name(m, length, at);
    if (at + 10 > length || m[at] != 0 || m[at + 1] != q->type)
        return WRONG;
    size_t size = (size_t)m[at + 8] << 8 | m[at + 9];
    const uint8_t *address = m + at + 10;
    if (at + 10 + size > length)
        return WRONG;
    if (q->type == TYPE_A)
        return size == 4 && memcmp(address, (uint8_t[4]){198, 18, q->a, q->b}, 4) == 0 ? GOOD : WRONG;
    uint16_t a = as_hexadecimal(q->a), b = as_hexadecimal(q->b);
    uint8_t wanted[16] = {0x20, 0x01, 0x0d, 0xb8, [12] = (uint8_t)(a >> 8), (uint8_t)a, (uint8_t)(b >> 8), (uint8_t)b};
    return size == 16 && memcmp(address, wanted, 16) == 0 ? GOOD : WRONG;
}

static void show_wrong(const uint8_t *m, size_t length, const struct question *q) {
    now_counts.wrong++;
    if (wrong_shown++ >= WRONG_SHOWN)
        return;
    char name[256];
    text(q, name, sizeof name);
    fprintf(stderr, "wrong: %s type %d:", name, q->type);
    for (size_t i = 0; i < length && i < 200; i++)
        fprintf(stderr, "%s%02x", i % 16 ? "" : " ", m[i]);
    fputc('\n', stderr);
}

static void note_time(uint64_t sent) {
    uint64_t took = now_ns() - sent;
    if (took > now_counts.slowest)
        now_counts.slowest = took;
}

// UDP.

static void send_datagram(const struct question *drawn) {
    unsigned s = (unsigned)(random64() % SOCKETS);
    uint16_t id = next_id[s]++;
    struct question *q = &questions[s][id];
    if (q->is_open)
        return;
    *q = *drawn;
    uint8_t message[300];
    size_t length = encode(q, id, message);
    q->sent = now_ns();
    if (send(sockets[s], message, length, MSG_DONTWAIT) < 0)
        return;
    q->is_open = true;
    now_counts.sent++;
    queue[queue_tail] = (struct expiry){q->sent, (uint8_t)s, id};
    queue_tail = (queue_tail + 1) % queue_size;
}

static void receive_datagrams(unsigned s) {
    uint8_t m[4096];
    for (;;) {
        ssize_t length = recv(sockets[s], m, sizeof m, MSG_DONTWAIT);
        if (length < 12)
            return;
        struct question *q = &questions[s][m[0] << 8 | m[1]];
        if (!q->is_open)
            continue;
        q->is_open = false;
        note_time(q->sent);
        switch (verdict(m, (size_t)length, q)) {
        case GOOD: now_counts.good++; break;
        case FAILED: now_counts.failed++; break;
        case EMPTY: now_counts.empty++; break;
        case WRONG: show_wrong(m, (size_t)length, q); break;
        }
    }
}

static void expire(void) {
    uint64_t now = now_ns();
    while (queue_head != queue_tail && now - queue[queue_head].sent > patience) {
        struct question *q = &questions[queue[queue_head].socket][queue[queue_head].id];
        if (q->is_open && q->sent == queue[queue_head].sent) {
            q->is_open = false;
            now_counts.lost++;
            char name[256];
            text(q, name, sizeof name);
            if (wrong_shown++ < WRONG_SHOWN)
                fprintf(stderr, "unanswered: %s type %d\n", name, q->type);
        }
        queue_head = (queue_head + 1) % queue_size;
    }
}

// TCP.

static void close_stream(struct stream *t) {
    now_counts.tcp_closed += t->open;
    for (unsigned i = 0; i < STREAM_QUERIES; i++)
        t->questions[i].is_open = false;
    close(t->fd);
    t->fd = -1;
}

static bool open_stream(struct stream *t, bool is_kept) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        fail("socket");
    if (connect(fd, (struct sockaddr *)&server, sizeof server) < 0 && errno != EINPROGRESS) {
        close(fd);
        return false;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    t->fd = fd;
    t->is_kept = is_kept;
    t->next = t->open = 0;
    t->in_length = t->out_length = 0;
    return true;
}

static void write_stream(struct stream *t) {
    ssize_t count = send(t->fd, t->out, t->out_length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != ENOTCONN)
        return close_stream(t);
    if (count <= 0)
        return;
    memmove(t->out, t->out + count, t->out_length - (size_t)count);
    t->out_length -= (size_t)count;
}

/// Asks over a connection that stays open, or over one of its own. Returns false where neither is to be had.
static bool send_over_stream(const struct question *drawn) {
    bool is_kept = random64() % 4 != 0;
    struct stream *t = NULL;
    unsigned from = is_kept ? 0 : KEPT, to = is_kept ? KEPT : STREAMS, skip = (unsigned)(random64() % (to - from));
    for (unsigned i = 0; i < to - from && !t; i++) {
        struct stream *each = &streams[from + (skip + i) % (to - from)];
        if (is_kept ? each->fd < 0 || each->open < STREAM_QUERIES : each->fd < 0)
            t = each;
    }
    if (!t || (t->fd < 0 && !open_stream(t, is_kept)))
        return false;
    struct question *q = &t->questions[t->next];
    if (q->is_open || t->out_length + 300 > BUFFER)
        return false;
    *q = *drawn;
    q->sent = now_ns();
    q->is_open = true;
    size_t length = encode(q, (uint16_t)t->next, t->out + t->out_length + 2);
    t->out[t->out_length] = (uint8_t)(length >> 8);
    t->out[t->out_length + 1] = (uint8_t)length;
    t->out_length += length + 2;
    t->next = (t->next + 1) % STREAM_QUERIES;
    t->open++;
    now_counts.tcp_sent++;
    write_stream(t);
    return true;
}

static void read_stream(struct stream *t) {
    ssize_t count = recv(t->fd, t->in + t->in_length, BUFFER - t->in_length, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0)
        return close_stream(t);
    t->in_length += (size_t)count;
    size_t at = 0;
    while (t->in_length - at >= 2) {
        size_t length = (size_t)t->in[at] << 8 | t->in[at + 1];
        if (t->in_length - at < 2 + length)
            break;
        const uint8_t *m = t->in + at + 2;
        at += 2 + length;
        unsigned id = length >= 2 ? (unsigned)(m[0] << 8 | m[1]) : STREAM_QUERIES;
        if (id >= STREAM_QUERIES || !t->questions[id].is_open)
            continue;
        struct question *q = &t->questions[id];
        q->is_open = false;
        t->open--;
        note_time(q->sent);
        switch (verdict(m, length, q)) {
        case GOOD: now_counts.tcp_good++; break;
        case FAILED: now_counts.tcp_failed++; break;
        case EMPTY: now_counts.empty++; break;
        case WRONG: show_wrong(m, length, q); break;
        }
    }
    memmove(t->in, t->in + at, t->in_length - at);
    t->in_length -= at;
    if (!t->is_kept && t->open == 0)
        close_stream(t);
}

static void expire_streams(void) {
    uint64_t now = now_ns();
    for (unsigned i = 0; i < STREAMS; i++)
        for (unsigned j = 0; streams[i].fd >= 0 && j < STREAM_QUERIES; j++) {
            struct question *q = &streams[i].questions[j];
            if (!q->is_open || now - q->sent <= patience)
                continue;
            q->is_open = false;
            streams[i].open--;
            now_counts.tcp_lost++;
            if (!streams[i].is_kept)
                close_stream(&streams[i]);
        }
}

// The counts.

static void print(const struct counts *c, const char *kind) {
    printf("{\"kind\":\"%s\",\"sent\":%lu,\"good\":%lu,\"failed\":%lu,\"empty\":%lu,\"wrong\":%lu,\"lost\":%lu,\"tcp_sent\":%lu,"
           "\"tcp_good\":%lu,\"tcp_failed\":%lu,\"tcp_lost\":%lu,\"tcp_closed\":%lu,\"slowest_ms\":%.1f}\n",
           kind, c->sent, c->good, c->failed, c->empty, c->wrong, c->lost, c->tcp_sent, c->tcp_good, c->tcp_failed, c->tcp_lost,
           c->tcp_closed, (double)c->slowest / 1e6);
    fflush(stdout);
}

static void turn_second(void) {
    print(&now_counts, "second");
    sums.sent += now_counts.sent;
    sums.good += now_counts.good;
    sums.failed += now_counts.failed;
    sums.empty += now_counts.empty;
    sums.wrong += now_counts.wrong;
    sums.lost += now_counts.lost;
    sums.tcp_sent += now_counts.tcp_sent;
    sums.tcp_good += now_counts.tcp_good;
    sums.tcp_failed += now_counts.tcp_failed;
    sums.tcp_lost += now_counts.tcp_lost;
    sums.tcp_closed += now_counts.tcp_closed;
    if (now_counts.slowest > sums.slowest)
        sums.slowest = now_counts.slowest;
    now_counts = (struct counts){0};
}

int main(int argc, char **argv) {
    double rate = 0, new_rate = 0;
    static const struct option options[] = {
        {"port", required_argument, NULL, 'p'},     {"rate", required_argument, NULL, 'r'},
        {"new", required_argument, NULL, 'n'},      {"names", required_argument, NULL, 'c'},
        {"suffix", required_argument, NULL, 's'},   {"patience", required_argument, NULL, 'w'},
        {"seed", required_argument, NULL, 'e'},     {0},
    };
    server = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'p': server.sin_port = htons((uint16_t)atoi(optarg)); break;
        case 'r': rate = atof(optarg); break;
        case 'n': new_rate = atof(optarg); break;
        case 'c': names = (uint32_t)atoi(optarg); break;
        case 's': suffix = optarg; break;
        case 'w': patience = (uint64_t)(atof(optarg) * 1e9); break;
        case 'e': state = strtoull(optarg, NULL, 10) * 2654435769u + 1; break;
        default: return 2;
        }
    }
    // An address has so many values.
    if (!server.sin_port || rate <= 0 || rate > 1e5 || names < 1 || names > 40000) {
        fprintf(stderr, "usage: dnssoak --port PORT --rate N [--new N] [--names 1 to 40000] [--suffix NAME] [--patience S] [--seed N]\n");
        return 2;
    }
    queue_size = (size_t)(rate * ((double)patience / 1e9 + 2)) + 65536;
    queue = calloc(queue_size, sizeof *queue);
    if (!queue)
        fail("calloc");
    struct pollfd polled[1 + SOCKETS + STREAMS] = {{.fd = 0, .events = POLLIN}};
    for (unsigned i = 0; i < SOCKETS; i++) {
        sockets[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (sockets[i] < 0 || connect(sockets[i], (struct sockaddr *)&server, sizeof server) < 0)
            fail("socket");
        setsockopt(sockets[i], SOL_SOCKET, SO_RCVBUF, &(int){4 << 20}, sizeof(int));
        polled[1 + i] = (struct pollfd){.fd = sockets[i], .events = POLLIN};
    }
    for (unsigned i = 0; i < STREAMS; i++)
        streams[i].fd = -1;
    uint64_t start = now_ns(), second = start + 1000000000u, end = 0;
    double due = 0, new_due = 0;
    uint64_t asked = 0, asked_new = 0, last = start;
    while (!end || now_ns() < end) {
        for (unsigned i = 0; i < STREAMS; i++)
            polled[1 + SOCKETS + i] = (struct pollfd){
                .fd = streams[i].fd,
                .events = (short)(POLLIN | (streams[i].fd >= 0 && streams[i].out_length ? POLLOUT : 0)),
            };
        struct timespec tick = {0, 1000000};
        if (ppoll(polled, 1 + SOCKETS + STREAMS, &tick, NULL) < 0 && errno != EINTR)
            fail("ppoll");
        if (!end && polled[0].revents) {
            char byte;
            if (read(0, &byte, 1) <= 0) {
                end = now_ns() + patience + 500000000u;
                polled[0].fd = -1;
            }
        }
        for (unsigned i = 0; i < SOCKETS; i++)
            if (polled[1 + i].revents)
                receive_datagrams(i);
        for (unsigned i = 0; i < STREAMS; i++) {
            if (streams[i].fd >= 0 && polled[1 + SOCKETS + i].revents & POLLOUT)
                write_stream(&streams[i]);
            if (streams[i].fd >= 0 && polled[1 + SOCKETS + i].revents & (POLLIN | POLLHUP | POLLERR))
                read_stream(&streams[i]);
        }
        expire();
        expire_streams();
        uint64_t now = now_ns();
        if (!end) {
            // A load that was kept from its CPU does not catch up in one burst.
            double passed = (double)(now - last < 50000000u ? now - last : 50000000u) / 1e9;
            due += passed * rate;
            new_due += passed * new_rate;
            for (; (double)asked < due; asked++) {
                bool is_new = (double)asked_new < new_due;
                asked_new += is_new;
                struct question q = draw(is_new);
                if (random64() % 100 != 0 || !send_over_stream(&q))
                    send_datagram(&q);
            }
        }
        last = now;
        if (now >= second) {
            turn_second();
            second += 1000000000u;
        }
    }
    turn_second();
    print(&sums, "sum");
    return 0;
}
