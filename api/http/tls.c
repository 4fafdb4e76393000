/* See tls.h. */
#include "api/http/tls.h"

#include "service/file/file.h"
#include "service/base/log.h"

#include <gnutls/x509.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PEM_BYTES = 1 << 20, CHAIN_MAX = 16 };

/* TLS 1.2 and 1.3 with forward secrecy and authenticated encryption: the library's own choice takes 1.0, too. */
const char tls_priorities[] = "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-AES-128-CBC:-AES-256-CBC:-SHA1";

struct pem {
    char  *text;
    size_t length;
};
struct material {
    struct pem               certificate, key;
    gnutls_x509_trust_list_t clients; /* NULL: clients need no certificate */
};

static struct material current;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static gnutls_datum_t datum(const struct pem *pem)
{
    return (gnutls_datum_t){.data = (unsigned char *)pem->text, .size = (unsigned)pem->length};
}

static void forget(struct material *material)
{
    if (material->key.text != NULL)
        gnutls_memset(material->key.text, 0, material->key.length);
    free(material->key.text);
    free(material->certificate.text);
    if (material->clients != NULL)
        gnutls_x509_trust_list_deinit(material->clients, 1);
    *material = (struct material){0};
}

/* ---- reading ---- */

static enum status check_pair(const struct tls_files *files, const struct material *material, struct error *err)
{
    gnutls_certificate_credentials_t pair;
    gnutls_datum_t                   certificate = datum(&material->certificate), key = datum(&material->key);
    if (gnutls_certificate_allocate_credentials(&pair) != 0)
        return error_no_memory(err);
    int problem = gnutls_certificate_set_x509_key_mem(pair, &certificate, &key, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(pair);
    if (problem == GNUTLS_E_MEMORY_ERROR)
        return error_no_memory(err);
    if (problem < 0)
        return error_set(err, STATUS_INVALID, "tls_certificate", "", "%.200s with %.200s: %s", files->certificate,
                         files->key, gnutls_strerror(problem));
    return STATUS_OK;
}

/* Warns of a certificate's age.  An expired one is used: an operator who notices late would be without service as well. */
static void warn_of_age(const struct material *material)
{
    gnutls_x509_crt_t certificate;
    gnutls_datum_t    pem = datum(&material->certificate);
    if (gnutls_x509_crt_init(&certificate) != 0)
        return;
    if (gnutls_x509_crt_import(certificate, &pem, GNUTLS_X509_FMT_PEM) == 0) {
        time_t until = gnutls_x509_crt_get_expiration_time(certificate), now = time(NULL);
        bool   is_good = until > now && gnutls_x509_crt_get_activation_time(certificate) <= now;
        log_event(is_good ? LOG_INFO : LOG_WARNING, is_good ? "certificate" : "certificate_not_valid_now",
                  "days_left=%lld", (long long)((until - now) / 86400));
    }
    gnutls_x509_crt_deinit(certificate);
}

static enum status read_clients(const char *path, struct material *material, struct error *err)
{
    struct pem pem;
    if (path == NULL)
        return STATUS_OK;
    TRY(file_read(path, PEM_BYTES, &pem.text, &pem.length, err));
    gnutls_datum_t data = datum(&pem);
    int            found = gnutls_x509_trust_list_init(&material->clients, 0);
    if (found == 0)
        found = gnutls_x509_trust_list_add_trust_mem(material->clients, &data, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
    free(pem.text);
    if (found > 0)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "tls_clients", "", "%.200s: %s", path,
                     found == 0 ? "no certificate in it" : gnutls_strerror(found));
}

static enum status read_material(const struct tls_files *files, struct material *out, struct error *err)
{
    TRY(file_read(files->certificate, PEM_BYTES, &out->certificate.text, &out->certificate.length, err));
    TRY(file_read_private(files->key, PEM_BYTES, &out->key.text, &out->key.length, err));
    TRY(check_pair(files, out, err));
    return read_clients(files->clients, out, err);
}

enum status tls_load(const struct tls_files *files, struct error *err)
{
    struct material next = {0}, before;
    enum status     status = read_material(files, &next, err);
    if (status == STATUS_OK) {
        warn_of_age(&next);
        pthread_mutex_lock(&lock);
        before = current;
        current = next;
        next = before;
        pthread_mutex_unlock(&lock);
    }
    forget(&next);
    return status;
}

void tls_forget(void)
{
    pthread_mutex_lock(&lock);
    forget(&current);
    pthread_mutex_unlock(&lock);
}

/* ---- handshakes ---- */

/* The chain that the client sent, against the authorities as they are now. */
static bool is_welcome(gnutls_session_t session)
{
    gnutls_x509_crt_t     chain[CHAIN_MAX];
    unsigned              length = 0, read = 0, faults = ~0u;
    const gnutls_datum_t *sent = gnutls_certificate_get_peers(session, &length);
    bool                  is_read = sent != NULL && length > 0 && length <= CHAIN_MAX;
    for (; is_read && read < length; read++) {
        if (gnutls_x509_crt_init(&chain[read]) != 0)
            break;
        is_read = gnutls_x509_crt_import(chain[read], &sent[read], GNUTLS_X509_FMT_DER) == 0;
    }
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT};
    if (is_read && read == length)
        is_read =
            gnutls_x509_trust_list_verify_crt2(current.clients, chain, length, &purpose, 1, 0, &faults, NULL) == 0;
    while (read > 0)
        gnutls_x509_crt_deinit(chain[--read]);
    return is_read && faults == 0;
}

static int check_client(gnutls_session_t session)
{
    pthread_mutex_lock(&lock);
    bool welcome = current.clients == NULL || is_welcome(session);
    pthread_mutex_unlock(&lock);
    return welcome ? 0 : -1;
}

/* Copies of what is current, which the library frees: a handshake under way never sees them change. */
int tls_give_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info, gnutls_pcert_st **chain,
                         unsigned *length, gnutls_ocsp_data_st **ocsp, unsigned *ocsp_length, gnutls_privkey_t *key,
                         unsigned *flags)
{
    (void)info, (void)ocsp;
    *length = CHAIN_MAX;
    *ocsp_length = 0;
    *flags = GNUTLS_CERT_RETR_DEINIT_ALL;
    *chain = gnutls_malloc(CHAIN_MAX * sizeof **chain);
    if (*chain == NULL || gnutls_privkey_init(key) != 0) {
        gnutls_free(*chain);
        return -1;
    }
    pthread_mutex_lock(&lock);
    gnutls_datum_t certificate = datum(&current.certificate), secret = datum(&current.key);
    bool           asks = current.clients != NULL;
    int            chained = gnutls_pcert_list_import_x509_raw(*chain, length, &certificate, GNUTLS_X509_FMT_PEM, 0);
    int            keyed = gnutls_privkey_import_x509_raw(*key, &secret, GNUTLS_X509_FMT_PEM, NULL, 0);
    pthread_mutex_unlock(&lock);
    if (asks) {
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
        gnutls_session_set_verify_function(session, check_client);
    }
    if (chained >= 0 && keyed >= 0)
        return 0;
    for (unsigned i = 0; chained >= 0 && i < *length; i++)
        gnutls_pcert_deinit(&(*chain)[i]);
    gnutls_free(*chain);
    gnutls_privkey_deinit(*key);
    return -1;
}

void tls_send(gnutls_session_t session, const char *text)
{
    (void)gnutls_record_send(session, text, strlen(text));
    (void)gnutls_bye(session, GNUTLS_SHUT_WR);
}
