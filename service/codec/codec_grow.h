/* A space with more in it: new parameters, new names and numbers, wider ranges.  Nothing that was in it is taken away, so
 * every point of the space, once new parameters have a value, is one of the larger space. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_GROW_H
#define GNOMON_SERVICE_CODEC_CODEC_GROW_H

#include "service/member/codec_read.h"

struct growth {
    struct spec   spec;      /* with the larger space; parameters and names have the places that they had */
    const char   *spec_text; /* codec_spec_json as text */
    const char   *detail;    /* JSON for the log: of each parameter that changed what it was before, and is after */
    bool          is_changed;
    const size_t *items; /* [spec.space.params_len] which item of the request a parameter is of; SIZE_MAX: none */
};

/* parameters: a list of definitions.  One of a new name is a new parameter.  One of a name that is there says what is new
 * about it: bounds that are wider, values (to be added, as far as they are not there), in `when` values (likewise); all
 * else that it says is as it is.
 * Errors: INVALID as codec_spec, with pointers into "/parameters", and "wrong_space"; CONFLICT "space_conflict" (a
 * parameter of this name is another), "space_shrinks" (a bound inside the range); NO_MEMORY.  A reading that keeps problems
 * gets those of both kinds; then INVALID, whichever they are. */
MUST_CHECK enum status codec_grow(struct reading *in, const struct spec *from, const json_t *parameters,
                                  struct growth *out);
/* The text of the specification, spec, before a growth of which the log says detail.  Errors: NO_MEMORY; INTERNAL
 * "store_corrupt". */
MUST_CHECK enum status codec_ungrow(const char *spec, const char *detail, struct arena *arena, const char **out,
                                    struct error *err);

#endif
