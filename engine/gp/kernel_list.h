/* The kinds of kernels, one line each, in the order of the documentation; the first is the default of most.  Those with
 * a period know how long a side of the unit cube is; the others take coordinates in any units. */
#ifndef GNOMON_ENGINE_KERNEL_LIST_H
#define GNOMON_ENGINE_KERNEL_LIST_H

#define KERNEL_LIST_ANY_UNITS(X) \
    X(MATERN52, matern52)        \
    X(MATERN32, matern32)        \
    X(MATERN12, matern12)        \
    X(SE, se)
#define KERNEL_LIST(X)       \
    KERNEL_LIST_ANY_UNITS(X) \
    X(PERIODIC, periodic)

enum {
#define X(number, name) KERNEL_##number,
    KERNEL_LIST(X)
#undef X
        KERNELS,
#define X(number, name) +1
    KERNELS_ANY_UNITS = 0 KERNEL_LIST_ANY_UNITS(X)
#undef X
};

#define X(number, name) extern const struct kernel_kind kernel_##name;
KERNEL_LIST(X)
#undef X

#endif
