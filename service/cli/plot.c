/* See plot.h. */
#include "service/cli/plot.h"

#include "service/cli/plain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 64, ROWS = 16, EVERY = 5 /* rows from one label to the next */ };
static const double TAIL = 0.05; /* of the values on each side, which are drawn at the edge */

struct plot {
    char   cells[ROWS][COLUMNS + 1];
    double low, high; /* of the lowest row and of the highest */
    double trials;
};

static double number_at(const json_t *table, const char *column, size_t i)
{
    const json_t *number = json_array_get(json_object_get(table, column), i);
    return json_is_number(number) ? json_number_value(number) : (double)NAN;
}

static size_t length_of(const json_t *table)
{
    return json_array_size(json_object_get(table, "trial"));
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* So that a few bad values do not make all others a line; the best is always inside. */
static enum status find_range(struct plot *plot, const json_t *marks, const json_t *best, struct error *err)
{
    size_t  len = 0, all = length_of(marks);
    double *values = malloc((all + 1) * sizeof *values), last = number_at(best, "value", length_of(best) - 1);
    if (values == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < all; i++) {
        values[len] = number_at(marks, "value", i);
        len += isfinite(values[len]) != 0;
        plot->trials = fmax(plot->trials, number_at(marks, "trial", i));
    }
    qsort(values, len, sizeof *values, compare);
    if (len > 0) {
        size_t tail = (size_t)(TAIL * (double)len);
        plot->low = fmin(values[tail], last); // of a number and no number, fmin has the number
        plot->high = fmax(values[len - 1 - tail], last);
    }
    free(values);
    if (plot->low == plot->high) {
        plot->low -= 0.5;
        plot->high += 0.5;
    }
    return STATUS_OK;
}

static size_t column_of(const struct plot *plot, double trial)
{
    return (size_t)fmin((trial - 1) * COLUMNS / plot->trials, COLUMNS - 1);
}

/* From above; what is beyond the range is at its edge. */
static size_t row_of(const struct plot *plot, double value)
{
    double share = (plot->high - value) / (plot->high - plot->low);
    return (size_t)round(fmin(fmax(share, 0), 1) * (ROWS - 1));
}

static void draw(struct plot *plot, const json_t *marks, const json_t *best)
{
    size_t steps = length_of(best);
    memset(plot->cells, ' ', sizeof plot->cells);
    for (size_t i = 0; i < length_of(marks); i++) {
        double value = number_at(marks, "value", i);
        if (isfinite(value))
            plot->cells[row_of(plot, value)][column_of(plot, number_at(marks, "trial", i))] = '.';
    }
    for (size_t i = 0; i < steps; i++) {
        size_t from = column_of(plot, number_at(best, "trial", i));
        size_t end = i + 1 < steps ? column_of(plot, number_at(best, "trial", i + 1)) : COLUMNS;
        memset(&plot->cells[row_of(plot, number_at(best, "value", i))][from], '-', end > from ? end - from : 1);
    }
}

enum status plot_print(const json_t *history, FILE *stream, struct error *err)
{
    const json_t *marks = json_object_get(history, "marks"), *best = json_object_get(history, "best");
    const char   *metric = json_string_value(json_object_get(history, "metric"));
    size_t        steps = length_of(best);
    struct plot   plot = {.trials = 1};
    if (length_of(marks) == 0) {
        fputs("no trial has a value yet\n", stream);
        return STATUS_OK;
    }
    TRY(find_range(&plot, marks, best, err));
    draw(&plot, marks, best);
    for (size_t row = 0; row < ROWS; row++) {
        if (row % EVERY == 0)
            fprintf(stream, "%10.4g |", plot.high - (plot.high - plot.low) * (double)row / (ROWS - 1));
        else
            fprintf(stream, "%10s |", "");
        int length = COLUMNS;
        while (length > 0 && plot.cells[row][length - 1] == ' ')
            length--;
        fprintf(stream, "%.*s\n", length, plot.cells[row]);
    }
    fprintf(stream, "%10s 1%*.0f\n%12s", "trial", COLUMNS, plot.trials, "");
    fputs(". ", stream);
    plain_print(stream, metric != NULL ? metric : "");
    if (steps > 0)
        fprintf(stream, "   - the best so far: %.6g (trial %.0f)", number_at(best, "value", steps - 1),
                number_at(best, "trial", steps - 1));
    fputc('\n', stream);
    return STATUS_OK;
}
