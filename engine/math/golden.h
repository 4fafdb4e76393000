/* The bottom of a valley in one dimension. */
#ifndef GNOMON_ENGINE_GOLDEN_H
#define GNOMON_ENGINE_GOLDEN_H

/* The least f(arg, x) for x in [low, high], by golden sections until the doubles are next to each other: f falls, then
 * rises, and may be infinite beyond.  x NULL or out: where. */
double golden_section(double (*f)(const void *arg, double x), const void *arg, double low, double high, double *x);

#endif
