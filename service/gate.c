/* A counting semaphore with a name that says what it is for. */
#include "service/gate.h"

#include <semaphore.h>
#include <stdlib.h>

struct gate {
    sem_t slots;
};

struct gate *gate_new(size_t slots)
{
    struct gate *gate = malloc(sizeof *gate);
    if (gate != NULL && sem_init(&gate->slots, 0, (unsigned)slots) != 0) {
        free(gate);
        return NULL;
    }
    return gate;
}

void gate_free(struct gate *gate)
{
    if (gate == NULL)
        return;
    sem_destroy(&gate->slots);
    free(gate);
}

void gate_enter(struct gate *gate)
{
    while (sem_wait(&gate->slots) != 0) // EINTR
        ;
}

void gate_leave(struct gate *gate)
{
    sem_post(&gate->slots);
}
