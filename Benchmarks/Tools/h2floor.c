// h2floor: the least CPU time of one small HTTPS fetch over a reused HTTP/2 connection with only nghttp2 and OpenSSL,
// for comparison with curlfloor. Prints one line of JSON.
//
//   h2floor URL SECONDS WINDOW CA_FILE HOST:PORT:ADDRESS     (%d in the URL becomes the number of the fetch)
#include "clock.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned long fetches, bad, number, idle;

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "h2floor: %s\n", what);
    exit(1);
}

static int closed(nghttp2_session *session, int32_t stream, uint32_t code, void *context) {
    (void)session, (void)stream, (void)context;
    fetches++, idle++;
    if (code != NGHTTP2_NO_ERROR) bad++;
    return 0;
}

static int field(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
                 const uint8_t *value, size_t value_length, uint8_t flags, void *context) {
    (void)session, (void)frame, (void)flags, (void)context;
    if (name_length == 7 && memcmp(name, ":status", 7) == 0 && (value_length != 3 || memcmp(value, "200", 3) != 0)) bad++;
    return 0;
}

static SSL *connected(const char *host, int port, const char *address, const char *authorities) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, address, &to.sin_addr);
    int descriptor = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (connect(descriptor, (struct sockaddr *)&to, sizeof to) != 0) fail("no connection");
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (SSL_CTX_load_verify_locations(context, authorities, NULL) != 1) fail("no authorities");
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\x02h2", 3);
    SSL *tls = SSL_new(context);
    SSL_set_fd(tls, descriptor);
    SSL_set1_host(tls, host);
    if (SSL_connect(tls) != 1) fail("no handshake");
    fcntl(descriptor, F_SETFL, O_NONBLOCK);
    return tls;
}

static void request(nghttp2_session *session, const char *path, const char *authority) {
    char text[512];
    const char *percent = strstr(path, "%d");
    int length = percent ? snprintf(text, sizeof text, "%.*s%lu%s", (int)(percent - path), path, number++, percent + 2)
                         : snprintf(text, sizeof text, "%s", path);
#define FIELD(name, value, length) {(uint8_t *)name, (uint8_t *)value, sizeof name - 1, length, NGHTTP2_NV_FLAG_NO_COPY_NAME}
    nghttp2_nv fields[] = {FIELD(":method", "GET", 3),     FIELD(":path", text, (size_t)length),
                           FIELD(":scheme", "https", 5),   FIELD(":authority", authority, strlen(authority)),
                           FIELD("user-agent", "bench", 5), FIELD("accept", "*/*", 3)};
    nghttp2_submit_request(session, NULL, fields, sizeof fields / sizeof *fields, NULL, NULL);
    idle--;
}

static void send_frames(nghttp2_session *session, SSL *tls) {
    static uint8_t buffer[1 << 17];
    const uint8_t *frame;
    ssize_t length;
    size_t size = 0;
    while (size < sizeof buffer / 2 && (length = nghttp2_session_mem_send(session, &frame)) > 0) {
        memcpy(buffer + size, frame, (size_t)length);
        size += (size_t)length;
    }
    if (size && SSL_write(tls, buffer, (int)size) != (int)size) fail("not all was sent");
}

static void receive_frames(nghttp2_session *session, SSL *tls) {
    static uint8_t buffer[1 << 14];
    int length, any = 0;
    while ((length = SSL_read(tls, buffer, sizeof buffer)) > 0) {
        any = 1;
        if (nghttp2_session_mem_recv(session, buffer, (size_t)length) < 0) fail("no HTTP/2");
    }
    if (SSL_get_error(tls, length) != SSL_ERROR_WANT_READ) fail("the connection was closed");
    if (!any) poll(&(struct pollfd){.fd = SSL_get_fd(tls), .events = POLLIN}, 1, 100);
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: h2floor URL SECONDS WINDOW CA_FILE HOST:PORT:ADDRESS\n");
        return 2;
    }
    char host[256], address[64], authority[300];
    int port;
    const char *path = strncmp(argv[1], "https://", 8) == 0 ? strchr(argv[1] + 8, '/') : NULL;
    if (!path || sscanf(argv[5], "%255[^:]:%d:%63s", host, &port, address) != 3) fail("no such URL or address");
    snprintf(authority, sizeof authority, "%.*s", (int)(path - argv[1] - 8), argv[1] + 8);
    signal(SIGPIPE, SIG_IGN);
    SSL *tls = connected(host, port, address, argv[4]);
    nghttp2_session_callbacks *callbacks;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, closed);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, field);
    nghttp2_session *session;
    nghttp2_session_client_new(&session, callbacks, NULL);
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0);
    idle = strtoul(argv[3], NULL, 10);
    double seconds = atof(argv[2]), start = now(), cpu = cpu_seconds();
    while (now() - start < seconds) {
        while (idle) request(session, path, authority);
        send_frames(session, tls);
        receive_frames(session, tls);
    }
    printf("{\"fetches\": %lu, \"bad\": %lu, \"rate\": %.0f, \"cpu_us_per_fetch\": %.3f}\n", fetches, bad,
           (double)fetches / (now() - start), fetches ? (cpu_seconds() - cpu) * 1e6 / (double)fetches : 0);
    return bad > 0;
}
