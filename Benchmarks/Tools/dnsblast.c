// dnsblast: UDP DNS load on 127.0.0.1, built on sendmmsg and recvmmsg so that the server, not the client, is the bottleneck.
//
//   dnsblast --port PORT [--seconds S | --count N] [--names N] [--first N] [--pattern TEXT] [--type A|AAAA|BOTH]
//            [--order turn|random] [--sockets N] [--window N] [--rate N] [--patience S]
//
// Has --window queries in flight on each of --sockets sockets; with --rate, sends so many per second instead. Latency is
// that of a client: with --rate from the time at which a query was due until the reply was read. Names are --pattern with
// --first .. --first + --names - 1, in turn or in random order (the same each time). BOTH asks A and AAAA of each name,
// one immediately after the other. It ends after --seconds or --count queries, then waits for outstanding replies; those
// that have not arrived --patience seconds after the last reply of their socket are lost. Prints one line of JSON;
// latencies are accurate to 1 %.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
    MAX_SOCKETS = 256,
    MAX_WINDOW = 4096,
    BATCH = 64,
    QUERY_SIZE = 300,
    REPLY_SIZE = 4096,
    OPT_SIZE = 11,
    TYPE_A = 1,
    TYPE_AAAA = 28,
};

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

// Latencies in nanoseconds: 128 buckets for each power of two.

enum { FINE_BITS = 7, FINE = 1 << FINE_BITS };
static uint64_t histogram[(64 - FINE_BITS) * FINE + FINE], samples;

static unsigned bucket(uint64_t value) {
    if (value < FINE)
        return (unsigned)value;
    unsigned shift = 63 - (unsigned)__builtin_clzll(value) - FINE_BITS;
    return (shift + 1) * FINE + (unsigned)(value >> shift) - FINE;
}

static uint64_t bucket_value(unsigned index) {
    if (index < FINE)
        return index;
    unsigned shift = index / FINE - 1;
    return (uint64_t)(index % FINE + FINE) << shift;
}

static double percentile_us(double share) {
    uint64_t wanted = (uint64_t)((double)samples * share), seen = 0;
    for (unsigned index = 0; index < sizeof histogram / sizeof *histogram; index++) {
        seen += histogram[index];
        if (seen > wanted)
            return (double)bucket_value(index) / 1e3;
    }
    return 0;
}

// The questions, one after the other: name, type, class.

static uint8_t *questions;
static uint32_t *question_starts;

static void make_questions(const char *pattern, uint32_t first, uint32_t names) {
    questions = malloc((size_t)names * 264 + 1);
    question_starts = malloc(sizeof *question_starts * (names + 1));
    if (!questions || !question_starts)
        fail("malloc");
    uint8_t *out = questions;
    for (uint32_t i = 0; i < names; i++) {
        char name[256];
        const char *percent = strstr(pattern, "%d");
        int before = percent ? (int)(percent - pattern) : (int)strlen(pattern);
        if (percent)
            snprintf(name, sizeof name, "%.*s%u%s", before, pattern, first + i, percent + 2);
        else
            snprintf(name, sizeof name, "%s", pattern);
        question_starts[i] = (uint32_t)(out - questions);
        for (char *label = name; *label;) {
            char *dot = strchrnul(label, '.');
            *out++ = (uint8_t)(dot - label);
            out = mempcpy(out, label, (size_t)(dot - label));
            label = *dot ? dot + 1 : dot;
        }
        static const uint8_t end[5] = {0, 0, TYPE_A, 0, 1};
        out = mempcpy(out, end, sizeof end);
    }
    question_starts[names] = (uint32_t)(out - questions);
}

static size_t make_query(uint8_t *out, uint32_t name, int type, unsigned id) {
    static const uint8_t opt[OPT_SIZE] = {0, 0, 41, 4, 208};
    size_t length = question_starts[name + 1] - question_starts[name];
    memcpy(out, (uint8_t[12]){(uint8_t)(id >> 8), (uint8_t)id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1}, 12);
    memcpy(out + 12, questions + question_starts[name], length);
    out[12 + length - 3] = (uint8_t)type;
    memcpy(out + 12 + length, opt, sizeof opt);
    return 12 + length + sizeof opt;
}

