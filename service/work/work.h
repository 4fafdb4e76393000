/* A worker: slots, each of which asks for a trial, runs the user's program for it, and tells what came of it.
 * Nothing here waits for long but a request: each slot does its next step when it can (work_advance), so that the runs are
 * watched while the server is away, and what could not be told is told later. */
#ifndef GNOMON_SERVICE_CLI_WORK_H
#define GNOMON_SERVICE_CLI_WORK_H

#include "service/client/client.h"
#include "service/cli/command.h"
#include "service/work/run.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct work_options {
    struct command_server at;
    const char           *study, *as, *value, *steps, *worker, *runs;
    int64_t               parallel, trials, timeout_seconds, grace_seconds, patience_seconds;
};

enum work_state { WORK_IDLE, WORK_RUNNING, WORK_ENDING, WORK_TELLING };
/* The end of a run that did not end by itself. */
enum work_end { WORK_BY_ITSELF, WORK_STOPPED, WORK_LOST, WORK_OVER, WORK_LATE, WORK_GIVEN_BACK };

enum { WORK_NAME_BYTES = 129, WORK_LINE_BYTES = 4096, WORK_KEY_BYTES = 96 };

struct work_slot {
    enum work_state state;
    enum work_end   end;
    char       worker[WORK_NAME_BYTES], ask_key[WORK_KEY_BYTES]; /* ask_key: "" when the next request is a new one */
    struct run run;
    int64_t    number, lease, began_ms, beat_at_ms, beat_every_ms, kill_at_ms;
    int64_t    step; /* the last that was reported, or 0 */
    double     step_value;
    char       last[WORK_LINE_BYTES]; /* the last printed line that is no step */
    char       reason[256];           /* of the end */
    json_t    *point, *result;        /* result: the observation, while it is being sent */
};

struct work {
    const struct work_options *options;
    const char                *steps; /* the pattern, or NULL: no line is a step */
    char *const               *program;
    char                       runs[RUN_PATH_BYTES / 2], nonce[17];
    struct client             *client;
    json_t                    *study;
    struct work_slot          *slots;
    int64_t                    requests; /* counted for the keys */
    int64_t                    ask_at_ms, ask_pause_ms, away_since_ms, away_until_ms, away_pause_ms;
    int64_t                    sweep_at_ms;                        /* when strays are looked for */
    int64_t                    begun, told, failed, stopped_at_ms; /* told: runs with a value, or stopped */
    bool                       is_over;                            /* the study hands out no more */
    bool                       is_ending;                          /* this program is: runs are ended and given back */
    bool                       has_news;                           /* a slot has made progress */
    struct error               failure;                            /* why, unless it was a signal; status OK: none */
};

/* The next step of one slot.  Errors: those after which there is nothing to go on with. */
MUST_CHECK enum status work_advance(struct work *work, struct work_slot *slot, struct error *err);

/* Tries a request of the study once: BUSY while the server is away, and then nothing has changed.
 * Errors: as client_call; what is still BUSY when patience is used up is in work->failure, too. */
struct work_request {
    const char *method, *rest, *key;
};
MUST_CHECK enum status work_call(struct work *work, const struct work_request *request, json_t *body, json_t **reply,
                                 struct error *err);
bool                   work_is_away(enum status status);

/* Whether the program may be given every value of the study's space; to be asked whenever the study was read.
 * Errors: INVALID "usage" (run_text_check_program). */
MUST_CHECK enum status work_check_program(const struct work *work, struct error *err);

/* Ends the processes that finished runs have left in sessions of their own, found by the GNOMON_RUN in their environment. */
void work_sweep(struct work *work);
/* Sweeps until nothing is left that any run has started. */
void work_sweep_all(struct work *work);

/* Prints a line for people about a trial that ended. */
void work_say(const struct work *work, const struct work_slot *slot, const char *what);

#endif
