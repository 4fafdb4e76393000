/* Figures of the operating system about this process and the disk. */
#ifndef GNOMON_SERVICE_BASE_PROCESS_STATS_H
#define GNOMON_SERVICE_BASE_PROCESS_STATS_H

/* NaN: the system does not tell. */
struct process_stats {
    double cpu_seconds, resident_bytes, virtual_bytes, started_seconds /* since 1970 */, open_files, most_files;
};
void process_stats(struct process_stats *out);

/* Bytes of the file; of its disk the bytes this process may still take, and all of it; NaN: not known. */
struct disk_stats {
    double file_bytes, free_bytes, all_bytes;
};
void disk_stats(const char *file, struct disk_stats *out);

#endif
