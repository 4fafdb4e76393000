/* gnomon serve: puts the layers together, waits for a signal, takes them apart in reverse order.
 * Order matters: BLAS is set to one thread and jansson's hash is seeded before any thread starts; the store is locked
 * before its socket is replaced; the address is printed when requests are answered. */
#include "api/base/cors.h"
#include "api/http/server.h"
#include "api/http/spare.h"
#include "api/http/tls.h"
#include "db/db.h"
#include "engine/math/mat.h"
#include "service/client/client.h"
#include "service/member/codec.h"
#include "service/cli/command.h"
#include "service/client/process.h"
#include "service/app/watch.h"
#include "service/base/cpus.h"
#include "service/app/memory.h"
#include "service/app/token.h"
#include "service/file/file.h"
#include "service/base/log.h"
#include "service/main/app_open.h"
#include "service/main/confine.h"
#include "service/app/auditor.h"
#include "service/study/keeper.h"
#include "service/suggest/operation.h"
#include "service/base/version.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    ADDRESS_BYTES = 256,
    DESCRIPTORS_BESIDE = 256, /* those of the store and of files: server_descriptors has the connections' */
    HEAPS = 2,
    OWN_PAGES_BYTES = 256 << 10,
    FIRST_TOKEN_BYTES = 128,
    FIRST_ARENA_BYTES = 1 << 20
};

struct serve_options {
    const char *listen, *health_listen, *data, *database, *synchronous, *trusted_proxy, *access_log, *log_format,
        *cors_origin, *head_file, *first_token;
    int64_t workers, compute_slots, compute_ms, drain_ms, drain_delay_ms, connections, connections_per_address,
        body_bytes, sessions_bytes, session_bytes, memory_bytes, stuck_ms, journal_bytes, disk_free_bytes, head_seconds,
        keep_events_seconds;
    struct tls_files tls;
    bool             insecure_http, unconfined, ends_with_stdin;
};

#define OPTION(name, what, member) OPTION_OF(struct serve_options, name, what, member)
#define INTEGER(name, variable, member, default_text, least, most)                                                   \
    OPTION(name, "N", member), .environment = variable, .kind = OPTIONS_INT, .fallback = default_text, .min = least, \
                               .max = most
