/* The first lines of reasons of failed trials: how long, whether two say the same, whether it was memory. */
#ifndef GNOMON_SERVICE_STORE_REASON_H
#define GNOMON_SERVICE_STORE_REASON_H

#include <stdbool.h>
#include <stddef.h>

enum { REASON_BYTES = 300 };

/* The bytes of the first line of a reason, as it is shown: up to REASON_BYTES, whole characters. */
size_t reason_length(const char *reason);
/* Whether the first lines are the same, or differ in digits alone ("tried to allocate 2.5 GiB", "... 12 GiB"). */
bool reason_is_alike(const char *one, const char *other);
/* Whether the run was out of memory: it says so (Python's MemoryError, CUDA's and malloc's words, std::bad_alloc), or it ended by
 * SIGKILL or with exit code 137, as the kernel, Slurm and Kubernetes end what takes too much. */
bool reason_is_memory(const char *reason);

#endif
