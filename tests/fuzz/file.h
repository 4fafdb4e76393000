/* For targets whose input is a file: in memory where there is such a place, private, one for the process. */
#ifndef GNOMON_TESTS_FUZZ_FILE_H
#define GNOMON_TESTS_FUZZ_FILE_H

#include "tests/fuzz/target.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char fuzz_folder[64];

static void fuzz_forget(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", fuzz_folder);
    assert(system(command) == 0);
}

/* Made with the first call, gone with the process. */
static inline const char *fuzz_folder_of_process(void)
{
    if (fuzz_folder[0] == '\0') {
        snprintf(fuzz_folder, sizeof fuzz_folder, "%s/gnomon-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        assert(mkdtemp(fuzz_folder) != NULL && atexit(fuzz_forget) == 0);
    }
    return fuzz_folder;
}

/* The file of this name holds these bytes, and nobody else may read it.  path: [96] out. */
static inline void fuzz_file(const char *name, const void *bytes, size_t length, char path[96])
{
    snprintf(path, 96, "%s/%s", fuzz_folder_of_process(), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
    close(fd);
}

#endif