static const struct options_row options_table[] = {
    COMMAND_LISTEN_ROW(struct serve_options),
    {OPTION("health-listen", "HOST:PORT", health_listen), .environment = "GNOMON_HEALTH_LISTEN",
     .help = "a second address for /livez, /readyz and /metrics, without tokens"},
    {OPTION("tls-cert", "FILE", tls.certificate), .environment = "GNOMON_TLS_CERT",
     .help = "PEM: serve https with this certificate and its chain; SIGHUP reads the files again"},
    {OPTION("tls-key", "FILE", tls.key), .environment = "GNOMON_TLS_KEY",
     .help = "PEM: the certificate's key, mode 0600 or 0400"},
    {OPTION("tls-client-ca", "FILE", tls.clients), .environment = "GNOMON_TLS_CLIENT_CA",
     .help = "PEM: clients need a certificate of one of these authorities"},
    {OPTION("insecure-http", NULL, insecure_http), .environment = "GNOMON_INSECURE_HTTP", .kind = OPTIONS_SWITCH,
     .help = "allow plain HTTP on an address that other machines reach; put a TLS proxy in front"},
    COMMAND_DATA_ROW(struct serve_options),
    COMMAND_DATABASE_ROW(struct serve_options),
    {OPTION("first-token-file", "FILE", first_token), .environment = "GNOMON_FIRST_TOKEN_FILE",
     .help =
         "a file with the output of gnomon token draw: the administrator's token of a store that never had a token"},
    {OPTION("unconfined", NULL, unconfined), .environment = "GNOMON_UNCONFINED", .kind = OPTIONS_SWITCH,
     .help = "keep the rights that the server otherwise gives up at its start; debuggers and profilers need them"},
    {OPTION("until-eof", NULL, ends_with_stdin), .kind = OPTIONS_SWITCH,
     .help =
         "end when standard input does: a program that holds the other end of a pipe does not leave its server behind"},
    {OPTION("synchronous", "MODE", synchronous), .environment = "GNOMON_SYNCHRONOUS", .fallback = "FULL",
     .choices = "FULL|OFF", .help = "OFF loses acknowledged data at power loss: for measurements only"},
    {INTEGER("workers", "GNOMON_WORKERS", workers, "64", 1, 1024), .help = "requests that may run at once"},
    {INTEGER("compute-slots", "GNOMON_COMPUTE_SLOTS", compute_slots, "0", 0, 1024),
     .help = "requests that may compute at once; 0 is one less than there are processors"},
    {INTEGER("compute-ms", "GNOMON_COMPUTE_MS", compute_ms, "30000", 0, 3600000),
     .help = "milliseconds that a request may wait for a slot and compute; 0 is no limit"},
    {INTEGER("drain-ms", "GNOMON_DRAIN_MS", drain_ms, "20000", 1, 3600000),
     .help = "milliseconds that requests may go on after SIGTERM; then computations are stopped"},
    {INTEGER("drain-delay-ms", "GNOMON_DRAIN_DELAY_MS", drain_delay_ms, "0", 0, 600000),
     .help = "milliseconds after SIGTERM in which /readyz is 503 and requests are still answered, before the drain: "
             "time for balancers to notice"},
    {INTEGER("connections", "GNOMON_CONNECTIONS", connections, "512", 1, 65536), .help = "open connections"},
    {INTEGER("connections-per-address", "GNOMON_CONNECTIONS_PER_ADDRESS", connections_per_address, "64", 0, 65536),
     .help = "open connections from a single address that is no trusted proxy; 0 is no limit"},
    {OPTION("trusted-proxy", "CIDR,...", trusted_proxy), .environment = "GNOMON_TRUSTED_PROXY",
     .help = "proxies whose Forwarded and X-Forwarded-For are believed, e.g. 127.0.0.1,10.0.0.0/8"},
    {OPTION("cors-origin", "ORIGIN,...", cors_origin), .environment = "GNOMON_CORS_ORIGIN",
     .help = "pages of these origins may use the API from a browser, e.g. https://example.org; * is all"},
    {OPTION("access-log", "FORMAT", access_log), .environment = "GNOMON_ACCESS_LOG", .fallback = "logfmt",
     .choices = "logfmt|json|off", .help = "log each request on standard error; off: log only errors of the server"},
    {OPTION("log-format", "FORMAT", log_format), .environment = "GNOMON_LOG_FORMAT", .fallback = "logfmt",
     .choices = "logfmt|json", .help = "json: every line on standard error is an object, lines about requests, too"},
    {INTEGER("body-bytes", "GNOMON_BODY_BYTES", body_bytes, "8388608", 1024, 1073741824),
     .help = "largest request body, except for candidate uploads"},
    {INTEGER("sessions-bytes", "GNOMON_SESSIONS_BYTES", sessions_bytes, "1073741824", 1048576, 1e15),
     .help = "memory for all fitted models together; specifications take a quarter more"},
    {OPTION("head-file", "FILE", head_file), .environment = "GNOMON_HEAD_FILE",
     .help =
         "a file, best on another machine, to which the head of the log is written again and again, for gnomon verify"},
    {INTEGER("head-seconds", "GNOMON_HEAD_SECONDS", head_seconds, "3600", 1, 2592000),
     .help = "seconds between two heads"},
    {INTEGER("keep-events-seconds", "GNOMON_KEEP_EVENTS_SECONDS", keep_events_seconds, "0", 0, 1e10),
     .help = "how long the log keeps lines about things that were deleted; 0: for ever"},
    {INTEGER("session-bytes", "GNOMON_SESSION_BYTES", session_bytes, "536870912", 1048576, 1e15),
     .help = "memory for a single fitted model"},
    {INTEGER("memory-bytes", "GNOMON_MEMORY_BYTES", memory_bytes, "0", 0, 1e15),
     .help = "memory for all requests together, beside the models; 0: half of the memory of the machine or its control "
             "group"},
    {INTEGER("stuck-ms", "GNOMON_STUCK_MS", stuck_ms, "30000", 100, 3600000),
     .help = "milliseconds without a sign of life from the writer or a computation, after which /readyz is 503"},
    {INTEGER("journal-bytes", "GNOMON_JOURNAL_BYTES", journal_bytes, "268435456", 1048576, 1e15),
     .help = "length of the write-ahead log above which /readyz is 503"},
    {INTEGER("disk-free-bytes", "GNOMON_DISK_FREE_BYTES", disk_free_bytes, "16777216", 0, 1e15),
     .help = "free bytes on the store's disk, beside the needs of the log, below which /readyz is 503; 0: never"},
    {.flag = NULL},
};

