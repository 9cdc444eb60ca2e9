// dnsflood: UDP DNS load on 127.0.0.1 that does not wait for the server: a fixed number of queries per second.
//
//   dnsflood --port PORT --phase RATE,SECONDS [--phase …] [--sources N] [--names N] [--first N] [--pattern TEXT]
//            [--unique] [--patience S]
//
// Sends from --sources addresses of 127.0.0.0/8, one socket each. Each phase sends RATE queries a second, of type A and
// with EDNS: random ones of --names names, or with --unique each name once, from --first on. After the last phase it
// waits --patience seconds. Prints one line of JSON: for each slice of 100 ms the queries sent in it (`sent`), how many
// of these were answered well within --patience (`well`), and the replies received in it: `good` (NOERROR with an
// answer, in time), `failed` (other codes, in time), `late`; `p50_us` and `p99_us` of replies in time, and `slowest_us`
// of all, by the phase in which the query was sent.
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

enum { MAX_SOURCES = 250, MAX_PHASES = 16, MAX_SLICES = 4096, BATCH = 64, QUERY_SIZE = 300, REPLY_SIZE = 2048, IDS = 65536 };

static const uint64_t slice_ns = 100000000u;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/// One source address: when the query of each ID was sent; 0 once it was answered.
struct source {
    int fd;
    uint16_t next_id;
    uint64_t sent_at[IDS];
};
static struct source sources[MAX_SOURCES];

static struct slice {
    uint64_t sent, well, good, failed, late;
} slices[MAX_SLICES];

/// Latencies of a phase in buckets of 1.0 %, from 1 us on.
enum { BUCKETS = 2048 };
static struct phase {
    double rate, seconds;
    uint64_t begin, sent, answered, histogram[BUCKETS], slowest;
} phases[MAX_PHASES];
static int phase_count;

static unsigned bucket(uint64_t ns) {
    // log2 in steps of 1/64: 1.1 %.
    if (ns < 1024)
        return 0;
    unsigned power = 63 - (unsigned)__builtin_clzll(ns);
    unsigned index = (power - 10) * 64 + (unsigned)((ns >> (power - 6)) & 63);
    return index < BUCKETS ? index : BUCKETS - 1;
}

static double percentile_us(const struct phase *phase, double share) {
    uint64_t wanted = (uint64_t)((double)phase->answered * share), seen = 0;
    for (unsigned index = 0; index < BUCKETS; index++) {
        seen += phase->histogram[index];
        if (seen > wanted) {
            unsigned power = index / 64 + 10;
            return (double)((1ull << power) + ((uint64_t)(index % 64) << (power - 6))) / 1e3;
        }
    }
    return 0;
}

static struct slice *slice_at(uint64_t start, uint64_t time) {
    uint64_t index = (time - start) / slice_ns;
    return &slices[index < MAX_SLICES ? index : MAX_SLICES - 1];
}

static struct phase *phase_at(uint64_t time) {
    int index = phase_count - 1;
    while (index > 0 && time < phases[index].begin)
        index--;
    return &phases[index];
}

static int receive(struct source *source, uint64_t start, uint64_t patience) {
    static uint8_t bytes[BATCH][REPLY_SIZE];
    static struct iovec vectors[BATCH];
    static struct mmsghdr messages[BATCH];
    for (int i = 0; i < BATCH && !messages[i].msg_hdr.msg_iov; i++) {
        vectors[i] = (struct iovec){bytes[i], sizeof bytes[i]};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &vectors[i], .msg_iovlen = 1};
    }
    int count = recvmmsg(source->fd, messages, BATCH, MSG_DONTWAIT, NULL);
    uint64_t now = count > 0 ? now_ns() : 0;
    for (int i = 0; i < count; i++) {
        const uint8_t *reply = bytes[i];
        unsigned id = (unsigned)(reply[0] << 8 | reply[1]);
        uint64_t sent_at = source->sent_at[id];
        if (messages[i].msg_len < 12 || !sent_at)
            continue;
        source->sent_at[id] = 0;
        uint64_t latency = now - sent_at;
        struct slice *slice = slice_at(start, now);
        struct phase *phase = phase_at(sent_at);
        if (latency > phase->slowest)
            phase->slowest = latency;
        if (latency > patience) {
            slice->late++;
            continue;
        }
        phase->answered++, phase->histogram[bucket(latency)]++;
        if ((reply[3] & 15) == 0 && (reply[6] | reply[7]))
            slice->good++, slice_at(start, sent_at)->well++;
        else
            slice->failed++;
    }
    return count;
}

static size_t make_query(uint8_t *out, const char *pattern, uint32_t number, unsigned id) {
    static const uint8_t tail[] = {0, 0, 1, 0, 1, 0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0};
    uint8_t *p = mempcpy(out, (uint8_t[12]){(uint8_t)(id >> 8), (uint8_t)id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1}, 12);
    uint8_t *length = p++;
    for (const char *c = pattern;; c++) {
        if (*c == '%') {
            char digits[10];
            int count = 0;
            for (uint32_t rest = number; count == 0 || rest; rest /= 10)
                digits[count++] = (char)('0' + rest % 10);
            while (count)
                *p++ = (uint8_t)digits[--count];
            c++;
        } else if (*c && *c != '.') {
            *p++ = (uint8_t)*c;
        } else {
            *length = (uint8_t)(p - length - 1);
            if (!*c)
                break;
            length = p++;
        }
    }
    memcpy(p, tail, sizeof tail);
    return (size_t)(p - out) + sizeof tail;
}

