/* Numbers of mathematics, to the last bit of a double. */
#ifndef GNOMON_ENGINE_NUMBERS_H
#define GNOMON_ENGINE_NUMBERS_H

static const double PI = 3.141592653589793, PI_SQUARED = 9.869604401089358;
static const double LOG_2PI = 1.8378770664093455, HALF_LOG_2PI = 0.91893853320467274;
static const double SQRT_HALF = 0.70710678118654752;

#endif
