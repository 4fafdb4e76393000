/* The parameters of a space <-> JSON: the part of codec_spec.c that has the most
 * forms.  What the engine checks itself (bounds, ranges, whether conditions and constraints can hold) is left to it. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_SPACE_H
#define GNOMON_SERVICE_CODEC_CODEC_SPACE_H

#include "service/member/codec_read.h"

/* spec->space.params and spec->values from the list of parameters. */
MUST_CHECK enum status codec_space_params(struct reading *in, const json_t *json, const char *where, struct spec *spec);
/* spec->space.forbid; after the parameters. */
MUST_CHECK enum status codec_space_forbid(struct reading *in, const json_t *json, const char *where, struct spec *spec);
/* The members of a parameter of that kind, and of any. */
extern const struct member codec_space_any_members[];
const struct member       *codec_space_param_members(enum param_kind kind);
/* An object of 1 to `most` members. */
MUST_CHECK enum status codec_space_members(struct reading *in, const json_t *json, const char *where, size_t most);

/* A value of parameter i.  Errors: INVALID at where. */
/* A value that a categorical may have. */
MUST_CHECK enum status codec_category(struct reading *in, const json_t *json, const char *where, struct category *out);
MUST_CHECK enum status codec_space_value(const struct spec *spec, size_t i, const json_t *json, const char *where,
                                         double *out, struct error *err);

/* A name (a categorical's value) as a cell of a table: numbers, booleans and null as JSON has them.
 * The empty text is two quotation marks, as an empty cell is no value.  read_cell: false when it is none of the parameter's values. */
enum { CODEC_CELL_MAX = 6 * 4096 + 16 }; /* all of its characters escaped */
void codec_space_cell(const struct spec *spec, size_t i, double value, char out[CODEC_CELL_MAX]);
bool codec_space_read_cell(const struct spec *spec, size_t i, const char *cell, double *out);

/* New references; NULL when out of memory. */
json_t *codec_space_value_json(const struct spec *spec, size_t i, double value);
json_t *codec_space_params_json(const struct spec *spec);
json_t *codec_space_forbid_json(const struct spec *spec);

#endif
