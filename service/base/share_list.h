/* Every resource that tenants share and can fill: X(name, places, of a token, code, refusal, seen).  Where places is 0 the limit is kept where
 * the refusal is.  `seen` is the metric, or the route, that shows how full it is.  A test fills every row as a hostile tenant, and
 * fails for a refusal of the sources (BUSY, FULL) that is neither here nor among those of nobody. */
#ifndef GNOMON_SERVICE_BASE_SHARE_LIST_H
#define GNOMON_SERVICE_BASE_SHARE_LIST_H

// clang-format off
#define SHARE_LIST(X) \
    X(followers, 384, 256, "busy", "too many requests wait for events already", "gnomon_followers") \
    X(files, 32, 24, "busy", "too many large replies are being sent: ask again", "gnomon_large_replies") \
    X(watched, 16, 12, "", "", "gnomon_operations_running") \
    X(places, 0, 0, "busy", "too many requests are waiting", "gnomon_requests_queued") \
    X(places_of_a_token, 0, 0, "too_many_waiting", "too many requests of this token are waiting", "gnomon_requests_queued") \
    X(places_of_a_project, 0, 0, "too_many_waiting", "too many requests of this project are waiting", "gnomon_requests_queued") \
    X(imports, 0, 0, "too_many_imports", "%zu other imports of the project are not complete", "/v1/imports/{digest}") \
    X(kept_replies, 0, 0, "", "", "gnomon_db_bytes") \
    X(bodies, 0, 0, "busy", "too many bodies are being received", "gnomon_body_bytes") \
    X(connections, 0, 0, "", "", "gnomon_connections") \
    X(corrections, 0, 0, "quota_exceeded", "the project would have more than its %.0f %s", "/v1/projects/{project}") \
    X(lines, 0, 0, "quota_exceeded", "the project would have more than its %.0f %s", "/v1/projects/{project}") \
    X(tokens, 0, 0, "quota_exceeded", "the project would have more than its %.0f %s", "/v1/projects/{project}") \
    X(rotations, 0, 0, "quota_exceeded", "the project would have more than its %.0f %s", "/v1/projects/{project}") \
    X(pauses, 0, 0, "quota_exceeded", "the project would have more than its %.0f %s", "/v1/projects/{project}") \
    X(notes, 0, 0, "quota_exceeded", "the project would have more than its %.0f %s", "/v1/projects/{project}") \
    X(artifacts, 0, 0, "quota_exceeded", "the project would have more than its %.0f %s", "/v1/projects/{project}") \
    X(requests_a_second, 0, 0, "rate_limited", "the project sends more requests than it may", "/v1/projects/{project}") \
    X(processor, 0, 0, "cpu_exhausted", "the project has computed as much as it may on one day", "/v1/projects/{project}")

/* Refusals that say nothing of a tenant's share: X(code, refusal, why). */
#define SHARE_OF_NOBODY_LIST(X) \
    X(no_memory, "", "of the house: a quarter is for what is small") \
    X(too_many_requests, "", "the address") \
    X(busy, "a later version has changed the database's schema: this server is too old", "the operator") \
    X(busy, "another piece of this file is being taken", "the same file") \
    X(busy, "another request was faster", "the same study") \
    X(busy, "another server changes the schema", "the operator") \
    X(busy, "as many studies are made again as there is memory for", "of the house: the others end first") \
    X(busy, "metrics were added meanwhile: send the request again", "the same study") \
    X(busy, "no connection to the database: %.*s", "the database") \
    X(busy, "other requests have the memory that this one needs", "of the house: a quarter is for what is small") \
    X(busy, "other workers took what there was: ask again", "the same study") \
    X(busy, "results came in while the plan was made: ask again", "the same study") \
    X(busy, "the connection to the database was lost; nothing was changed", "the database") \
    X(busy, "the log has gone on: ask again", "the same study") \
    X(busy, "the round was closed meanwhile", "the same federation") \
    X(busy, "the space grew while it was compared", "the same study") \
    X(busy, "the space has grown meanwhile: ask again", "the same study") \
    X(busy, "the store has too much to write", "more places than threads that write") \
    X(busy, "the study changed meanwhile; send the last piece again", "the same study") \
    X(busy, "the study could not be read: ask again", "the same study") \
    X(busy, "the study has got another rule: ask again", "the same study") \
    X(busy, "the study is about to be completed: ask again", "the same study") \
    X(busy, "the study's space or its metrics grow: ask again", "the same study") \
    X(busy, "the trial changes: report again", "the same study") \
    X(deadline_exceeded, "there was no answer in the time that there is", "its own time, in its turn") \
    X(deferred, "it is to wait elsewhere", "no reply") \
    X(disk_full, "the disk is full", "the disk: quotas of bytes") \
    X(draining, "the service is stopping", "the operator") \
    X(locked, "a server has the database's store: stop it first", "the operator") \
    X(locked, "a server has the store, or another command: it is moved by one alone", "the operator") \
    X(locked, "%.150s is used by another process", "the operator") \
    X(locked, "another process uses %.150s", "the operator") \
    X(file, "the key cannot be written", "the command line") \
    X(planning, "a plan for this study is being made: ask again", "the same study") \
    X(stopped, "nobody waits for the answer any more", "the client") \
    X(store_corrupt, "rows of %s are not what was written: what of it is sound can be read, and it can be deleted", "the same study") \
    X(store_rolled_back, "an older copy of the store was brought back, and the operator has not acknowledged that yet", "the operator") \
    X(threads, "cannot start a thread", "the machine") \
    X(threads, "the system gives no thread now", "the machine")
// clang-format on

#endif
