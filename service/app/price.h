/* Prices of computations, from sizes alone, before they begin: milliseconds of one processor of this machine, meant to be
 * right within a factor of two.  No other file knows them, but that games price themselves (engine/game/game.h). */
#ifndef GNOMON_SERVICE_APP_PRICE_H
#define GNOMON_SERVICE_APP_PRICE_H

#include "service/app/app.h"

/* Computes for some milliseconds and returns how slow this machine is: 1 for the machine that the figures are from. */
double price_measure(void);

/* A model, as far as its cost goes. */
struct price_model {
    const struct spec *spec;
    double             values, pending; /* it is made of; trials that run beside them */
    double             news;            /* lines of the log that its session does not know */
    bool               has_fit;         /* the next proposal estimates hyper-parameters */
};
struct price_model price_model_of(const struct study *study); /* news 0, has_fit false */

/* Whether a proposal fits hyper-parameters, with so many values at the last fit (-1: there was none):
 * engine/bo/gp_schedule.h. */
bool price_has_fit(double values, int64_t values_then);

/* The price of the next proposal, and of `count` proposals one after the other, each pending for those after it. */
double price_ask(const struct app *app, const struct price_model *model);
double price_batch(const struct app *app, const struct price_model *model, int64_t count);
/* The price of the expected gain of another trial. */
double price_gain(const struct app *app, const struct price_model *model);
/* Bytes that a session takes while it computes, up to the limit of a session. */
double price_bytes(const struct app *app, const struct price_model *model);
/* Learns from a proposal of this model that took took_ms: the next prices are nearer to it. */
void price_learn(struct app *app, const struct price_model *model, double took_ms);

/* So was priced, and so long took, a computation of another kind: the next of this kind are priced nearer to it. */
enum price_part {
    PRICE_TELL,
    PRICE_GAIN,
    PRICE_PREDICT,
    PRICE_MEANS,
    PRICE_RESIDUALS,
    PRICE_JUDGE,
    PRICE_MESSAGE,
    PRICE_PARETO,
    PRICE_CHECK,
    PRICE_VERIFY,
    PRICE_PARTS
};
void price_learn_part(struct app *app, enum price_part part, double price_ms, double took_ms);

/* The news told to its session. */
double price_tell(const struct app *app, const struct price_model *model);
/* Whether a prediction also looks at trials that the model has left out (struct prediction). */
bool price_looks_near(const struct price_model *model);
/* The posterior at so many points; its mean alone; every value predicted by all the others. */
double price_predict(const struct app *app, const struct price_model *model, double points);
double price_means(const struct app *app, const struct price_model *model, double points);
double price_residuals(const struct app *app, const struct price_model *model);
/* A proposal that was made after so many of the values, made again. */
double price_verify(const struct app *app, const struct price_model *model, double values);
/* Whether a trial is to stop, among so many curves; what an agent sends in a round. */
double price_judge(const struct app *app, const struct price_model *model, double curves);
double price_message(const struct app *app, const struct price_model *model);
/* The best of so many vectors, and the hypervolume that they dominate. */
double price_pareto(const struct app *app, double vectors, size_t objectives);
/* A matrix that was uploaded, read and tested. */
double price_check(const struct app *app, double rows, double columns);
/* Converts seconds of the machine that the figures are from into milliseconds of this one. */
double price_seconds(const struct app *app, double seconds);

#endif
