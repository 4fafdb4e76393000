/* Expected improvement in units of the standard deviation, h(z) = phi(z) + z Phi(z), which all acquisition functions of a
 * normal value are made of. */
#ifndef GNOMON_ENGINE_ACQ_H_H
#define GNOMON_ENGINE_ACQ_H_H

/* log h(z), stable for every finite z (log h(-1e100) is about -5e199).
 * *to_mean = Phi(z) / h(z), *to_sd = phi(z) / h(z): the derivatives of log-EI times sd. */
double acq_log_h(double z, double *to_mean, double *to_sd);

/* log Phi(z), stable for every finite z; *slope its derivative. */
double acq_log_phi(double z, double *slope);

/* The standard deviation from a variance in units in which values have variance 1, kept above 0 so that logarithms stay
 * finite at observed points. */
double acq_sd(double var);

#endif
