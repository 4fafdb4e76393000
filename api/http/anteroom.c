/* See anteroom.h. */
#include "api/http/anteroom.h"

#include "api/http/conns.h"

#include <stddef.h>
#include <sys/epoll.h>
#include <unistd.h>

static void move(struct guest *ring, struct guest *guest)
{
    guest->before->next = guest->next;
    guest->next->before = guest->before;
    guest->next = ring;
    guest->before = ring->before;
    ring->before = ring->before->next = guest;
}

bool anteroom_open(struct anteroom *room, _Atomic uint64_t *shed)
{
    room->epoll = epoll_create1(EPOLL_CLOEXEC);
    room->shed = shed;
    room->head.next = room->head.before = &room->head;
    room->ready.next = room->ready.before = &room->ready;
    room->vacant.next = room->vacant.before = &room->vacant;
    for (size_t i = 0; i < ANTEROOM_MAX; i++) {
        room->guests[i].next = room->guests[i].before = &room->guests[i];
        move(&room->vacant, &room->guests[i]);
    }
    return room->epoll >= 0;
}

void anteroom_leave(struct anteroom *room, struct guest *guest)
{
    (void)epoll_ctl(room->epoll, EPOLL_CTL_DEL, guest->fd, NULL);
    move(&room->vacant, guest);
}

static void dismiss(struct anteroom *room, struct guest *guest, _Atomic uint64_t *count)
{
    anteroom_leave(room, guest);
    close(guest->fd);
    atomic_fetch_add(count, 1);
}

/* Sends away up to `most` guests that came before since_ms and have sent nothing. */
static void clear(struct anteroom *room, int64_t since_ms, size_t most, _Atomic uint64_t *count)
{
    struct guest *next, *guest = room->head.next;
    for (; most > 0 && guest != &room->head && guest->since_ms < since_ms; guest = next) {
        next = guest->next;
        if (!conns_has_unread(guest->fd)) {
            dismiss(room, guest, count);
            most--;
        }
    }
}

/* Whoever has sent something since the last time is ready. */
static void look(struct anteroom *room)
{
    struct epoll_event events[64];
    int                len;
    while ((len = epoll_wait(room->epoll, events, 64, 0)) > 0)
        for (int i = 0; i < len; i++) {
            struct guest *guest = events[i].data.ptr;
            (void)epoll_ctl(room->epoll, EPOLL_CTL_DEL, guest->fd, NULL);
            move(&room->ready, guest);
        }
}

static bool is_full(const struct anteroom *room)
{
    return room->vacant.next == &room->vacant;
}

static void dismiss_last(struct anteroom *room)
{
    struct guest *last = NULL;
    for (struct guest *guest = room->ready.next; guest != &room->ready; guest = guest->next)
        if (guest->rank >= (last == NULL ? ANTEROOM_PATIENT : last->rank))
            last = guest;
    if (last != NULL)
        dismiss(room, last, room->shed);
}

bool anteroom_has_room(struct anteroom *room, int64_t since_ms)
{
    if (is_full(room))
        clear(room, since_ms, 1, room->shed);
    if (is_full(room)) {
        look(room);
        dismiss_last(room);
    }
    return !is_full(room);
}

void anteroom_enter(struct anteroom *room, const struct guest *guest)
{
    struct guest      *place = room->vacant.next;
    struct epoll_event input = {.events = EPOLLIN | EPOLLRDHUP, .data = {.ptr = place}};
    place->fd = guest->fd;
    place->length = guest->length;
    place->from = guest->from;
    place->key = guest->key;
    place->since_ms = guest->since_ms;
    place->rank = guest->rank;
    move(&room->head, place);
    if (epoll_ctl(room->epoll, EPOLL_CTL_ADD, place->fd, &input) != 0)
        dismiss(room, place, room->shed);
}

struct guest *anteroom_ready(struct anteroom *room)
{
    struct guest *first = NULL;
    look(room);
    for (struct guest *guest = room->ready.next; guest != &room->ready; guest = guest->next)
        if (first == NULL || guest->rank < first->rank)
            first = guest;
    return first;
}

void anteroom_reap(struct anteroom *room, int64_t since_ms, _Atomic uint64_t *reaped)
{
    clear(room, since_ms, ANTEROOM_MAX, reaped);
}

void anteroom_close(struct anteroom *room)
{
    _Atomic uint64_t none = 0;
    if (room->epoll < 0)
        return;
    look(room);
    while (room->head.next != &room->head)
        dismiss(room, room->head.next, &none);
    while (room->ready.next != &room->ready)
        dismiss(room, room->ready.next, &none);
    close(room->epoll);
}
