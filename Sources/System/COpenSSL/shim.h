#ifndef COPENSSL_SHIM_H
#define COPENSSL_SHIM_H

#include <stdint.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

// Macros, and functions of variable arguments, which Swift cannot call.

static inline EVP_PKEY *ossl_shim_new_p256_key(void) { return EVP_EC_gen("P-256"); }

static inline int ossl_shim_accept_any(int ok, X509_STORE_CTX *context) { return 1; }

/// Settings of a context for DTLS-SRTP; 1 on success. Any certificate is accepted here: its fingerprint decides.
static inline int ossl_shim_configure(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    // After the handshake there is next to nothing to read or write.
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, ossl_shim_accept_any);
    return SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION) == 1 &&
           SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384") == 1;
}

static inline void ossl_shim_set_mtu(SSL *ssl, long mtu, long overhead) {
    SSL_set_mtu(ssl, mtu - overhead);
    DTLS_set_link_mtu(ssl, mtu);
}

static inline long ossl_shim_handle_timeout(SSL *ssl) { return DTLSv1_handle_timeout(ssl); }

static inline void ossl_shim_retry_read(BIO *bio) {
    BIO_clear_retry_flags(bio);
    BIO_set_retry_read(bio);
}

static inline void ossl_shim_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

// HMAC-SHA1 with a key that is set once (RFC 2104). EVP would copy its contexts, and so allocate, for each packet.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"

typedef struct {
    SHA_CTX inner, outer;
} ossl_shim_hmac;

/// Sets the key of 20 bytes.
static inline void ossl_shim_hmac_set_key(ossl_shim_hmac *hmac, const uint8_t *key) {
    uint8_t block[SHA_CBLOCK];
    SHA_CTX *states[] = {&hmac->inner, &hmac->outer};
    const uint8_t pads[] = {0x36, 0x5c};
    for (int side = 0; side < 2; side++) {
        memset(block, pads[side], sizeof block);
        for (int i = 0; i < SHA_DIGEST_LENGTH; i++) block[i] ^= key[i];
        SHA1_Init(states[side]);
        SHA1_Update(states[side], block, sizeof block);
    }
    OPENSSL_cleanse(block, sizeof block);
}

/// Makes the tag, of 20 bytes, of `count` bytes and of the four of `word` behind them.
static inline void ossl_shim_hmac_make_tag(
    const ossl_shim_hmac *hmac, const uint8_t *bytes, size_t count, uint32_t word, uint8_t *tag) {
    SHA_CTX state = hmac->inner;
    SHA1_Update(&state, bytes, count);
    SHA1_Update(&state, &word, sizeof word);
    SHA1_Final(tag, &state);
    state = hmac->outer;
    SHA1_Update(&state, tag, SHA_DIGEST_LENGTH);
    SHA1_Final(tag, &state);
}

#pragma clang diagnostic pop

#endif
