/* A client of the HTTP API for the command line's programs: one connection, kept open; JSON in, JSON out.
 * Not for threads to share.  A refusal of the server comes back as the error that it is (status, code, detail). */
#ifndef GNOMON_SERVICE_CLI_CLIENT_H
#define GNOMON_SERVICE_CLI_CLIENT_H

#include "engine/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct client;

struct client_options {
    const char *server;        /* "http://HOST:PORT" or "https://HOST:PORT" */
    const char *socket_path;   /* a Unix socket instead; server is then ignored */
    const char *token;         /* or NULL */
    const char *ca_file;       /* PEM; NULL: the system's authorities */
    long        timeout_ms;    /* of one request; 0: a minute */
    bool        insecure_http; /* http:// to another machine is allowed */
};
/* Opens no connection yet.  Errors: INVALID "bad_address" (neither http:// nor https://), "insecure_http", "file" (no such
 * ca_file), INTERNAL "no_libcurl" (not with a socket_path), NO_MEMORY. */
MUST_CHECK enum status client_open(const struct client_options *options, struct client **out, struct error *err);
void                   client_close(struct client *client); /* NULL is allowed */

struct client_request {
    const char *method, *path;        /* path with its query, as it goes on the wire */
    const char *content_type, *range; /* or NULL; range: the value of Content-Range */
    const void *body;                 /* or NULL */
    size_t      body_bytes;
};
struct client_reply {
    long   http_status;
    char  *bytes;
    size_t length;
}; /* bytes: NUL behind; the caller frees */

/* Does the name mean this machine, whoever answers for names?  An address 127.x.x.x, ::1, or "localhost". */
bool client_is_loopback(const char *host);

/* Errors: BUSY "unreachable" (no connection, or it broke before the answer was whole); INVALID "bad_certificate";
 * what the server refused with.
 * reply->bytes is NULL on failure. */
MUST_CHECK enum status client_send(struct client *client, const struct client_request *request,
                                   struct client_reply *reply, struct error *err);

/* body may be NULL; the reference is taken.  *reply (when asked for) is a new reference.
 * Errors: as client_send; INTERNAL "bad_reply" when the answer is not JSON. */
MUST_CHECK enum status client_json(struct client *client, const char *method, const char *path, json_t *body,
                                   json_t **reply, struct error *err);

/* INTERNAL "bad_reply", for an answer that lacks a required member. */
enum status client_bad_reply(struct error *err);

#endif