/// One socket and its outstanding queries; each ID is free or in flight.
struct lane {
    int fd;
    int in_flight;
    uint64_t last_answer;
    uint16_t free_ids[MAX_WINDOW];
    uint64_t sent_at[MAX_WINDOW];
};
static struct lane lanes[MAX_SOCKETS];

static uint64_t answered, noerror, lost;

/// Reads the datagrams that have arrived on a lane. Returns their number.
static int receive(struct lane *lane, int window) {
    static uint8_t bytes[BATCH][REPLY_SIZE];
    static struct iovec vectors[BATCH];
    static struct mmsghdr messages[BATCH];
    for (int i = 0; i < BATCH; i++) {
        if (messages[i].msg_hdr.msg_iov)
            break;
        vectors[i] = (struct iovec){bytes[i], sizeof bytes[i]};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &vectors[i], .msg_iovlen = 1};
    }
    int count = recvmmsg(lane->fd, messages, BATCH, MSG_DONTWAIT, NULL);
    uint64_t now = count > 0 ? now_ns() : 0;
    for (int i = 0; i < count; i++) {
        const uint8_t *reply = bytes[i];
        unsigned id = (unsigned)(reply[0] << 8 | reply[1]);
        if (messages[i].msg_len < 12 || id >= (unsigned)window || !lane->sent_at[id])
            continue;
        uint64_t latency = now > lane->sent_at[id] ? now - lane->sent_at[id] : 0;
        histogram[bucket(latency)]++, samples++;
        lane->sent_at[id] = 0;
        lane->in_flight--;
        lane->free_ids[window - 1 - lane->in_flight] = (uint16_t)id;
        lane->last_answer = now;
        answered++;
        noerror += (reply[3] & 15) == 0 && (reply[6] | reply[7]);
    }
    return count;
}

/// Gives up the outstanding queries of a lane.
static void give_up(struct lane *lane, int window, uint64_t now) {
    lost += (uint64_t)lane->in_flight;
    lane->in_flight = 0;
    for (int i = 0; i < window; i++)
        lane->free_ids[i] = (uint16_t)i, lane->sent_at[i] = 0;
    lane->last_answer = now;
}

