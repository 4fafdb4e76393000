/* Kiefer 1953. */
#include "engine/math/golden.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

double golden_section(double (*f)(const void *arg, double x), const void *arg, double low, double high, double *x)
{
    enum { STEPS = 100 };
    const double ratio = 0.6180339887498949;
    double       left = high - ratio * (high - low), right = low + ratio * (high - low);
    double       at_left = f(arg, left), at_right = f(arg, right);
    for (int i = 0; i < STEPS; i++) {
        bool go_left = at_left < at_right;
        *(go_left ? &high : &low) = go_left ? right : left;
        if (go_left) {
            right = left, at_right = at_left;
            left = high - ratio * (high - low), at_left = f(arg, left);
        } else {
            left = right, at_left = at_right;
            right = low + ratio * (high - low), at_right = f(arg, right);
        }
    }
    if (x != NULL)
        *x = at_left < at_right ? left : right;
    return fmin(at_left, at_right);
}
