/* The subcommands of the program: one file and one const record each, listed in main.c.
 * What they share: how they fail, and how they find the server. */
#ifndef GNOMON_SERVICE_CLI_COMMAND_H
#define GNOMON_SERVICE_CLI_COMMAND_H

#include "engine/base/status.h"
#include "service/cli/options.h"

#include <stdbool.h>

struct client; /* service/client/client.h */
struct command_call;

struct command {
    const char               *name;
    const char               *operands; /* for the help: "create|list|revoke [ID]", or "" */
    const char               *summary;
    const struct options_row *options;
    size_t                    options_bytes, operands_max; /* of the struct that the table fills; of the operands */
    bool                      watches_signals;             /* as process_watch_signals, from before run on */
    enum status (*run)(struct command_call *call, struct error *err); /* NULL: the Python client has it */
};

enum { COMMAND_OPERANDS_MAX = 12 };

struct command_call {
    const void    *options; /* the command's struct, filled */
    const char    *operands[COMMAND_OPERANDS_MAX];
    struct client *client;    /* for command_connect; closed behind the command */
    int            exit_code; /* when run says STATUS_OK; COMMAND_DONE unless run sets another */
};

/* Reads the arguments (after the name, NULL at the end), runs, and prints what went wrong; the exit code. */
int command_execute(const struct command *command, char **arguments);
/* Becomes the Python client with the command's name and these arguments; returns only if that fails: the exit code. */
int command_hand_over(const struct command *command, char **arguments);

extern const struct command command_serve, command_run, command_token, command_project, command_curate, command_agent,
    command_export, command_import, command_routes, command_key, command_ledger, command_migrate, command_verify,
    command_backup, command_restore, command_check, command_compact, command_health, command_study, command_work,
    command_notify;

/* Exit codes; the numbers are those of sysexits.h. */
enum {
    COMMAND_DONE = 0,
    COMMAND_FAILED = 1,       /* the input or the server said no */
    COMMAND_PENDING = 2,      /* migrate --check, check: there is something to do */
    COMMAND_USAGE = 64,       /* a wrong option */
    COMMAND_CORRUPT = 65,     /* the store is damaged */
    COMMAND_UNREACHABLE = 69, /* no server there */
    COMMAND_INTERNAL = 70,
    COMMAND_TEMPORARY = 75, /* the folder is in use, or the work was interrupted: again later */
    COMMAND_SCHEMA =
        78, /* a store that this version does not take as it is: a later or an unknown schema, an old backup */
};

/* INVALID "usage" unless it looks like an id: prefix, '_' and what follows.  It becomes part of a path. */
MUST_CHECK enum status command_check_id(const char *flag, const char *prefix, const char *id, struct error *err);

/* Where the service is, and who asks: a member "at" of each client's options, filled by COMMAND_SERVER_ROWS. */
struct command_server {
    const char *url, *token_file, *ca_file; /* the last two: or NULL */
    bool        insecure_http;
};

/* A client of the server with the token in the file, or in GNOMON_TOKEN (which is then removed from the environment, so
 * that no child process sees it). */
MUST_CHECK enum status command_connect(const struct command_server *at, struct client **out, struct error *err);

/* A client of the server that owns the folder, through its Unix socket, as the local administrator. */
MUST_CHECK enum status command_connect_local(const char *folder, struct client **out, struct error *err);

/* The options that every client has; for use inside a table. */
// clang-format off
#define COMMAND_SERVER_ROW(type, member)                                                                               \
    {OPTION_OF(type, "server", "URL", member), .environment = "GNOMON_SERVER", .fallback = "http://127.0.0.1:8080",     \
     .help = "the address of the server"}
#define COMMAND_SERVER_ROWS(type)                                                                                      \
    COMMAND_SERVER_ROW(type, at.url),                                                                                  \
    {OPTION_OF(type, "token-file", "FILE", at.token_file), .environment = "GNOMON_TOKEN_FILE",                          \
     .help = "a file with the token; without it, GNOMON_TOKEN has the token"},                                         \
    {OPTION_OF(type, "cacert", "FILE", at.ca_file), .environment = "GNOMON_CACERT",                                     \
     .help = "certificates (PEM) of the authorities that may vouch for an https:// server, instead of the system's"},  \
    {OPTION_OF(type, "insecure-http", NULL, at.insecure_http), .kind = OPTIONS_SWITCH,                                 \
     .help = "allow http:// to another machine: anybody in between reads the token and everything else"}
/* The limit of a struct patience. */
#define COMMAND_PATIENCE_ROW(type)                                                                                     \
    {OPTION_OF(type, "patience", "SECONDS", patience_seconds), .environment = "GNOMON_PATIENCE", .kind = OPTIONS_INT,   \
     .max = 604800, .fallback = "300", .help = "how long the server may be away before the command gives up"}
#define COMMAND_LISTEN_ROW(type)                                                                                       \
    {OPTION_OF(type, "listen", "HOST:PORT", listen), .environment = "GNOMON_LISTEN", .fallback = "127.0.0.1:8080",      \
     .help = "the server's address; port 0 takes any free port"}
#define COMMAND_DATA_ROW(type)                                                                                         \
    {OPTION_OF(type, "data", "DIR", data), .environment = "GNOMON_DATA", .fallback = "./data",                          \
     .help = "the folder of the store"}
/* The place of the store, when it is no file of the folder. */
#define COMMAND_DATABASE_ROW(type)                                                                                     \
    {OPTION_OF(type, "database", "URL", database), .environment = "GNOMON_DATABASE",                                   \
     .help = "postgresql://...: the store is in this database, not in a file of the folder"}
// clang-format on
/* Checks a command for files: INVALID "not_a_file" when a database is named.  instead: what PostgreSQL has for it. */
MUST_CHECK enum status command_check_file(const char *database, const char *instead, struct error *err);

#endif
