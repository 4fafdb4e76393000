/* See sign.h. */
#include "service/file/sign.h"
#include "service/base/digest.h"
#include "service/file/file.h"
#include "service/base/text.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

enum { PUBLIC_BYTES = 32, PRIVATE_BYTES = 32, SIGNATURE_BYTES = 64, PEM_MAX_BYTES = 4096 };

struct sign_key {
    EVP_PKEY     *pair;
    unsigned char private_bytes[PRIVATE_BYTES];
    char          public_text[SIGN_PUBLIC_CHARS];
};

/* Exactly length bytes from exactly their one text. */
static bool decode(const char *text, unsigned char *out, size_t length)
{
    size_t characters = (length * 8 + 5) / 6;
    return strlen(text) == characters && text_of_base64url(text, characters, out);
}

void sign_wipe(void *bytes, size_t length)
{
    if (bytes != NULL)
        OPENSSL_cleanse(bytes, length);
}

/* Takes the pair, NULL included. */
static enum status wrap(EVP_PKEY *pair, struct sign_key **out, struct error *err)
{
    unsigned char public_bytes[PUBLIC_BYTES];
    size_t        private_len = PRIVATE_BYTES, public_len = PUBLIC_BYTES;
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        EVP_PKEY_free(pair);
        return error_no_memory(err);
    }
    (*out)->pair = pair;
    if (pair == NULL || EVP_PKEY_get_base_id(pair) != EVP_PKEY_ED25519 ||
        EVP_PKEY_get_raw_private_key(pair, (*out)->private_bytes, &private_len) != 1 ||
        EVP_PKEY_get_raw_public_key(pair, public_bytes, &public_len) != 1) {
        sign_key_free(*out);
        *out = NULL;
        return error_set(err, STATUS_INVALID, "bad_key", "", "not an Ed25519 private key");
    }
    text_base64url(public_bytes, PUBLIC_BYTES, (*out)->public_text);
    return STATUS_OK;
}

enum status sign_key_new(struct sign_key **out, struct error *err)
{
    EVP_PKEY *pair = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    *out = NULL;
    if (pair == NULL)
        return error_set(err, STATUS_INTERNAL, "no_randomness", "", "the system's random generator failed");
    return wrap(pair, out, err);
}

void sign_key_free(struct sign_key *key)
{
    if (key == NULL)
        return;
    EVP_PKEY_free(key->pair);
    OPENSSL_cleanse(key, sizeof *key);
    free(key);
}

enum status sign_key_write(const struct sign_key *key, FILE *stream, struct error *err)
{
    if (PEM_write_PKCS8PrivateKey(stream, key->pair, NULL, NULL, 0, NULL, NULL) == 1)
        return STATUS_OK;
    return error_set(err, STATUS_FULL, "file", "", "the key cannot be written");
}

/* For PEM that asks for a passphrase: none, instead of a question on the terminal. */
static int no_passphrase(char *out, int room, int is_writing, void *arg)
{
    (void)out, (void)room, (void)is_writing, (void)arg;
    return -1;
}

enum status sign_key_read(const char *path, struct sign_key **out, struct error *err)
{
    char  *text = NULL;
    size_t length = 0;
    *out = NULL;
    TRY(file_read_private(path, PEM_MAX_BYTES, &text, &length, err));
    BIO        *memory = BIO_new_mem_buf(text, (int)length);
    EVP_PKEY   *pair = memory != NULL ? PEM_read_bio_PrivateKey(memory, NULL, no_passphrase, NULL) : NULL;
    enum status status = wrap(pair, out, err);
    BIO_free(memory);
    OPENSSL_cleanse(text, length);
    free(text);
    return status != STATUS_INVALID ? status
                                    : error_set(err, STATUS_INVALID, "bad_key", "",
                                                "%.150s is not a key of gnomon key (an Ed25519 private key)", path);
}

void sign_key_public(const struct sign_key *key, char out[SIGN_PUBLIC_CHARS])
{
    memcpy(out, key->public_text, SIGN_PUBLIC_CHARS);
}

bool sign_is_public(const char *text)
{
    unsigned char bytes[PUBLIC_BYTES];
    return decode(text, bytes, sizeof bytes);
}

enum status sign_make(const struct sign_key *key, const void *bytes, size_t length, char out[SIGN_CHARS],
                      struct error *err)
{
    unsigned char signature[SIGNATURE_BYTES];
    size_t        made = sizeof signature;
    EVP_MD_CTX   *context = EVP_MD_CTX_new();
    bool          is_made = context != NULL && EVP_DigestSignInit(context, NULL, NULL, NULL, key->pair) == 1 &&
                   EVP_DigestSign(context, signature, &made, bytes, length) == 1 && made == sizeof signature;
    EVP_MD_CTX_free(context);
    if (!is_made)
        return error_set(err, STATUS_INTERNAL, "no_signature", "", "the signature cannot be made");
    text_base64url(signature, sizeof signature, out);
    return STATUS_OK;
}

bool sign_verify(const char *public_key, const void *bytes, size_t length, const char *signature)
{
    unsigned char key[PUBLIC_BYTES], decoded[SIGNATURE_BYTES];
    if (!decode(public_key, key, sizeof key) || !decode(signature, decoded, sizeof decoded))
        return false;
    EVP_PKEY   *pair = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, sizeof key);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_good = pair != NULL && context != NULL && EVP_DigestVerifyInit(context, NULL, NULL, NULL, pair) == 1 &&
                   EVP_DigestVerify(context, decoded, sizeof decoded, bytes, length) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(pair);
    return is_good;
}

void sign_derive(const struct sign_key *key, const char *purpose, unsigned char out[32])
{
    hmac_sha256(key->private_bytes, purpose, strlen(purpose), out);
}