/* The variables the signal handler must reach, on two threads at once if two signals come: counts of its calls, and the
 * semaphore that it posts.  (A thread of its own for the signals will not do: OpenBLAS has started threads before main, and
 * they block none.) */
static atomic_int stops_requested, has_files, reloads_requested;
static sem_t      stop;

static void request_stop(int number)
{
    int saved = errno;
    if (number == SIGHUP && has_files)
        reloads_requested = 1;
    else if (stops_requested++ > 0)
        _exit(128 + number);
    sem_post(&stop);
    errno = saved;
}

/* The end of standard input is a first request to stop, but never the second one, which does not wait for the drain. */
static void *read_stdin(void *unused)
{
    char byte;
    int  none = 0;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    if (atomic_compare_exchange_strong(&stops_requested, &none, 1))
        sem_post(&stop);
    return unused;
}

static enum status follow_stdin(struct error *err)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, read_stdin, NULL) != 0)
        return error_set(err, STATUS_INTERNAL, "thread", "", "no thread for standard input");
    pthread_detach(thread);
    return STATUS_OK;
}

/* "127.0.0.1:8080", "[::1]:8080", "localhost:0" -> host and port. */
static enum status split_address(const char *text, char host[ADDRESS_BYTES], const char **port, struct error *err)
{
    const char *colon = strrchr(text, ':');
    bool        is_bracketed = text[0] == '[' && colon != NULL && colon[-1] == ']';
    size_t      length = colon != NULL ? (size_t)(colon - text) : 0;
    bool        is_port = colon != NULL && colon[1] != '\0' && colon[1 + strspn(colon + 1, "0123456789")] == '\0';
    if (length == 0 || length >= ADDRESS_BYTES || !is_port)
        return error_set(err, STATUS_INVALID, "usage", "", "not HOST:PORT: %.100s", text);
    snprintf(host, ADDRESS_BYTES, "%.*s", (int)(is_bracketed ? length - 2 : length), is_bracketed ? text + 1 : text);
    *port = colon + 1;
    return STATUS_OK;
}

/* Every few threads share a heap: the memory of a large reply is then at the end of one heap, not in the middle of each;
 * large pieces have pages of their own.  See conns_trim in conns.h. */
static void limit_heaps(void)
{
    (void)mallopt(M_ARENA_MAX, HEAPS);
    (void)mallopt(M_MMAP_THRESHOLD, OWN_PAGES_BYTES);
}

static void limit_process(const struct serve_options *options)
{
    const struct server_options all = {.connections = (unsigned)options->connections,
                                       .health_port = options->health_listen};
    struct rlimit               none = {0, 0}, files; // the folder's socket, local_fd, is always there
    umask(077);
    setrlimit(RLIMIT_CORE, &none);
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    size_t wanted = server_descriptors(&all) + DESCRIPTORS_BESIDE;
    if (files.rlim_max < wanted)
        log_event(LOG_WARNING, "few_descriptors", "limit=%llu wanted=%zu", (unsigned long long)files.rlim_max, wanted);
}

