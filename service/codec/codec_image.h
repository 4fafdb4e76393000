/* Image spaces and their points <-> JSON.  A point is an array of height * width * channels numbers, row by row, the
 * channels of a pixel together. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_IMAGE_H
#define GNOMON_SERVICE_CODEC_CODEC_IMAGE_H

#include "service/member/codec_read.h"

/* The object at where -> spec->space.  Errors: INVALID. */
MUST_CHECK enum status codec_image_space(struct reading *in, const json_t *json, const char *where, struct spec *spec);
json_t                *codec_image_space_json(const struct spec *spec);

/* Whether it is an array of the right length: before memory is taken for it.  Errors: INVALID. */
MUST_CHECK enum status codec_image_check(const struct spec *spec, const json_t *json, const char *where,
                                         struct error *err);
/* point [space_point_len] of a checked array.  Errors: INVALID. */
MUST_CHECK enum status codec_image_point(const struct spec *spec, const json_t *json, const char *where, double *point,
                                         struct error *err);
json_t                *codec_image_point_json(const struct spec *spec, const double *point);

#endif
