#pragma once

#include <limits.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Macros that Swift does not see.

// RFC 2253's form of a distinguished name: control characters and bytes beyond ASCII escaped.
static const unsigned long copenssl_name_form = XN_FLAG_RFC2253;
// The place in an SSL_CTX that is reserved for applications.
static const int copenssl_application_data = 0;

// TLS 1.2 and later, without new handshakes on a connection (RFC 9113 section 9.2.1). Returns 1, or 0 when the library is
// built without them.
static inline int copenssl_set_versions(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    return (int)SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

// The name in the ClientHello (RFC 6066 section 3). Returns 1, or 0 when it is no such name.
static inline long copenssl_set_server_name(SSL *connection, const char *name) {
    return SSL_set_tlsext_host_name(connection, name);
}

// What was written into a BIO in memory and not read yet; valid until the BIO is next used. Returns its length.
static inline long copenssl_unread(BIO *memory, const void **bytes) {
    char *start = NULL;
    long length = BIO_get_mem_data(memory, &start);
    *bytes = start;
    return length;
}

// The reason of the last error of this thread, as text; NULL when there is none. Takes the errors away.
static inline const char *copenssl_last_reason(void) {
    unsigned long error = ERR_peek_last_error();
    ERR_clear_error();
    return error == 0 ? NULL : ERR_reason_error_string(error);
}

// HMAC-SHA512 under a key, for any number of digests; NULL where the library cannot do it.
static inline EVP_MAC_CTX *copenssl_hmac_create(const unsigned char *key, size_t length) {
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    if (!mac) return NULL;
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);
    char digest[] = "SHA512";
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), OSSL_PARAM_construct_end()};
    if (context && EVP_MAC_init(context, key, length, parameters) == 1) return context;
    EVP_MAC_CTX_free(context);
    return NULL;
}

// Writes the 64 bytes of a digest; 1 unless the library fails.
static inline int copenssl_hmac(EVP_MAC_CTX *context, const unsigned char *bytes, size_t count, unsigned char *code) {
    size_t length = 0;
    return EVP_MAC_init(context, NULL, 0, NULL) == 1 && EVP_MAC_update(context, bytes, count) == 1
        && EVP_MAC_final(context, code, &length, 64) == 1 && length == 64;
}

// MARK: Both sides of TLS

// Leaves the other side no choice of an exchange of keys that costs this one much: Diffie-Hellman with numbers that a server
// chooses takes up to seconds of CPU, with the large groups of RFC 7919 a quarter of one, and a server 94 ms for each
// ClientHello. Of the ciphers that the machine's configuration allows the others remain, and of the groups those over curves
// that the library has. Nor does a chain cost much: of 100 certificates, which the library takes, it is 15 ms; real ones have
// a few, of 20 KB with very many names. Returns 1, or 0 without memory.
static inline int copenssl_limit_cost(SSL_CTX *context) {
    static const char *const groups[] = {"X25519MLKEM768", "X25519", "P-256", "P-384", "P-521"};
    char names[8192];
    size_t length = 0;
    SSL_CTX_set_max_cert_list(context, 32768);
    // One that it does not have would have it refuse all.
    for (size_t index = 0; index < sizeof groups / sizeof *groups; index++) {
        if (SSL_CTX_set1_groups_list(context, groups[index]) != 1) continue;
        size_t count = __builtin_strlen(groups[index]);
        __builtin_memcpy(names + length, groups[index], count);
        length += count;
        names[length++] = ':';
    }
    ERR_clear_error();
    if (length > 0) names[length - 1] = 0;
    if (length > 0 && SSL_CTX_set1_groups_list(context, names) != 1) return 0;
    length = 0;
    STACK_OF(SSL_CIPHER) *ciphers = SSL_CTX_get_ciphers(context);
    for (int index = 0; index < sk_SSL_CIPHER_num(ciphers); index++) {
        const SSL_CIPHER *cipher = sk_SSL_CIPHER_value(ciphers, index);
        int exchange = SSL_CIPHER_get_kx_nid(cipher);
        // Those of TLS 1.3 are on a list of their own, and name no exchange.
        if (exchange == NID_kx_dhe || exchange == NID_kx_dhe_psk || exchange == NID_kx_any) continue;
        const char *name = SSL_CIPHER_get_name(cipher);
        size_t count = __builtin_strlen(name);
        if (length + count + 1 >= sizeof names) break;
        __builtin_memcpy(names + length, name, count);
        length += count;
        names[length++] = ':';
    }
    // Where there is no other, TLS 1.3 remains: its servers choose groups alone.
    if (length == 0) return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1;
    names[length] = 0;
    return SSL_CTX_set_cipher_list(context, names) == 1;
}

// MARK: The client side of TLS, with any server

// Goes on with a certificate that is not valid yet, or has expired.
static inline int copenssl_pass_time(int is_good, X509_STORE_CTX *verification) {
    int error = X509_STORE_CTX_get_error(verification);
    return is_good || error == X509_V_ERR_CERT_NOT_YET_VALID || error == X509_V_ERR_CERT_HAS_EXPIRED;
}

// Has a handshake with a certificate that is wrong only in its time come to its end, and the result of the verification
// say so: all else has been examined then, and the server has shown that it has the key.
static inline void copenssl_verify_but_time(SSL_CTX *context) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, copenssl_pass_time);
}