/* The folder is ours (locked), so a socket in it is a leftover. */
static enum status listen_locally(const char *path, int *fd, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return error_set(err, STATUS_INVALID, "address", "", "the path of the Unix socket is too long: %.100s", path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    unlink(path);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd >= 0 && bind(*fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(*fd, SOMAXCONN) == 0)
        return STATUS_OK;
    error_set(err, STATUS_INTERNAL, "listen", "", "%.100s: %s", path, strerror(errno));
    if (*fd >= 0)
        close(*fd);
    return STATUS_INTERNAL;
}

struct place {
    char        host[ADDRESS_BYTES];
    const char *port; /* NULL: none */
};

/* The addresses to listen at, and the networks to trust. */
struct network {
    struct place    listen, health;
    struct networks trusted;
};

static enum status check_place(const struct place *place, bool may, struct error *err)
{
    if (client_is_loopback(place->host) || may)
        return STATUS_OK;
    return error_set(
        err, STATUS_INVALID, "usage", "",
        "%.100s is reachable from other machines and this is plain HTTP: give --tls-cert and --tls-key, put a "
        "TLS proxy in front of a loopback address, or give --insecure-http",
        place->host);
}

static enum status check_tls(const struct tls_files *files, struct error *err)
{
    bool is_whole = (files->certificate == NULL) == (files->key == NULL);
    if (is_whole && (files->clients == NULL || files->certificate != NULL))
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "usage", "", "TLS needs both --tls-cert and --tls-key");
}

static enum status read_network(const struct serve_options *options, struct network *out, struct error *err)
{
    out->health.port = NULL;
    TRY(split_address(options->listen, out->listen.host, &out->listen.port, err));
    TRY(check_tls(&options->tls, err));
    TRY(check_place(&out->listen, options->insecure_http || options->tls.certificate != NULL, err));
    TRY(networks_read(options->trusted_proxy, &out->trusted, err));
    TRY(cors_check(options->cors_origin, err));
    if (options->health_listen == NULL)
        return STATUS_OK;
    TRY(split_address(options->health_listen, out->health.host, &out->health.port, err));
    return check_place(&out->health, options->insecure_http, err);
}

static size_t compute_slots(const struct serve_options *options)
{
    double processors = cpus_count("");
    return options->compute_slots > 0 ? (size_t)options->compute_slots : processors > 2 ? (size_t)processors - 1 : 1;
}

static enum access_format access_format(const char *name)
{
    return strcmp(name, "json") == 0 ? ACCESS_JSON : strcmp(name, "off") == 0 ? ACCESS_OFF : ACCESS_LOGFMT;
}

static void announce(const struct place *place, bool is_tls, const struct server *server)
{
    bool is_v6 = strchr(place->host, ':') != NULL;
    printf("listening on %s://%s%s%s:%d\n", is_tls ? "https" : "http", is_v6 ? "[" : "", place->host, is_v6 ? "]" : "",
           server_port(server));
    fflush(stdout);
    log_event(LOG_INFO, "started", "version=%s port=%d health_port=%d", GNOMON_VERSION, server_port(server),
              server_health_port(server));
}

/* The files of TLS as they are now, at each SIGHUP; what is wrong with them is logged, and the old ones stay. */
static void reload(const struct tls_files *files)
{
    struct error err;
    reloads_requested = 0;
    if (tls_load(files, &err) != STATUS_OK)
        log_event(LOG_ERROR, "certificate_not_read", "code=%s text=\"%s\"", err.code, err.text);
}

static void wait_for_stop(const struct serve_options *options)
{
    while (stops_requested == 0) {
        while (sem_wait(&stop) != 0 && errno == EINTR)
            continue;
        if (reloads_requested)
            reload(&options->tls);
    }
}

