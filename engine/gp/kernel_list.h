/* The kinds of kernels, one line each, in the order of the documentation; the first is the default of most. */
#ifndef GNOMON_ENGINE_KERNEL_LIST_H
#define GNOMON_ENGINE_KERNEL_LIST_H

#define KERNEL_LIST(X)    \
    X(MATERN52, matern52) \
    X(MATERN32, matern32) \
    X(MATERN12, matern12) \
    X(SE, se)

enum {
#define X(number, name) KERNEL_##number,
    KERNEL_LIST(X)
#undef X
        KERNELS
};

#define X(number, name) extern const struct kernel_kind kernel_##name;
KERNEL_LIST(X)
#undef X

#endif
