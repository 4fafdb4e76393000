/* What the server gives up for good when it starts, so that whoever makes it run other code than ours gains little. */
#ifndef GNOMON_SERVICE_MAIN_CONFINE_H
#define GNOMON_SERVICE_MAIN_CONFINE_H

/* Of the calling thread and those that it starts: writing, making and deleting anything outside the folder, which is
 * made if need be (and that of gnomon.witness, where it is a link), and running programs.
 * Also: who is not root can neither attach a debugger to the process nor read its memory. */
void confine_files(const char *folder);

/* Of all threads: every call to the kernel that is not on a short list; among others opening connections, running
 * programs, forks, memory that can be run.  It fails with ENOSYS, as if the kernel did not have it.  Both log what this
 * kernel does not offer, and go on without it. */
void confine_calls(void);

#endif
