/* Sobol points in base 2 with a scramble keyed by a seed.
 * Direction numbers of Joe & Kuo 2008 for the first SOBOL_DIMS (128) coordinates; each coordinate is scrambled by a
 * hash that permutes every dyadic interval within its parent (Owen's nested scramble, in the hashed form of Laine &
 * Karras 2011 and Burley 2020), so the first 2^k points still have one coordinate in each interval of length 2^-k.
 * Coordinates beyond the table come from the counter-based generator. */
#ifndef GNOMON_ENGINE_SOBOL_H
#define GNOMON_ENGINE_SOBOL_H

#include <stddef.h>
#include <stdint.h>

/* Point number index (from 0, Gray-code order) of the scrambled sequence in d dimensions: u[d] in [0, 1).
 * The 32 bits of a coordinate are followed by 21 random ones.  After 2^32 points the scramble changes.
 * Cost O(d log index). */
void sobol_point(uint64_t seed, uint64_t index, size_t d, double *u);

/* Where a study's first trials are, trial from 1 on: the middle, since who names a range often centres it on what is known
 * to work, and then point number trial. */
void sobol_start(uint64_t seed, uint64_t trial, size_t d, double *u);

/* Coordinate dim (< 128) of unscrambled point index, as an integer: value / 2^32. */
uint32_t sobol_bits(uint32_t index, size_t dim);

#endif
