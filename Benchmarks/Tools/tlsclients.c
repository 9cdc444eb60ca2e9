// tlsclients PORT COUNT MODE: clients over TLS, one after the other.
//
// full: COUNT handshakes, each closed. resumed: the same, each going on from the session before. hold: COUNT connections
// that stay open; writes "open" once all have asked one question, and ends when standard input does. Writes the seconds.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const unsigned char query[] = {
    0, 27, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 9, 'l', 'o', 'c', 'a', 'l', 'h', 'o', 's', 't', 0, 0, 1, 0, 1,
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static SSL *open_connection(SSL_CTX *context, int port, SSL_SESSION *session) {
    int number = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (number < 0 || connect(number, (struct sockaddr *)&address, sizeof address)) fail("connect");
    SSL *connection = SSL_new(context);
    SSL_set_fd(connection, number);
    if (session) SSL_set_session(connection, session);
    if (SSL_connect(connection) != 1) fail("handshake");
    return connection;
}

static void ask(SSL *connection) {
    unsigned char reply[4096];
    unsigned int done = 0;
    if (SSL_write(connection, query, sizeof query) != sizeof query) fail("write");
    while (done < 2 || done < 2u + (reply[0] << 8 | reply[1])) {
        int count = SSL_read(connection, reply + done, (int)(sizeof reply - done));
        if (count <= 0) fail("read");
        done += (unsigned int)count;
    }
}

static void close_connection(SSL *connection) {
    int number = SSL_get_fd(connection);
    SSL_shutdown(connection);
    SSL_free(connection);
    close(number);
}

int main(int count, char **words) {
    if (count != 4) return 2;
    int port = atoi(words[1]), wanted = atoi(words[2]);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_SESSION *session = NULL;
    int holds = !strcmp(words[3], "hold"), resumes = !strcmp(words[3], "resumed");
    if (resumes) {
        SSL *first = open_connection(context, port, NULL);
        ask(first);
        session = SSL_get1_session(first);
        close_connection(first);
    }
    double began = now();
    int resumed = 0;
    for (int index = 0; index < wanted; index++) {
        SSL *connection = open_connection(context, port, session);
        resumed += SSL_session_reused(connection);
        if (holds || resumes) ask(connection);
        if (resumes) {
            // A ticket is for one connection.
            SSL_SESSION_free(session);
            session = SSL_get1_session(connection);
        }
        if (!holds) close_connection(connection);
    }
    printf("%s %.6f %d\n", holds ? "open" : "done", now() - began, resumed);
    fflush(stdout);
    if (holds) getchar();
    return 0;
}
