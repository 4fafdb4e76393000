/* Gives files, or every file of folders, to a fuzz target: the same targets as libFuzzer's, without libFuzzer.
 * An input that breaks an invariant ends the program; the last line on standard error names it. */
#include "tests/fuzz/target.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* The buffer has the input's own size, so that reading past it is seen. */
static int run_file(const char *path)
{
    FILE          *file = fopen(path, "rb");
    long           length = file == NULL || fseek(file, 0, SEEK_END) != 0 ? -1 : ftell(file);
    unsigned char *bytes = length < 0 ? NULL : malloc(length > 0 ? (size_t)length : 1);
    int            failed = bytes == NULL;
    if (!failed) {
        rewind(file);
        failed = fread(bytes, 1, (size_t)length, file) != (size_t)length;
    }
    if (file != NULL)
        fclose(file);
    fprintf(stderr, "%s%s\n", path, failed ? ": cannot be read" : "");
    if (!failed)
        (void)LLVMFuzzerTestOneInput(bytes, (size_t)length);
    free(bytes);
    return failed;
}

static int run(const char *path)
{
    char           child[4096];
    int            failed = 0;
    struct dirent *entry;
    DIR           *folder = opendir(path);
    if (folder == NULL)
        return run_file(path);
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
        failed |= run(child);
    }
    closedir(folder);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;
    for (int i = 1; i < argc; i++)
        failed |= run(argv[i]);
    return failed;
}
