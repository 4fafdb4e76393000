/* At most a number of threads inside at once; the others wait in no particular order. */
#ifndef GNOMON_SERVICE_GATE_H
#define GNOMON_SERVICE_GATE_H

#include <stddef.h>

struct gate;
struct gate *gate_new(size_t slots); /* NULL: no memory */
void         gate_free(struct gate *gate);
void         gate_enter(struct gate *gate);
void         gate_leave(struct gate *gate);

#endif
