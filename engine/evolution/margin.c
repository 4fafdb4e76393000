#include "engine/evolution/margin.h"

#include "engine/base/numbers.h"

#include <math.h>

/* P(N(0, 1) > z), and the z >= 0 with this probability, in (0, 1/2]. */
static double tail(double z)
{
    return 0.5 * erfc(z * SQRT_HALF);
}

static double tail_at(double p)
{
    double low = 0, high = 38;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        *(tail(middle) > p ? &low : &high) = middle;
    }
    return low;
}

/* Where values i and i + 1 of a number with steps meet on its scale. */
static double border(const struct param *p, double i)
{
    double a = param_value(p, i), b = param_value(p, i + 1), u, v;
    if (p->kind != PARAM_DISCRETE)
        a = b = 0.5 * (a + b); /* these are rounded in natural units */
    param_encode(p, a, &u);
    param_encode(p, b, &v);
    return 0.5 * (u + v);
}

/* The first or last value: its border stays within reach. */
static void keep_near(double *mean, double at, double reach)
{
    *mean = fmin(fmax(*mean, at - reach), at + reach);
}

/* A value between two others, with borders low and high: section 4.2 of the paper. */
static void keep_wide(struct strategy *s, size_t j, double low, double high, double margin)
{
    double m = s->mean[j], sd = strategy_spread(s, j), below = tail((m - low) / sd), above = tail((high - m) / sd);
    double middle = 1 - below - above, half = margin / 2;
    if (below >= half && above >= half)
        return;
    below = fmax(below, half);
    above = fmax(above, half);
    double excess = (1 - below - above - middle) / (below + above + middle - 3 * half);
    double z_low = tail_at(fmin(below + excess * (below - half), 0.5 - 1e-10));
    double z_high = tail_at(fmin(above + excess * (above - half), 0.5 - 1e-10));
    s->widen[j] *= (high - low) / ((z_low + z_high) * sd);
    s->mean[j] = (low * z_high + high * z_low) / (z_low + z_high);
}

static void keep_number(struct strategy *s, size_t j, const struct param *p, double margin)
{
    double count = param_count(p), i = param_index(p, param_decode(p, &s->mean[j]));
    if (count < 2)
        return;
    if (i > 0 && i + 1 < count)
        keep_wide(s, j, border(p, i - 1), border(p, i), margin);
    else
        keep_near(&s->mean[j], border(p, i > 0 ? i - 1 : i), tail_at(margin) * strategy_spread(s, j));
}

/* Coordinates j to j + choices - 1, the largest of which is chosen. */
static void keep_choices(struct strategy *s, size_t j, const struct param *p, double margin)
{
    size_t top = j + (size_t)param_decode(p, &s->mean[j]);
    for (size_t c = j; c < j + p->choices; c++)
        if (c != top)
            s->mean[c] = fmax(s->mean[c],
                              s->mean[top] - tail_at(margin) * hypot(strategy_spread(s, c), strategy_spread(s, top)));
}

void margin_keep(struct strategy *s, const struct space *space)
{
    double margin = 1 / (double)(s->rates.n * s->rates.population);
    for (size_t i = 0, j = 0; i < space->params_len; j += param_width(&space->params[i]), i++)
        if (space->params[i].kind == PARAM_CATEGORICAL)
            keep_choices(s, j, &space->params[i], margin);
        else if (space->params[i].kind != PARAM_DOUBLE)
            keep_number(s, j, &space->params[i], margin);
}
