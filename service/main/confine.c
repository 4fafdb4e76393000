/* See confine.h.
 * A list of what is allowed, rather than of what is not: kernels get new calls, and a server that is up needs few of the
 * old ones.  ENOSYS rather than a killed process: when a library learns to use a newer call, it tries the older one next,
 * and a call that we have forgotten costs one request and not the service.  Sanitisers need what is given up here (the
 * one of leaks traces its own process), hence they have a server that is not confined. */
#define _GNU_SOURCE /* CLONE_THREAD, O_PATH */
#include "service/main/confine.h"

#include "service/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

static void tell(const char *what, int error)
{
    log_event(LOG_WARNING, "not_confined", "what=%s why=\"%s\"", what, strerror(error));
}

/* ---- files: landlock ---- */

enum {
    IN_FOLDER = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                LANDLOCK_ACCESS_FS_REMOVE_FILE,
    NOWHERE = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR |
              LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
              LANDLOCK_ACCESS_FS_MAKE_FIFO
};

static int allow_folder(int rules, const char *path)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = IN_FOLDER, .parent_fd = open(path, O_PATH | O_CLOEXEC)};
    if (rule.parent_fd < 0)
        return -1;
    long failed = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
    return (int)failed;
}

/* Allows the folder in which a written file really lies, behind links. */
static int allow_folder_of(int rules, const char *file)
{
    char path[PATH_MAX];
    if (realpath(file, path) == NULL)
        snprintf(path, sizeof path, "%s", file);
    char *last = strrchr(path, '/');
    if (last == NULL)
        return allow_folder(rules, ".");
    *last = '\0';
    return allow_folder(rules, path[0] != '\0' ? path : "/");
}

static int restrict_files(const char *folder, const char *const files[])
{
    char                         witness[PATH_MAX];
    struct landlock_ruleset_attr attributes = {.handled_access_fs = IN_FOLDER | NOWHERE};
    int                          rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
    if (rules < 0)
        return -1;
    snprintf(witness, sizeof witness, "%.4000s/gnomon.witness", folder);
    int failed = allow_folder(rules, folder) != 0 || allow_folder_of(rules, witness) != 0;
    for (; *files != NULL; files++)
        failed = allow_folder_of(rules, *files) != 0 || failed;
    failed =
        failed || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_landlock_restrict_self, rules, 0) != 0;
    int error = errno;
    close(rules);
    errno = error;
    return -failed;
}

void confine_files(const char *folder, const char *const files[])
{
    if (IS_SANITIZED)
        return;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (restrict_files(folder, files) != 0)
        tell("files", errno);
}

/* ---- calls: seccomp ---- */

// By name, so that a processor that lacks one of them is no matter.
static const char calls[] = // memory; mmap and mprotect are below
    " brk munmap mremap madvise mbind"
    // files that are open
    " read write readv writev pread64 pwrite64 lseek close fcntl flock fsync fdatasync ftruncate fallocate fchmod"
    " fchown fstat fstatfs getdents64 dup fadvise64"
    // files by name
    " openat open newfstatat stat lstat statx statfs access faccessat faccessat2 readlink readlinkat getcwd unlink"
    " unlinkat rename renameat renameat2 umask"
    // connections that others open
    " accept accept4 listen recvfrom recvmsg sendto sendmsg sendfile shutdown getsockopt setsockopt getsockname"
    " getpeername poll ppoll select pselect6 epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd2 pipe2"
    // threads and signals; clone is below
    " futex set_robust_list rseq sched_yield sched_getaffinity setpriority getpriority gettid exit exit_group"
    " rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack restart_syscall"
    // time, chance, and what there is
    " nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time getrandom getpid getuid geteuid getgid"
    " getegid getcpu getrusage getrlimit sysinfo uname";

static const char connecting[] = " socket connect bind sendmmsg";

struct conditional {
    int                 call;
    struct scmp_arg_cmp when;
};

static int allow_all(scmp_filter_ctx filter, const char *names)
{
    char name[32];
    int  failed = 0, length = 0;
    for (; failed == 0 && sscanf(names, "%31s%n", name, &length) == 1; names += length)
        failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, seccomp_syscall_resolve_name(name), 0);
    return failed;
}

static int allow(scmp_filter_ctx filter, bool connects)
{
    const struct conditional conditionals[] = {
        {.call = SCMP_SYS(mmap), .when = {.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = PROT_EXEC}},
        {.call = SCMP_SYS(mprotect), .when = {.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = PROT_EXEC}},
        {.call = SCMP_SYS(clone), .when = {.op = SCMP_CMP_MASKED_EQ, .datum_a = CLONE_THREAD, .datum_b = CLONE_THREAD}},
        {.call = SCMP_SYS(tgkill), .when = {.op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)getpid()}},
        {.call = SCMP_SYS(prlimit64), .when = {.arg = 2, .op = SCMP_CMP_EQ}}, // asks, and sets nothing
        {.call = SCMP_SYS(prctl), .when = {.op = SCMP_CMP_EQ, .datum_a = PR_SET_NAME}},
        {.call = SCMP_SYS(ioctl), .when = {.arg = 1, .op = SCMP_CMP_EQ, .datum_a = TCGETS}},
        {.call = SCMP_SYS(ioctl), .when = {.arg = 1, .op = SCMP_CMP_EQ, .datum_a = FIONREAD}},
        {.call = SCMP_SYS(ioctl), .when = {.arg = 1, .op = SCMP_CMP_EQ, .datum_a = FIONBIO}},
    };
    int failed = allow_all(filter, calls);
    if (failed == 0 && connects)
        failed = allow_all(filter, connecting);
    for (size_t i = 0; failed == 0 && i < sizeof conditionals / sizeof conditionals[0]; i++)
        failed = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, conditionals[i].call, 1, &conditionals[i].when);
    return failed;
}

void confine_calls(bool connects)
{
    if (IS_SANITIZED)
        return;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    int             failed = filter == NULL ? -ENOMEM : seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    if (failed == 0)
        failed = allow(filter, connects);
    if (failed == 0)
        failed = seccomp_load(filter);
    if (failed != 0)
        tell("calls", -failed);
    seccomp_release(filter);
}
