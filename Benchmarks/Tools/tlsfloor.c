// tlsfloor: the least that a server of DNS over TLS takes: OpenSSL, a socket, and 16 bytes for each connection. It has the
// settings of httpdnsd (`copenssl_serve`), answers every question with one fixed A record, one message in each record of
// TLS, and closes nothing before its client does.
//
//   tlsfloor PORT CERTIFICATE KEY            (127.0.0.1 only)
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct connection {
    SSL *tls;
    int descriptor;
};

static _Noreturn void fail(const char *what) {
    perror(what);
    exit(1);
}

static SSL_CTX *make_context(const char *certificate, const char *key) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context || SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
        fail("certificate");
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_num_tickets(context, 1);
    return context;
}

/// Answers the one question in `bytes`, in place. Returns the reply's length with the two bytes before it; 0: it is none.
static int reply(unsigned char *bytes, int length) {
    static const unsigned char record[16] = {0xc0, 0x0c, 0, 1, 0, 1, 0, 1, 0x51, 0x80, 0, 4, 192, 0, 2, 1};
    int end = 14;
    while (end < length && bytes[end]) end += bytes[end] + 1;
    end += 5;
    if (end > length) return 0;
    bytes[4] |= 0x80, bytes[5] = 0x80, bytes[9] = 1, bytes[12] = bytes[13] = 0;
    memcpy(bytes + end, record, sizeof record);
    end += (int)sizeof record;
    bytes[0] = (unsigned char)((end - 2) >> 8), bytes[1] = (unsigned char)(end - 2);
    return end;
}

/// Does what is possible. Returns whether the connection goes on.
static int serve(SSL *tls) {
    unsigned char bytes[1024];
    for (;;) {
        int count = SSL_read(tls, bytes, 512);
        if (count <= 0) return SSL_get_error(tls, count) == SSL_ERROR_WANT_READ;
        int length = reply(bytes, count);
        if (length == 0 || SSL_write(tls, bytes, length) != length) return 0;
    }
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: tlsfloor PORT CERTIFICATE KEY\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    SSL_CTX *context = make_context(argv[2], argv[3]);
    struct sockaddr_in self = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
    self.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1, events = epoll_create1(0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&self, sizeof self) || listen(listener, 1024)) fail("bind");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (epoll_ctl(events, EPOLL_CTL_ADD, listener, &event)) fail("epoll_ctl");
    for (;;) {
        struct epoll_event ready[64];
        int found = epoll_wait(events, ready, 64, -1);
        for (int index = 0; index < found; index++) {
            struct connection *connection = ready[index].data.ptr;
            if (connection) {
                if (serve(connection->tls)) continue;
                SSL_free(connection->tls);
                close(connection->descriptor);
                free(connection);
                continue;
            }
            int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
            if (descriptor < 0) continue;
            setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            connection = malloc(sizeof *connection);
            if (!connection || !(connection->tls = SSL_new(context))) fail("no memory");
            connection->descriptor = descriptor;
            SSL_set_fd(connection->tls, descriptor);
            SSL_set_accept_state(connection->tls);
            event.data.ptr = connection;
            if (epoll_ctl(events, EPOLL_CTL_ADD, descriptor, &event)) fail("epoll_ctl");
        }
    }
}
