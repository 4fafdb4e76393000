/* See run.h.  The output of a run goes to files and is read there: a pipe would fill while the server is away, and no output
 * is lost when this program is killed. */
#include "service/work/run.h"

#include "service/client/plain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { END_BYTES = 8192 };

static enum status failed(const char *path, struct error *err)
{
    return error_set(err, STATUS_INVALID, "file", "", "%.150s: %s", path, strerror(errno));
}

static enum status make_folders(const char *path, struct error *err)
{
    char part[RUN_PATH_BYTES];
    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return failed(part, err);
    }
    return mkdir(path, 0700) != 0 && errno != EEXIST ? failed(path, err) : STATUS_OK;
}

static void path_of(const struct run *run, const char *name, char out[RUN_PATH_BYTES + 16])
{
    snprintf(out, RUN_PATH_BYTES + 16, "%s/%s", run->folder, name);
}

static enum status write_point(const char *path, const char *point, struct error *err)
{
    int  fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool is_written = fd >= 0 && dprintf(fd, "%s\n", point) > 0;
    if (fd < 0)
        return failed(path, err);
    return close(fd) == 0 && is_written ? STATUS_OK : failed(path, err);
}

enum status run_start(struct run *run, const struct run_options *options, struct error *err)
{
    char output[RUN_PATH_BYTES + 16], errors[RUN_PATH_BYTES + 16], point[RUN_PATH_BYTES + 16];
    run->is_over = true; // no process is waited for or signalled until there is one
    TRY(make_folders(run->folder, err));
    path_of(run, "output", output);
    path_of(run, "errors", errors);
    path_of(run, "point.json", point);
    TRY(write_point(point, options->point, err));
    run->length = run->taken = 0;
    run->buffer = malloc(RUN_LINE_BYTES);
    if (run->buffer == NULL)
        return error_no_memory(err);
    run->output = open(output, O_RDONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    enum status status =
        run->output < 0
            ? failed(output, err)
            : process_start(&(struct process_options){.arguments = (const char *const *)(uintptr_t)options->program,
                                                      .environment = options->environment,
                                                      .input_file = options->point_as_input ? point : NULL,
                                                      .output_file = output,
                                                      .error_file = errors,
                                                      .own_group = true},
                            &run->process, err);
    run->is_over = status != STATUS_OK;
    if (run->is_over)
        run_end(run);
    if (status == STATUS_INTERNAL) // the program does not exist: the user's mistake
        err->status = status = STATUS_INVALID;
    return status;
}

/* A line is a string, and what a progress bar writes over itself (CR) is a line. */
static void make_lines(char *bytes, size_t length)
{
    for (char *c = bytes; c < bytes + length; c++)
        *c = *c == '\0' ? ' ' : *c == '\r' ? '\n' : *c;
}

/* A line that is longer than the buffer comes in pieces. */
const char *run_line(struct run *run)
{
    if (run->taken > 0)
        return run->buffer;
    char   *end = memchr(run->buffer, '\n', run->length);
    ssize_t got = 1;
    while (end == NULL && run->length < RUN_LINE_BYTES - 1 && got > 0) {
        got = read(run->output, run->buffer + run->length, RUN_LINE_BYTES - 1 - run->length);
        if (got > 0) {
            make_lines(run->buffer + run->length, (size_t)got);
            end = memchr(run->buffer + run->length, '\n', (size_t)got);
            run->length += (size_t)got;
        }
    }
    bool is_full = run->length == RUN_LINE_BYTES - 1;
    if (end == NULL && !is_full && (!run->is_over || run->length == 0))
        return NULL;
    run->taken = end != NULL ? (size_t)(end - run->buffer) + 1 : run->length;
    *(end != NULL ? end : run->buffer + run->length) = '\0';
    plain_strip(run->buffer);
    return run->buffer;
}

void run_take_line(struct run *run)
{
    memmove(run->buffer, run->buffer + run->taken, run->length - run->taken);
    run->length -= run->taken;
    run->taken = 0;
}

bool run_has_ended(struct run *run)
{
    if (run->is_over)
        return true;
    if (!process_has_ended(&run->process))
        return false;
    kill(-run->process.pid, SIGKILL); // before its number is free for others
    run->code = process_wait(&run->process);
    run->is_over = true;
    return true;
}

void run_signal(const struct run *run, int number)
{
    if (!run->is_over)
        kill(-run->process.pid, number);
}

/* The end of a file, as much as fits, without white space behind. */
static size_t read_end(const struct run *run, const char *name, char out[END_BYTES])
{
    char        path[RUN_PATH_BYTES + 16];
    struct stat about;
    ssize_t     got = 0;
    path_of(run, name, path);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && fstat(file, &about) == 0)
        got = pread(file, out, END_BYTES - 1, about.st_size > END_BYTES - 1 ? about.st_size - (END_BYTES - 1) : 0);
    if (file >= 0)
        close(file);
    out[got > 0 ? got : 0] = '\0';
    make_lines(out, got > 0 ? (size_t)got : 0);
    plain_strip(out);
    size_t length = strlen(out);
    while (length > 0 && strchr(" \t\r\n", out[length - 1]) != NULL)
        length--;
    out[length] = '\0';
    return length;
}

void run_print_end(const struct run *run, size_t lines, FILE *stream)
{
    char   text[END_BYTES];
    size_t length = read_end(run, "errors", text);
    if (length == 0)
        length = read_end(run, "output", text);
    size_t from = length;
    while (from > 0 && (text[from - 1] != '\n' || --lines > 0))
        from--;
    plain_print_lines(stream, text + from);
    if (length > 0)
        fputc('\n', stream);
}

void run_last_error(const struct run *run, char *out, size_t bytes)
{
    char text[END_BYTES];
    read_end(run, "errors", text);
    const char *last = strrchr(text, '\n');
    last = last != NULL ? last + 1 : text;
    size_t length = strlen(last) < bytes ? strlen(last) : bytes - 1;
    while (length > 0 && length < strlen(last) && ((unsigned char)last[length] & 0xc0) == 0x80)
        length--; // not in the middle of a character
    memcpy(out, last, length);
    out[length] = '\0';
}

void run_end(struct run *run)
{
    if (run->output >= 0)
        close(run->output);
    free(run->buffer);
    run->output = -1;
    run->buffer = NULL;
}
