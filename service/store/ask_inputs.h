/* The inputs of a suggestion that the log does not have; with them it can be made again.  Stored with the trial as doubles;
 * trials of the user's own have none. */
#ifndef GNOMON_SERVICE_STORE_ASK_INPUTS_H
#define GNOMON_SERVICE_STORE_ASK_INPUTS_H

struct ask_inputs {
    double remaining;   /* trials that the budget still allowed; 0: there was none */
    double deadline_ms; /* 0: none */
    double is_late;     /* 1: the time was over before the proposal was made in full */
    double fixed[];     /* [params_len] NaN where free; or nothing */
};
enum { ASKED_FIXED = 3 }; /* where fixed begins */

#endif