// Whether all certificates of a chain are in their time, by which the store's parameters verify.
static inline int copenssl_is_in_time(const STACK_OF(X509) *chain, const X509_STORE *store) {
    for (int index = 0; index < sk_X509_num(chain); index++) {
        const X509 *certificate = sk_X509_value(chain, index);
        int order = X509_cmp_timeframe(
            X509_STORE_get0_param(store), X509_get0_notBefore(certificate), X509_get0_notAfter(certificate));
        if (order != 0) return 0;
    }
    return 1;
}

static inline void copenssl_free_chain(STACK_OF(X509) *chain) { sk_X509_pop_free(chain, X509_free); }

// MARK: The server side of TLS

// What passes through the socket during one call of the library: all bytes that were received, and how to send. `send`
// returns how many bytes were sent, 0 when none can be now, or below 0 when the connection is broken.
struct copenssl_wire {
    int descriptor;
    long (*send)(int descriptor, const void *bytes, size_t count);
    const unsigned char *next;
    size_t left;
};

static inline int copenssl_wire_read(BIO *bio, char *bytes, int length) {
    struct copenssl_wire *wire = (struct copenssl_wire *)BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (wire->left == 0 || length <= 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    size_t count = wire->left < (size_t)length ? wire->left : (size_t)length;
    __builtin_memcpy(bytes, wire->next, count);
    wire->next += count;
    wire->left -= count;
    return (int)count;
}

static inline int copenssl_wire_write(BIO *bio, const char *bytes, int length) {
    struct copenssl_wire *wire = (struct copenssl_wire *)BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (length <= 0 || !wire->send) return -1;
    long count = wire->send(wire->descriptor, bytes, (size_t)length);
    if (count == 0) BIO_set_retry_write(bio);
    return count > 0 ? (int)count : -1;
}

static inline long copenssl_wire_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static inline int copenssl_wire_create(BIO *bio) {
    BIO_set_init(bio, 1);
    return 1;
}

// The method of BIOs that move bytes by a copenssl_wire; NULL without memory.
static inline BIO_METHOD *copenssl_wire_method(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "wire");
    if (!method) return NULL;
    BIO_meth_set_read(method, copenssl_wire_read);
    BIO_meth_set_write(method, copenssl_wire_write);
    BIO_meth_set_ctrl(method, copenssl_wire_control);
    BIO_meth_set_create(method, copenssl_wire_create);
    return method;
}

// Chooses the protocol (ALPN): "dot", or for connections with application data HTTP's. A client that offers nothing that
// is served here is refused (RFC 7301 section 3.2).
static inline int copenssl_choose_protocol(
    SSL *connection, const unsigned char **chosen, unsigned char *length, const unsigned char *offered,
    unsigned int count, void *nothing) {
    static const unsigned char dot[] = {3, 'd', 'o', 't'};
    static const unsigned char http[] = {2, 'h', '2', 8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
    (void)nothing;
    int is_http = SSL_get_ex_data(connection, copenssl_application_data) != NULL;
    int result = SSL_select_next_proto(
        (unsigned char **)chosen, length, is_http ? http : dot, (unsigned int)(is_http ? sizeof http : sizeof dot),
        offered, count);
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Has all connections of a context served: TLS 1.2 and later, tickets with keys of this context alone and no sessions in
// memory, no early data, no dear exchange of keys, buffers only while they hold something. Returns 1, or 0 when the library cannot do so.
static inline int copenssl_serve(SSL_CTX *context) {
    static const unsigned char name[] = "httpdnsd";
    if (copenssl_set_versions(context) != 1 || copenssl_limit_cost(context) != 1) return 0;
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(
        context,
        SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_alpn_select_cb(context, copenssl_choose_protocol, NULL);
    SSL_CTX_set_max_early_data(context, 0);
    return SSL_CTX_set_num_tickets(context, 1) == 1
        && SSL_CTX_set_session_id_context(context, name, sizeof name - 1) == 1;
}

// No password is asked for: a key that has one cannot be read.
static inline int copenssl_no_password(char *buffer, int size, int writes, void *nothing) {
    (void)buffer, (void)size, (void)writes, (void)nothing;
    return -1;
}

// The next certificate of a PEM file; NULL at its end, and where one cannot be read.
static inline X509 *copenssl_next_certificate(BIO *file) {
    return PEM_read_bio_X509(file, NULL, copenssl_no_password, NULL);
}

// The private key of a PEM file; NULL when there is none.
static inline EVP_PKEY *copenssl_private_key(BIO *file) {
    return PEM_read_bio_PrivateKey(file, NULL, copenssl_no_password, NULL);
}

// Appends a certificate to the chain that is presented.
static inline long copenssl_add_chain(SSL_CTX *context, X509 *certificate) {
    return SSL_CTX_add1_chain_cert(context, certificate);
}

// A time in seconds since 1970. Returns 1, or 0 for what is no time.
static inline int copenssl_seconds(const ASN1_TIME *time, long long *seconds) {
    int days = 0, rest = 0;
    ASN1_TIME *origin = ASN1_TIME_set(NULL, 0);
    int result = origin && ASN1_TIME_diff(&days, &rest, origin, time) == 1;
    ASN1_TIME_free(origin);
    if (result) *seconds = (long long)days * 86400 + rest;
    return result;
}