int main(int argc, char **argv) {
    int port = 0, sockets = 16, window = 64, is_random = 0, types = TYPE_A;
    double seconds = 1e9, rate = 0, patience = 0.5;
    uint64_t count = UINT64_MAX;
    uint32_t names = 10000, first = 0;
    const char *pattern = "host%d.bench.example";
    static const struct option options[] = {
        {"port", 1, 0, 'p'},    {"seconds", 1, 0, 's'}, {"count", 1, 0, 'c'},   {"names", 1, 0, 'n'},
        {"first", 1, 0, 'f'},   {"pattern", 1, 0, 'a'}, {"type", 1, 0, 't'},    {"order", 1, 0, 'o'},
        {"sockets", 1, 0, 'k'}, {"window", 1, 0, 'w'},  {"rate", 1, 0, 'r'},    {"patience", 1, 0, 'e'},
        {0, 0, 0, 0},
    };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'p': port = atoi(optarg); break;
        case 's': seconds = atof(optarg); break;
        case 'c': count = strtoull(optarg, NULL, 10); break;
        case 'n': names = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'f': first = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'a': pattern = optarg; break;
        case 't': types = !strcmp(optarg, "BOTH") ? 0 : !strcmp(optarg, "AAAA") ? TYPE_AAAA : TYPE_A; break;
        case 'o': is_random = !strcmp(optarg, "random"); break;
        case 'k': sockets = atoi(optarg); break;
        case 'w': window = atoi(optarg); break;
        case 'r': rate = atof(optarg); break;
        case 'e': patience = atof(optarg); break;
        default: return 2;
        }
    }
    if (!port || optind < argc || sockets < 1 || sockets > MAX_SOCKETS || window < 1 || window > MAX_WINDOW || names < 1 ||
        names > 10000000 || strlen(pattern) > 200 || (seconds >= 1e9 && count == UINT64_MAX)) {
        fprintf(stderr, "dnsblast: see the head of dnsblast.c for its options\n");
        return 2;
    }
    make_questions(pattern, first, names);
    uint64_t choices = types ? names : 2 * (uint64_t)names, next = 0, random = 88172645463325252u;

    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    uint64_t start = now_ns();
    for (int i = 0; i < sockets; i++) {
        int bytes = 8 << 20;
        lanes[i].fd = socket(AF_INET, SOCK_DGRAM, 0);
        if (lanes[i].fd < 0)
            fail("socket");
        // Beyond the system's limit if permitted: replies lost here would be counted against the server.
        if (setsockopt(lanes[i].fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes))
            setsockopt(lanes[i].fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
        if (connect(lanes[i].fd, (struct sockaddr *)&server, sizeof server))
            fail("connect");
        give_up(&lanes[i], window, start);
    }
    static uint8_t outgoing[BATCH][QUERY_SIZE];
    static struct iovec vectors[BATCH];
    static struct mmsghdr messages[BATCH];
    for (int i = 0; i < BATCH; i++) {
        vectors[i].iov_base = outgoing[i];
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &vectors[i], .msg_iovlen = 1};
    }

    start = now_ns();
    uint64_t end = start + (uint64_t)(seconds * 1e9), stopped = 0, patience_ns = (uint64_t)(patience * 1e9), sent = 0;
    for (int outstanding = 1; !stopped || outstanding;) {
        int progress = outstanding = 0;
        for (int i = 0; i < sockets; i++) {
            struct lane *lane = &lanes[i];
            int received = receive(lane, window);
            uint64_t now = now_ns();
            if (received > 0)
                progress = 1;
            else if (lane->in_flight && now - lane->last_answer > patience_ns)
                give_up(lane, window, now);
            outstanding |= lane->in_flight;
            if (!stopped && (now >= end || sent >= count))
                stopped = now;
            int room = window - lane->in_flight;
            if (room > BATCH)
                room = BATCH;
            if (rate > 0) {
                double due = (double)(now - start) * rate / 1e9 - (double)sent;
                room = due < room ? (int)due : room;
            } else if (room < BATCH / 4 && room < window && received > 0) {
                // Full batches cost less, and more IDs will be free soon.
                continue;
            }
            if (sent + (uint64_t)room > count)
                room = (int)(count - sent);
            if (stopped || room <= 0)
                continue;
            if (!lane->in_flight)
                lane->last_answer = now;
            for (int k = 0; k < room; k++) {
                if (is_random)
                    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                uint64_t choice = (is_random ? random >> 16 : next++) % choices;
                unsigned id = lane->free_ids[window - 1 - lane->in_flight - k];
                int type = types ? types : choice % 2 ? TYPE_AAAA : TYPE_A;
                vectors[k].iov_len = make_query(outgoing[k], (uint32_t)(types ? choice : choice / 2), type, id);
                lane->sent_at[id] = rate > 0 ? start + (uint64_t)((double)(sent + (uint64_t)k) * 1e9 / rate) : now;
            }
            int done = sendmmsg(lane->fd, messages, (unsigned)room, 0);
            if (done < 0)
                done = 0;
            for (int k = done; k < room; k++)
                lane->sent_at[lane->free_ids[window - 1 - lane->in_flight - k]] = 0;
            lane->in_flight += done;
            sent += (uint64_t)done;
            outstanding |= lane->in_flight;
            progress |= done > 0;
        }
        // A slow load yields the CPU to other programs.
        if (!progress && rate > 0 && rate <= 10000)
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    double elapsed = (double)(stopped - start) / 1e9;
    printf("{\"sent\": %lu, \"answered\": %lu, \"noerror\": %lu, \"lost\": %lu, \"seconds\": %.6f, \"qps\": %.0f, "
           "\"p50_us\": %.3f, \"p99_us\": %.3f, \"p999_us\": %.3f}\n",
           sent, answered, noerror, lost, elapsed, (double)answered / elapsed, percentile_us(0.5), percentile_us(0.99),
           percentile_us(0.999));
    return answered == 0;
}
