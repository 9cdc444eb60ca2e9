// tlsclients: clients of DNS over TLS, or over HTTPS, on 127.0.0.1 that make handshakes, or hold idle connections.
//
//   tlsclients PORT dot|doh full SECONDS CLIENTS        each client connects, asks one question and closes, again and again
//   tlsclients PORT dot|doh resumed SECONDS CLIENTS     the same, each connection going on from the client's one before
//   tlsclients PORT dot|doh hold CONNECTIONS CLIENTS    opens so many, CLIENTS at a time; each asks one question, and stays
//                                                       open
//
// The question makes sure that the server has done its part, and brings the ticket of TLS 1.3; `hold` repeats it after 4 s
// where the others are not open yet, since servers close idle connections. Prints one line of JSON: how many connections
// had their answer, how many of these were resumed, how many failed, how many idle ones the server has closed, and the time
// and CPU that it took; `hold` prints it when all are open, and ends when standard input does. No step of a connection may
// take longer than 5 s, nor all of them longer than 60 s; certificates are not checked.
#include "clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE = 5, REPEAT = 4, LONGEST = 60 };

// host0.bench.example, A: behind its length, and in a target.
static const unsigned char query[] = {
    0,   37,  0,   27,  1,   0,   0, 1,   0,   0,   0,   0,   0, 0,   5,   'h', 'o', 's', 't', '0',
    5,   'b', 'e', 'n', 'c', 'h', 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e', 0,   0,   1,   0,   1,
};
static const char target[] = "/dns-query?dns=ABsBAAABAAAAAAAABWhvc3QwBWJlbmNoB2V4YW1wbGUAAAEAAQ";
// HTTP/2: what a client begins with, an empty SETTINGS frame included; frame header and types (RFC 9113).
static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
enum { FRAME = 9, DATA = 0, HEADERS = 1, END_STREAM = 1, END_HEADERS = 4 };

struct client {
    SSL *tls;
    SSL_SESSION *session;
    int descriptor;
    int is_shaken;
    /// Whether it is one of the idle connections.
    int is_held;
    double since;
    /// The number of its HTTP/2 stream.
    unsigned stream;
    unsigned length;
    unsigned char reply[1024];
};

static SSL_CTX *context;
static struct sockaddr_in server = {.sin_family = AF_INET};
static int events;
static int speaks_http, resumes, holds;
static unsigned long answered, resumed, failed, closed;

static _Noreturn void fail(const char *what) {
    perror(what);
    exit(1);
}

static void watch(struct client *client, int operation, unsigned interest) {
    struct epoll_event event = {.events = interest, .data.ptr = client};
    if (epoll_ctl(events, operation, client->descriptor, &event)) fail("epoll_ctl");
}

