/* Preloaded into the server by the test `confined`: plays whoever made it run code of their own.  At SIGUSR2 the thread
 * that gets it tries one thing after the other, and writes to the file that INTRUDER_OUT names how each ended: "name
 * errno", 0 when it was allowed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int  out;
static char page[8192] __attribute__((aligned(4096)));

static void tell(const char *name, long result)
{
    char line[64];
    int  length = snprintf(line, sizeof line, "%s %d\n", name, result == -1 ? errno : 0);
    (void)!write(out, line, (size_t)length);
}

static void run_programs(void)
{
    tell("execve", execve("/bin/true", (char *[]){"true", NULL}, environ));
    tell("execveat", syscall(SYS_execveat, AT_FDCWD, "/bin/true", NULL, environ, 0));
    long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0)
        _exit(0);
    tell("fork", child);
    tell("clone3", syscall(SYS_clone3, NULL, 0) == -1 && errno == EINVAL ? 0 : -1);
    tell("exec_memory", (long)mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    tell("exec_file", (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, open("/bin/true", O_RDONLY), 0));
    tell("make_executable", mprotect(page, 4096, PROT_READ | PROT_EXEC));
    tell("pkey_mprotect", syscall(SYS_pkey_mprotect, page, 4096, PROT_READ | PROT_EXEC, -1));
    tell("memfd_create", memfd_create("x", 0));
}

static void reach_others(void)
{
    tell("socket_inet", socket(AF_INET, SOCK_STREAM, 0));
    tell("socket_unix", socket(AF_UNIX, SOCK_STREAM, 0));
    tell("socket_netlink", socket(AF_NETLINK, SOCK_RAW, 0));
    tell("socket_packet", socket(AF_PACKET, SOCK_RAW, 0));
    tell("connect", connect(out, (struct sockaddr *)page, 16));
    tell("ptrace", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    tell("process_vm_readv", syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
    tell("kill", kill(getppid(), 0));
    tell("tgkill_parent", syscall(SYS_tgkill, getppid(), getppid(), 0));
    tell("tgkill_own", syscall(SYS_tgkill, getpid(), getpid(), 0));
    tell("pidfd_open", syscall(SYS_pidfd_open, getppid(), 0));
}

static void change_the_kernel(void)
{
    struct rlimit core = {1 << 20, 1 << 20};
    tell("unshare", unshare(CLONE_NEWUSER));
    tell("setns", setns(out, 0));
    tell("mount", syscall(SYS_mount, "none", "/", "tmpfs", 0, NULL));
    tell("chroot", chroot("/"));
    tell("bpf", syscall(SYS_bpf, 0, page, 64));
    tell("io_uring_setup", syscall(SYS_io_uring_setup, 1, page));
    tell("userfaultfd", syscall(SYS_userfaultfd, 0));
    tell("keyctl", syscall(SYS_keyctl, 0, 0, 0, 0, 0));
    tell("perf_event_open", syscall(SYS_perf_event_open, page, 0, -1, -1, 0));
    tell("personality", syscall(SYS_personality, 0x0040000));
    tell("set_dumpable", prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
    tell("get_limit", getrlimit(RLIMIT_NOFILE, &(struct rlimit){0}));
    tell("set_limit", setrlimit(RLIMIT_CORE, &core));
    tell("setuid", (long)syscall(SYS_setuid, 0));
    tell("ioctl_tiocsti", syscall(SYS_ioctl, 0, 0x5412, page));
}

static void write_files(void)
{
    const char *outside = getenv("INTRUDER_OUTSIDE"), *inside = getenv("INTRUDER_INSIDE");
    char        path[512];
    tell("outside_read", open(outside, O_RDONLY));
    tell("outside_write", open(outside, O_WRONLY));
    tell("outside_delete", unlink(outside));
    snprintf(path, sizeof path, "%s.new", outside);
    tell("outside_rename", rename(outside, path));
    tell("outside_make", open(path, O_WRONLY | O_CREAT, 0600));
    tell("inside_make", open(inside, O_WRONLY | O_CREAT, 0600));
    tell("inside_delete", unlink(inside));
    tell("symlink", symlink("/etc", inside));
    tell("link", link(outside, inside));
    tell("mkdir", mkdir(inside, 0700));
    tell("chmod", chmod(outside, 04777));
}

static void intrude(int number)
{
    (void)number;
    int saved = errno;
    run_programs();
    reach_others();
    change_the_kernel();
    write_files();
    tell("end", 0);
    errno = saved;
}

__attribute__((constructor)) static void wait_for_signal(void)
{
    const char *path = getenv("INTRUDER_OUT");
    out = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    signal(SIGUSR2, intrude);
}
