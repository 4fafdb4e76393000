/* Preloaded into the server by the test `ends`: what leaves a set of epoll does so late, so that two threads that remove
 * the same descriptor meet. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <sys/epoll.h>
#include <time.h>

int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
    static int (*real)(int, int, int, struct epoll_event *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "epoll_ctl");
    if (op == EPOLL_CTL_DEL)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    return real(epfd, op, fd, event);
}
