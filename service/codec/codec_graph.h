/* Graph spaces, macro-actions and their values <-> JSON.  Sites and edges may also come as CSV text.
 * Sites have numbers from 0, or ids of the client's; everything outside the engine speaks of ids. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_GRAPH_H
#define GNOMON_SERVICE_CODEC_CODEC_GRAPH_H

#include "service/member/codec_read.h"
#include "service/model/trial.h"

/* The whole space; sign: of the study's goal.  Errors: INVALID with a pointer. */
MUST_CHECK enum status codec_graph(struct reading *in, const json_t *json, const char *where, double sign,
                                   struct spec *spec);
json_t                *codec_graph_json(const struct spec *spec);

/* [3, 17, 21] <-> a point [space_point_len].  Errors: INVALID "unknown_site", "wrong_length", ... */
MUST_CHECK enum status codec_graph_point(const struct spec *spec, const json_t *json, const char *where, double *point,
                                         struct error *err);
json_t                *codec_graph_point_json(const struct spec *spec, const double *point);
/* A site by its id. */
MUST_CHECK enum status codec_graph_site(const struct spec *spec, const json_t *json, const char *where, uint32_t *out,
                                        struct error *err);

/* "values": [18.2, 18.4] -> out->values, and out->value the best of them. */
MUST_CHECK enum status codec_graph_values(struct reading *in, const json_t *json, const char *where,
                                          struct observation *out);
json_t                *codec_graph_values_json(const struct spec *spec, const double *values); /* NULL values: null */

#endif
