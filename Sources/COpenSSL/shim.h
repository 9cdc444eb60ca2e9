#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

// Macros that Swift does not see.

// RFC 2253's form of a distinguished name: control characters and bytes beyond ASCII escaped.
static const unsigned long copenssl_name_form = XN_FLAG_RFC2253;
// The place in an SSL_CTX that is kept for applications.
static const int copenssl_application_data = 0;