int main(int argc, char **argv) {
    int port = 0, source_count = 64, is_unique = 0;
    uint32_t names = 10000, first = 0;
    double patience = 2.5;
    const char *pattern = "host%d.bench.example";
    static const struct option options[] = {
        {"port", 1, 0, 'p'},  {"phase", 1, 0, 'h'},   {"sources", 1, 0, 's'}, {"names", 1, 0, 'n'},
        {"first", 1, 0, 'f'}, {"pattern", 1, 0, 'a'}, {"unique", 0, 0, 'u'},  {"patience", 1, 0, 'e'},
        {0, 0, 0, 0},
    };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'p': port = atoi(optarg); break;
        case 'h':
            if (phase_count == MAX_PHASES ||
                sscanf(optarg, "%lf,%lf", &phases[phase_count].rate, &phases[phase_count].seconds) != 2)
                return 2;
            phase_count++;
            break;
        case 's': source_count = atoi(optarg); break;
        case 'n': names = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'f': first = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'a': pattern = optarg; break;
        case 'u': is_unique = 1; break;
        case 'e': patience = atof(optarg); break;
        default: return 2;
        }
    }
    if (!port || !phase_count || optind < argc || source_count < 1 || source_count > MAX_SOURCES || names < 1 ||
        strlen(pattern) > 200) {
        fprintf(stderr, "dnsflood: see the head of dnsflood.c for its options\n");
        return 2;
    }
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < source_count; i++) {
        int bytes = 1 << 20;
        struct sockaddr_in self = {.sin_family = AF_INET};
        self.sin_addr.s_addr = htonl(0x7f000100u + (uint32_t)i + 1);
        sources[i].fd = socket(AF_INET, SOCK_DGRAM, 0);
        if (sources[i].fd < 0)
            fail("socket");
        if (setsockopt(sources[i].fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes))
            setsockopt(sources[i].fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
        if (bind(sources[i].fd, (struct sockaddr *)&self, sizeof self) ||
            connect(sources[i].fd, (struct sockaddr *)&server, sizeof server))
            fail("connect");
    }
    static uint8_t outgoing[BATCH][QUERY_SIZE];
    static struct iovec vectors[BATCH];
    static struct mmsghdr messages[BATCH];
    for (int i = 0; i < BATCH; i++) {
        vectors[i].iov_base = outgoing[i];
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &vectors[i], .msg_iovlen = 1};
    }

    uint64_t start = now_ns(), patience_ns = (uint64_t)(patience * 1e9), random = 88172645463325252u, end = start;
    for (int i = 0; i < phase_count; i++) {
        phases[i].begin = end;
        end += (uint64_t)(phases[i].seconds * 1e9);
    }
    if ((end + patience_ns - start) / slice_ns >= MAX_SLICES) {
        fprintf(stderr, "dnsflood: the phases take too long\n");
        return 2;
    }
    int turn = 0;
    for (uint64_t now = start; now < end + patience_ns; now = now_ns()) {
        int is_behind = 0;
        // All are read between two sends, so that replies do not wait for the load.
        for (int i = 0; i < source_count; i++)
            receive(&sources[i], start, patience_ns);
        struct phase *phase = phase_at(now);
        for (int round = 0; now < end && round < source_count; round++) {
            now = now_ns();
            double due = (double)(now - phase->begin) * phase->rate / 1e9 - (double)phase->sent;
            int room = due < BATCH / 4 ? (int)due : BATCH / 4;
            if (room <= 0)
                break;
            struct source *source = &sources[turn++ % source_count];
            for (int k = 0; k < room; k++) {
                random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                uint32_t number = is_unique ? first++ : first + (uint32_t)((random >> 16) % names);
                uint16_t id = source->next_id++;
                vectors[k].iov_len = make_query(outgoing[k], pattern, number, id);
                source->sent_at[id] = now;
            }
            int done = sendmmsg(source->fd, messages, (unsigned)room, 0);
            for (int k = done > 0 ? done : 0; k < room; k++)
                source->sent_at[(uint16_t)(source->next_id - room + k)] = 0;
            if (done > 0)
                phase->sent += (uint64_t)done, slice_at(start, now)->sent += (uint64_t)done;
            // At a high rate replies must be read in between.
            is_behind = round % 4 == 3;
            if (is_behind)
                break;
        }
        // A load that leaves no CPU time to the service would measure itself.
        if (!is_behind)
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    printf("{\"phases\": [");
    for (int i = 0; i < phase_count; i++) {
        const struct phase *phase = &phases[i];
        printf("%s{\"rate\": %.0f, \"seconds\": %.3f, \"sent\": %lu, \"answered\": %lu, \"p50_us\": %.1f, \"p99_us\": %.1f, "
               "\"slowest_us\": %.1f}",
               i ? ", " : "", phase->rate, phase->seconds, phase->sent, phase->answered, percentile_us(phase, 0.5),
               percentile_us(phase, 0.99), (double)phase->slowest / 1e3);
    }
    printf("], \"slices\": [");
    for (uint64_t i = 0; i * slice_ns < end + patience_ns - start; i++)
        printf("%s{\"sent\": %lu, \"well\": %lu, \"good\": %lu, \"failed\": %lu, \"late\": %lu}", i ? ", " : "",
               slices[i].sent, slices[i].well, slices[i].good, slices[i].failed, slices[i].late);
    printf("]}\n");
    return 0;
}