static enum status serve_until_stopped(struct app *app, const struct serve_options *options,
                                       const struct network *network, int local_fd, struct error *err)
{
    bool           is_tls = options->tls.certificate != NULL;
    struct server *server = NULL;
    struct error   left;
    has_files = is_tls;
    if (operations_resume(app, &left) != STATUS_OK)
        log_event(LOG_ERROR, "operations_not_resumed", "code=%s", left.code);
    TRY(server_start(app,
                     &(struct server_options){.host = network->listen.host,
                                              .port = network->listen.port,
                                              .health_host = network->health.host,
                                              .health_port = network->health.port,
                                              .trusted = &network->trusted,
                                              .cors_origins = options->cors_origin,
                                              .tls = is_tls ? &options->tls : NULL,
                                              .local_fd = local_fd,
                                              .workers = (size_t)options->workers,
                                              .connections = (unsigned)options->connections,
                                              .per_address = options->connections_per_address > 0
                                                                 ? (int)options->connections_per_address
                                                                 : -1,
                                              .access_log = access_format(options->access_log),
                                              .body_limit = options->body_bytes,
                                              .drain_ms = options->drain_ms},
                     &server, err));
    if (!options->unconfined)
        confine_calls(options->database != NULL);
    announce(&network->listen, is_tls, server);
    struct keeper *keeper = NULL;
    if (keeper_start(app, &keeper, &left) != STATUS_OK)
        log_event(LOG_ERROR, "keeper_not_started", "code=%s", left.code);
    wait_for_stop(options);
    log_event(LOG_INFO, "draining", "port=%d", server_port(server));
    server_leave(server);
    process_sleep_until(process_clock_ms() + options->drain_delay_ms);
    operations_halt(app);
    server_drain(server);
    server_stop(server);
    keeper_stop(keeper);
    return STATUS_OK;
}

/* The wait of a spare until the server that has the database ends, or the spare is told to stop. */
struct waiting {
    const struct place *health;
    struct spare       *spare;
    bool                is_begun;
};

static bool waits(void *arg)
{
    struct waiting *waiting = arg;
    struct error    err;
    if (waiting->is_begun)
        return stops_requested == 0;
    waiting->is_begun = true;
    if (waiting->health->port != NULL &&
        spare_start(waiting->health->host, waiting->health->port, &waiting->spare, &err) != STATUS_OK)
        log_event(LOG_ERROR, "health_not_served", "code=%s text=\"%s\"", err.code, err.text);
    log_event(LOG_INFO, "waiting", "for=database health_port=%d",
              waiting->spare == NULL ? 0 : spare_port(waiting->spare));
    return stops_requested == 0;
}

/* Before the files are out of reach. */
static enum status read_first_token(const char *path, char out[FIRST_TOKEN_BYTES], struct error *err)
{
    char  *text = NULL;
    size_t length = 0;
    out[0] = '\0';
    if (path == NULL)
        return STATUS_OK;
    TRY(file_read_private(path, FIRST_TOKEN_BYTES - 1, &text, &length, err));
    snprintf(out, FIRST_TOKEN_BYTES, "%.*s", (int)strcspn(text, "\r\n"), text);
    free(text);
    return STATUS_OK;
}

static enum status make_first_token(struct app *app, const char *path, const char *secret, struct error *err)
{
    struct arena arena;
    bool         is_made = false;
    if (path == NULL)
        return STATUS_OK;
    arena_init(&arena, FIRST_ARENA_BYTES);
    struct caller caller = {.token_id = "local", .scope = SCOPE_ADMIN, .arena = &arena};
    enum status   status = token_make_first(app, &caller, secret, &is_made, err);
    arena_fini(&arena);
    if (is_made)
        log_event(LOG_INFO, "first_token", "id=tok_%.8s", secret + 4);
    return status;
}

