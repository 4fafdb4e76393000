/* The input and output of a run as text: a point as arguments, variables or JSON; a value, or a step, from a line that it
 * printed. */
#ifndef GNOMON_SERVICE_CLI_RUN_TEXT_H
#define GNOMON_SERVICE_CLI_RUN_TEXT_H

#include "engine/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value of a point: 0.0031, 4, adam, true.  A new string; NULL when out of memory. */
char *run_text_value(const json_t *value);

/* The program with its arguments, NULL at the end, for a point.  Where an argument has {name} of a parameter of the space,
 * its value stands there ("" when the point lacks it); if none has one, --name=value of each is appended when wants_flags.
 * A new vector of new strings, for run_text_free; NULL when out of memory. */
struct run_text_program {
    char *const  *words; /* NULL at the end */
    const json_t *point, *space;
    bool          wants_flags;
};
char **run_text_program(const struct run_text_program *program);
void   run_text_free(char **strings); /* NULL is allowed */

/* Whether each value that the space allows may stand in the program: wherever a word has {name}, and behind a program that
 * hands its words to a shell (ssh), a value becomes text that a shell may read, and so has no other characters than
 * A-Z a-z 0-9 . _ + / - and, as a text, no - in front, by which it would be an option.  program->point does not matter.
 * Errors: INVALID "usage", which names the value and the ways around. */
MUST_CHECK enum status run_text_check_program(const struct run_text_program *program, struct error *err);

/* The environment of this process with these variables, an object of names and values, in the place of what it has of
 * their names.  As run_text_program. */
char **run_text_environment(const json_t *variables);

/* "epoch {step} loss {value}" against a line: {step} is a whole number from 1, {value} a number, white space is any white
 * space, and before and behind the pattern there may be more of it. */
bool run_text_step(const char *pattern, const char *line, int64_t *step, double *value);
/* INVALID "usage" unless the pattern has {step} and {value}, each once. */
MUST_CHECK enum status run_text_check_pattern(const char *pattern, struct error *err);

/* The result in a text: a number (the first metric's), {"accuracy": 0.9, ...}, or "accuracy=0.9 cost: 3", for metrics as
 * the study has them.  *values: a new object with a number for each name in the text.  false: the text has no result;
 * one that is not finite is NaN in JSON's absence: *is_finite is false then. */
bool run_text_result(const char *text, const json_t *metrics, json_t **values, bool *is_finite);

#endif
