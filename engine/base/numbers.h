/* Numbers of mathematics, to the last bit of a double, and what is asked of numbers in many places. */
#ifndef GNOMON_ENGINE_NUMBERS_H
#define GNOMON_ENGINE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

static const double PI = 3.141592653589793, PI_SQUARED = 9.869604401089358;
static const double LOG_2PI = 1.8378770664093455, HALF_LOG_2PI = 0.91893853320467274;
static const double SQRT_HALF = 0.70710678118654752;

/* For qsort: doubles, the smallest first. */
static inline int numbers_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The place of the first of the largest of n values; 0 of none. */
static inline size_t numbers_largest(const double *values, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        best = values[i] > values[best] ? i : best;
    return best;
}

/* How many of len records of a size, in the order of the number that each begins with, have a smaller number. */
static inline size_t numbers_place(const void *records, size_t len, size_t size, uint64_t number)
{
    size_t low = 0, high = len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (*(const uint64_t *)((const char *)records + middle * size) < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The whole number below x within [low, high]. */
static inline size_t numbers_clamp(double x, size_t low, size_t high)
{
    return x > (double)high ? high : x > (double)low ? (size_t)x : low;
}

#endif
