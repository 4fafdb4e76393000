/* Rights that the server gives up for good when it starts, so that whoever makes it run foreign code gains little. */
#ifndef GNOMON_SERVICE_MAIN_CONFINE_H
#define GNOMON_SERVICE_MAIN_CONFINE_H

#include <stdbool.h>

/* Forbids the calling thread and those that it starts to write, make or delete anything outside the folder, which exists,
 * and the folders of gnomon.witness, if that is a link, and of the files (NULL ends); and to run programs.  Also: only root
 * can attach a debugger to the process or read its memory. */
void confine_files(const char *folder, const char *const files[]);

/* Forbids all threads every system call that is not on a short list; among others running programs, forks, executable
 * memory, and opening connections, unless it connects (to a store elsewhere).  A forbidden call fails with ENOSYS, as if the
 * kernel did not have it.  Both functions log what this kernel does not offer, and go on without it. */
void confine_calls(bool connects);

#endif