/// Begins a connection.
static void begin(struct client *client) {
    int on = 1;
    client->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (client->descriptor < 0) fail("socket");
    setsockopt(client->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    client->tls = SSL_new(context);
    if (!client->tls || SSL_set_fd(client->tls, client->descriptor) != 1) fail("SSL_new");
    SSL_set_connect_state(client->tls);
    if (client->session) SSL_set_session(client->tls, client->session);
    client->is_shaken = 0, client->length = 0, client->stream = 1, client->since = now();
    if (connect(client->descriptor, (struct sockaddr *)&server, sizeof server) && errno != EINPROGRESS) fail("connect");
    watch(client, EPOLL_CTL_ADD, EPOLLOUT);
}

static void end(struct client *client) {
    if (client->is_shaken) SSL_shutdown(client->tls);
    SSL_free(client->tls);
    close(client->descriptor);
    client->tls = NULL;
}

/// Whether the reply is whole: 1 when it has an answer, 0 when it is not, -1 when it is no answer.
static int state_of_reply(const struct client *client) {
    const unsigned char *bytes = client->reply;
    unsigned left = client->length, body = 0;
    if (!speaks_http) {
        if (left < 2 || left < 2u + (unsigned)(bytes[0] << 8 | bytes[1])) return 0;
        // The response code, and the number of answers.
        return left > 12 && (bytes[5] & 15) == 0 && bytes[9] > 0 ? 1 : -1;
    }
    while (left >= FRAME) {
        unsigned length = (unsigned)(bytes[0] << 16 | bytes[1] << 8 | bytes[2]);
        if (left < FRAME + length) return 0;
        if (bytes[3] == DATA) body += length;
        // An answer is longer than its question.
        if (bytes[3] <= HEADERS && bytes[4] & END_STREAM) return body >= sizeof query ? 1 : -1;
        bytes += FRAME + length, left -= FRAME + length;
    }
    return 0;
}

static int ask(struct client *client) {
    unsigned char bytes[256];
    unsigned length = 0;
    client->length = 0, client->since = now();
    if (!speaks_http) return SSL_write(client->tls, query, sizeof query);
    if (client->stream == 1) memcpy(bytes, preface, length = sizeof preface - 1);
    unsigned char *frame = bytes + length, *fields = frame + FRAME;
    // GET, https, a path and an authority, the last two as literals that no table holds (RFC 7541, appendix A).
    *fields++ = 0x82, *fields++ = 0x87, *fields++ = 0x04, *fields++ = sizeof target - 1;
    memcpy(fields, target, sizeof target - 1), fields += sizeof target - 1;
    memcpy(fields, "\1\x09" "127.0.0.1", 11), fields += 11;
    unsigned char header[FRAME] = {0, 0, (unsigned char)(fields - frame - FRAME), HEADERS, END_STREAM | END_HEADERS,
                                   0, 0, (unsigned char)(client->stream >> 8), (unsigned char)client->stream};
    memcpy(frame, header, FRAME);
    client->stream += 2;
    return SSL_write(client->tls, bytes, (int)(fields - bytes));
}

/// Takes the next step. Returns 1 once the reply is whole, 0 to wait, -1 when the connection is of no use.
static int step(struct client *client) {
    int result = 1;
    if (!client->is_shaken) {
        result = SSL_do_handshake(client->tls);
        if (result == 1) {
            client->is_shaken = 1;
            result = ask(client);
        }
    }
    while (result > 0 && state_of_reply(client) == 0) {
        result = SSL_read(client->tls, client->reply + client->length, (int)(sizeof client->reply - client->length));
        if (result > 0) client->length += (unsigned)result;
    }
    if (result > 0) return state_of_reply(client);
    int reason = SSL_get_error(client->tls, result);
    if (reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE) {
        watch(client, EPOLL_CTL_MOD, reason == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT);
        return 0;
    }
    return -1;
}

/// Counts a connection that has its answer.
static void count(struct client *client) {
    answered++;
    if (SSL_session_reused(client->tls)) resumed++;
    if (resumes) {
        // A ticket is for one connection.
        SSL_SESSION_free(client->session);
        client->session = SSL_get1_session(client->tls);
    }
}

static void print(double seconds) {
    printf("{\"answered\": %lu, \"resumed\": %lu, \"failed\": %lu, \"closed\": %lu, \"seconds\": %.6f, \"cpu\": %.6f}\n",
           answered, resumed, failed, closed, seconds, cpu_seconds());
    fflush(stdout);
}

/// Waits until standard input ends.
static void wait_for_end(double until) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    double left = until - now();
    if (left > 0) poll(&input, 1, (int)(left * 1e3));
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: tlsclients PORT dot|doh full|resumed|hold SECONDS|CONNECTIONS CLIENTS\n");
        return 2;
    }
    speaks_http = !strcmp(argv[2], "doh"), resumes = !strcmp(argv[3], "resumed"), holds = !strcmp(argv[3], "hold");
    double amount = atof(argv[4]);
    int width = atoi(argv[5]);
    int number = holds ? (int)amount : width;
    server.sin_port = htons((uint16_t)atoi(argv[1]));
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    signal(SIGPIPE, SIG_IGN);
    context = SSL_CTX_new(TLS_client_method());
    events = epoll_create1(0);
    struct client *clients = calloc((size_t)number, sizeof *clients);
    if (!context || events < 0 || !clients) fail("no memory");
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    if (speaks_http) SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\2h2", 3);

    double began = now(), until = began + (holds ? LONGEST : amount), checked = began;
    int opened = 0, under_way = 0;
    while (now() < until && (!holds || under_way > 0 || opened < number)) {
        while (opened < number && under_way < width) begin(&clients[opened++]), under_way++;
        struct epoll_event ready[64];
        int found = epoll_wait(events, ready, 64, 100);
        for (int index = 0; index < found; index++) {
            struct client *client = ready[index].data.ptr;
            // An idle one hears of its end only.
            int result = client->is_held && state_of_reply(client) ? -1 : step(client);
            if (result == 0) continue;
            if (client->is_held) {
                if (result < 0) closed++, end(client);
                continue;
            }
            if (result < 0) failed++;
            else count(client);
            if (holds) {
                under_way--, client->is_held = result > 0;
                if (result < 0) end(client);
                else watch(client, EPOLL_CTL_MOD, EPOLLIN);
            } else {
                end(client);
                begin(client);
            }
        }
        if (now() - checked < 0.1) continue;
        checked = now();
        for (int index = 0; index < opened; index++) {
            struct client *client = &clients[index];
            double waited = client->tls ? now() - client->since : 0;
            if (client->is_held) {
                if (waited > REPEAT && ask(client) <= 0) closed++, end(client);
            } else if (waited > PATIENCE) {
                failed++;
                end(client);
                if (holds) under_way--;
                else begin(client);
            }
        }
        // Every connection fails: the rest would take as long.
        if (failed > 1000) break;
    }
    print(now() - began);
    if (holds) wait_for_end(began + LONGEST);
    return 0;
}