static enum status serve(const struct serve_options *options, struct arena_pool *memory, struct error *err)
{
    char                         path[1024], first_token[FIRST_TOKEN_BYTES];
    struct network               network;
    struct app                  *app = NULL;
    int                          local_fd = -1;
    struct auditor              *auditor = NULL;
    struct waiting               waiting = {.health = &network.health};
    const struct auditor_options audits = {.head_file = options->head_file,
                                           .head_seconds = options->head_seconds,
                                           .keep_seconds = options->keep_events_seconds};
    if (strcmp(options->log_format, "json") == 0)
        log_as_json();
    TRY(read_network(options, &network, err));
    sem_init(&stop, 0, 0);
    process_on_stop(request_stop, SA_RESTART);
    if (options->ends_with_stdin)
        TRY(follow_stdin(err));
    limit_process(options);
    TRY(read_first_token(options->first_token, first_token, err));
    TRY(db_make_folder(options->data, err));
    TRY(auditor_open(&audits, &auditor, err));
    if (!options->unconfined)
        confine_files(options->data, (const char *const[]){options->head_file, NULL});
    enum status status = app_open(&(struct app_options){.folder = options->data,
                                                        .database = options->database,
                                                        .waits = waits,
                                                        .waits_arg = &waiting,
                                                        .synchronous = options->synchronous,
                                                        .sessions_bytes = (size_t)options->sessions_bytes,
                                                        .session_bytes = (size_t)options->session_bytes,
                                                        .compute_slots = compute_slots(options),
                                                        .compute_ms = options->compute_ms,
                                                        .stuck_ms = options->stuck_ms,
                                                        .journal_bytes = options->journal_bytes,
                                                        .disk_free_bytes = options->disk_free_bytes},
                                  &app, err);
    spare_stop(waiting.spare);
    if (app != NULL)
        app->memory = memory;
    if (app != NULL && db_is_rolled_back(app->db))
        log_event(LOG_ERROR, "store_rolled_back", "refused=tokens,rounds,releases until=acknowledged");
    snprintf(path, sizeof path, "%.1000s/gnomon.sock", options->data);
    if (status == STATUS_OK)
        status = make_first_token(app, options->first_token, first_token, err);
    if (status == STATUS_OK)
        status = auditor_start(auditor, app, err);
    if (status == STATUS_OK)
        status = watch_start(app, err);
    if (status == STATUS_OK)
        status = listen_locally(path, &local_fd, err);
    if (status == STATUS_OK) {
        status = serve_until_stopped(app, options, &network, local_fd, err);
        unlink(path);
    }
    if (app != NULL)
        watch_stop(app);
    auditor_stop(auditor);
    app_close(app);
    return app == NULL && waiting.is_begun && stops_requested > 0 ? STATUS_OK : status;
}

static enum status run(struct command_call *call, struct error *err)
{
    static struct arena_pool    memory; // JSON may outlive this function
    const struct serve_options *options = call->options;
    enum status                 status = STATUS_OK;
    if (!mat_use_one_thread())
        status = error_set(err, STATUS_INTERNAL, "openblas", "",
                           "this OpenBLAS is the OpenMP flavour, with which results differ from run to run: install "
                           "libopenblas0-pthread");
    limit_heaps();
    memory.limit_bytes = options->memory_bytes > 0 ? (size_t)options->memory_bytes : memory_default();
    codec_init();
    codec_count_in(&memory);
    if (status == STATUS_OK)
        status = serve(options, &memory, err);
    log_event(status == STATUS_OK ? LOG_INFO : LOG_ERROR, "stopped", "%s%s",
              status == STATUS_OK ? "" : "code=", status == STATUS_OK ? "" : err->code);
    return status;
}

const struct command command_serve = {
    .name = "serve",
    .operands = "",
    .summary = "start the server",
    .options = options_table,
    .options_bytes = sizeof(struct serve_options),
    .run = run,
};
