/* See relation.h. */
#include "engine/privacy/relation.h"

#include <math.h>

static enum status column_check(const struct relation_column *column, size_t number, struct error *err)
{
    if (!(column->move > 0))
        return error_set(err, STATUS_INVALID, "bad_relation", "/move", "the protected move of column %zu is positive",
                         number);
    if (!(column->low <= column->high) || column->low == INFINITY || column->high == -INFINITY)
        return error_set(err, STATUS_INVALID, "bad_relation", "/low", "the public interval of column %zu is empty",
                         number);
    return STATUS_OK;
}

enum status relation_shift(const struct relation *relation, const struct release_scale *scale, double gamma,
                           struct relation_shift *out, struct error *err)
{
    double d = (double)relation->len, e = mechanism_scaling_error(relation->len);
    double limited_max = 0, limited = 0, any = 0, any_sum = 0, widths = 0, corner = 0;
    if (relation->len == 0 || relation->len > MECHANISM_COLUMNS_MAX)
        return error_set(err, STATUS_INVALID, "bad_relation", "", "a relation has 1 to %d columns",
                         MECHANISM_COLUMNS_MAX);
    TRY(release_scale_check(scale, relation->len, err));
    for (size_t c = 0; c < relation->len; c++) {
        const struct relation_column *column = &relation->columns[c];
        TRY(column_check(column, c + 1, err));
        double unit = MECHANISM_NORM / (scale->length_scales[c] * scale->radius);
        double width = unit * (column->high - column->low), move = unit * column->move;
        double far = unit * fmax(fabs(column->low - scale->centre[c]), fabs(column->high - scale->centre[c]));
        bool   is_any = relation->any_change || isinf(column->move);
        move = fmin(move, width);
        limited_max = is_any ? limited_max : fmax(limited_max, move);
        limited += is_any ? 0 : move * move;
        any += is_any ? width * width : 0;
        any_sum += is_any ? width : 0;
        widths += width * width;
        corner += far * far;
    }
    double l1 = sqrt(limited) + any_sum;
    bool   is_clipped = !(corner <= MECHANISM_NORM * MECHANISM_NORM);
    out->d2 = fmin(2.0 * MECHANISM_NORM, fmin(sqrt(widths), sqrt(limited_max * limited_max + any)));
    out->d1 = fmin(sqrt(d) * out->d2, is_clipped ? l1 * (1 + sqrt(d)) / 2 : l1);
    out->s1 = (out->d1 + 2 * sqrt(d) * e) / gamma + d;
    out->s2 = (out->d2 + 2 * e) / gamma + sqrt(d);
    return STATUS_OK;
}
