/* How much of the machine this process may use. */
#ifndef GNOMON_SERVICE_BASE_CPUS_H
#define GNOMON_SERVICE_BASE_CPUS_H

/* Processors: those that it may run on, or fewer, and then perhaps a fraction, where its control group or one above that
 * has a quota.  root: where /proc and /sys are, ordinarily "". */
double cpus_count(const char *root);
/* Bytes of memory, likewise. */
double memory_there_is(const char *root);

#endif
