#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
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
