/* Shared by the libraries that are preloaded into the server: the plan of a test, in a file that the test maps too. */
#ifndef GNOMON_TESTS_FAULT_PLAN_H
#define GNOMON_TESTS_FAULT_PLAN_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The file that FAIL_FILE names; NULL when there is none, and then nothing fails. */
static inline void *plan_map(size_t bytes)
{
    const char *path = getenv("FAIL_FILE");
    int         fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return map == MAP_FAILED ? NULL : map;
}

#endif
