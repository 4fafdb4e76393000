/* Earlier studies of an algorithm <-> JSON, and the points of one space in another.
 *   "earlier_studies": ["std_..", ..]            studies of the store
 *   "meta": "auto"                               some are picked, and stand in earlier_studies from then on
 *   "earlier_observations": [{"name", "observations": [{"point" or "candidate", "value"}, ..]}, ..]
 *   "earlier_defaults": {"momentum": 0.9, ..}    values of parameters that an earlier study does not have */
#ifndef GNOMON_SERVICE_CODEC_CODEC_TRANSFER_H
#define GNOMON_SERVICE_CODEC_CODEC_TRANSFER_H

#include "service/member/codec_read.h"

bool codec_transfer_is_member(const char *key);

/* spec->earlier from the algorithm's object (NULL: empty); after space and metrics.  Observations need a point of the
 * space, or a row, and a value.  INVALID "not_supported" in a private study. */
MUST_CHECK enum status codec_transfer_read(struct reading *in, const json_t *algorithm, struct spec *spec);

/* Adds earlier_studies and earlier_defaults, not the observations; 0, or -1 when out of memory. */
int codec_transfer_write(const struct spec *spec, json_t *algorithm);

/* In place of earlier_studies, everything as observations: what makes the specification whole without the store.
 * studies [len] of the problem, their values signed.  0, or -1. */
int codec_transfer_write_whole(const struct spec *spec, const struct earlier_study *studies, size_t len,
                               json_t *algorithm);

/* How many parameters of spec's space are in source's by name; not those that depend on one that source neither has nor is
 * given a default for. */
size_t codec_transfer_shared(const struct spec *spec, const struct spec *source);

/* INVALID "earlier_parameter_missing" at where: the spaces share no parameter. */
MUST_CHECK enum status codec_transfer_check_names(const struct spec *spec, const struct spec *source, const char *where,
                                                  struct error *err);

/* A point of source's space in spec's, parameter by parameter of the same name; what does not exist there has the
 * default, or NaN when source does not know it at all (space_lacks).  false when it does not lie in spec's space. */
bool codec_transfer_align(const struct spec *spec, const struct spec *source, const double *point, double *out);

/* The names of the parameters that the study's points have; null on candidates. */
json_t *codec_transfer_names(const struct spec *spec, const struct earlier_study *study);

#endif
