/* Preloaded into the curator's program by the test `pace`: a clock on which only the program's own pauses and its commands
 * take time.  A command that appends n bytes to the file PACE_CLOCK has taken n ms.  For each answer that leaves, a line of
 * PACE_LOG says how long after its question that was, and how much of it the commands took. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

static long slept_ms, asked_ms, asked_spent_ms;

static long spent_ms(void)
{
    const char *path = getenv("PACE_CLOCK");
    struct stat file;
    return path != NULL && stat(path, &file) == 0 ? (long)file.st_size : 0;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    if (id != CLOCK_MONOTONIC)
        return real(id, now);
    long ms = 1000000 + slept_ms + spent_ms();
    *now = (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return 0;
}

/* The program looks each few milliseconds whether a command has ended, which no test's clock makes sooner: such a pause is one, and
 * takes no time. */
int nanosleep(const struct timespec *pause, struct timespec *left)
{
    static int (*real)(const struct timespec *, struct timespec *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "nanosleep");
    if (pause->tv_sec == 0 && pause->tv_nsec < 10000000)
        return real(pause, left);
    slept_ms += pause->tv_sec * 1000 + pause->tv_nsec / 1000000;
    return 0;
}

static void note_answer(void)
{
    FILE *log = fopen(getenv("PACE_LOG"), "a");
    if (log == NULL)
        abort();
    fprintf(log, "%ld %ld\n", slept_ms + spent_ms() - asked_ms, spent_ms() - asked_spent_ms);
    fclose(log);
}

ssize_t send(int fd, const void *data, size_t length, int flags)
{
    static ssize_t (*real)(int, const void *, size_t, int);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "send");
    const char *end = memchr(data, '\r', length);
    size_t      first = end != NULL ? (size_t)(end - (const char *)data) : length;
    if (memmem(data, first, "/suggest ", 9) != NULL) {
        asked_ms = slept_ms + spent_ms();
        asked_spent_ms = spent_ms();
    }
    if (memmem(data, first, "/observe ", 9) != NULL)
        note_answer();
    return real(fd, data, length, flags);
}
