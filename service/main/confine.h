/* What the server gives up for good when it starts, so that whoever makes it run other code than ours gains little. */
#ifndef GNOMON_SERVICE_MAIN_CONFINE_H
#define GNOMON_SERVICE_MAIN_CONFINE_H

#include <stdbool.h>

/* Of the calling thread and those that it starts: writing, making and deleting anything outside the folder, which
 * there is, and those of gnomon.witness, where it is a link, and of the files (NULL ends); and running programs.
 * Also: who is not root can neither attach a debugger to the process nor read its memory. */
void confine_files(const char *folder, const char *const files[]);

/* Of all threads: every call to the kernel that is not on a short list; among others running programs, forks, memory that
 * can be run, and opening connections, unless it connects (to a store that is elsewhere).  It fails with ENOSYS, as if the
 * kernel did not have it.  Both log what this kernel does not offer, and go on without it. */
void confine_calls(bool connects);

#endif
