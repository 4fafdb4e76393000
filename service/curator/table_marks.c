/* See table_marks.h. */
#include "service/curator/table_marks.h"

#include "service/base/digest.h"
#include "service/file/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX_BYTES = 1 << 30, HEAD_BYTES = 64 };
static const char HEAD_FORMAT[] = "gnomon-marks-1 %zu %zu %zu";

/* A digest of a list, with the row it belongs to. */
struct digest {
    unsigned char bytes[SHA256_BYTES];
    size_t        row;
};

static void put_u64(unsigned char *out, uint64_t value)
{
    for (int i = 7; i >= 0; i--, value >>= 8)
        out[i] = (unsigned char)value;
}

static void put_real(unsigned char *out, double value)
{
    uint64_t bits;
    value += 0.0; // the two zeros are one number
    memcpy(&bits, &value, sizeof bits);
    put_u64(out, bits);
}

static int compare_digests(const void *a, const void *b)
{
    const struct digest *x = a, *y = b;
    int                  order = memcmp(x->bytes, y->bytes, sizeof x->bytes);
    return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

static int compare_marks(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* Sorts by content and makes equal ones different by their number among equals. */
static void number_equals(struct digest *digests, size_t n, const unsigned char secret[SHA256_BYTES])
{
    unsigned char text[8 + SHA256_BYTES], last[SHA256_BYTES] = {0};
    uint64_t      number = 0;
    qsort(digests, n, sizeof *digests, compare_digests);
    for (size_t i = 0; i < n; i++) {
        number = i > 0 && memcmp(digests[i].bytes, last, sizeof last) == 0 ? number + 1 : 0;
        memcpy(last, digests[i].bytes, sizeof last);
        put_u64(text, number);
        memcpy(text + 8, last, sizeof last);
        hmac_sha256(secret, text, sizeof text, digests[i].bytes);
    }
}

/* Whole rows. */

static void order_by_name(const struct csv_table *csv, size_t *order)
{
    for (size_t j = 0; j < csv->columns; j++) {
        size_t at = j;
        for (; at > 0 && strcmp(csv_table_name(csv, order[at - 1]), csv_table_name(csv, j)) > 0; at--)
            order[at] = order[at - 1];
        order[at] = j;
    }
}

static size_t longest_row(const struct csv_table *csv)
{
    size_t most = 0;
    for (size_t i = 0; i < csv->rows; i++) {
        size_t length = 0;
        for (size_t j = 0; j < csv->columns; j++)
            length += strlen(csv_table_cell(csv, i, j)) + 1 + 8;
        most = length > most ? length : most;
    }
    return most;
}

/* 'r' and a number's bits, or 't', a length and a text. */
static size_t put_cell(unsigned char *out, const char *cell)
{
    char  *end = NULL;
    double value = strtod(cell, &end);
    size_t length = strlen(cell);
    if (end != cell && *end == '\0' && isfinite(value)) {
        out[0] = 'r';
        put_real(out + 1, value);
        return 1 + 8;
    }
    out[0] = 't';
    put_u64(out + 1, length);
    memcpy(out + 1 + 8, cell, length);
    return 1 + 8 + length;
}

static enum status digest_rows(const struct csv_table *csv, const unsigned char secret[SHA256_BYTES],
                               struct digest *digests, struct error *err)
{
    size_t         room = longest_row(csv) + 1;
    size_t        *order = calloc(csv->columns, sizeof *order);
    unsigned char *text = malloc(room);
    bool           has_memory = order != NULL && text != NULL;
    if (has_memory)
        order_by_name(csv, order);
    for (size_t i = 0; i < csv->rows && has_memory; i++) {
        size_t length = 0;
        for (size_t j = 0; j < csv->columns; j++)
            length += put_cell(text + length, csv_table_cell(csv, i, order[j]));
        digests[i].row = i;
        hmac_sha256(secret, text, length, digests[i].bytes);
    }
    if (has_memory)
        number_equals(digests, csv->rows, secret);
    sign_wipe(text, room);
    free(text);
    free(order);
    return has_memory ? STATUS_OK : error_no_memory(err);
}

/* The tag of digests that are sorted by number_equals, which is not the order of the file. */
static void tag_of(const struct digest *digests, size_t n, const unsigned char secret[SHA256_BYTES], char tag[65])
{
    unsigned char        text[8 + SHA256_BYTES], made[SHA256_BYTES];
    struct sha256_state *state = sha256_start();
    char                 hex[SHA256_HEX_BYTES] = "";
    for (size_t i = 0; i < n && state != NULL; i++)
        sha256_add(state, digests[i].bytes, SHA256_BYTES);
    tag[0] = '\0';
    if (state == NULL)
        return;
    sha256_hex_final(state, hex);
    put_u64(text, n);
    (void)digest_of_hex(hex, text + 8, SHA256_BYTES);
    hmac_sha256(secret, text, sizeof text, made);
    digest_to_hex(made, sizeof made, tag);
}

enum status table_marks_tags(const struct csv_table *csv, const struct sign_key *key, char tag[65],
                             unsigned char (*rows)[TABLE_ROW_TAG_BYTES], struct error *err)
{
    unsigned char  secret[SHA256_BYTES];
    struct digest *digests = calloc(csv->rows + 1, sizeof *digests);
    if (digests == NULL)
        return error_no_memory(err);
    sign_derive(key, "gnomon rows", secret);
    enum status status = digest_rows(csv, secret, digests, err);
    if (status == STATUS_OK)
        tag_of(digests, csv->rows, secret, tag);
    if (status == STATUS_OK && tag[0] == '\0')
        status = error_no_memory(err);
    for (size_t i = 0; i < csv->rows && rows != NULL && status == STATUS_OK; i++)
        memcpy(rows[digests[i].row], digests[i].bytes, TABLE_ROW_TAG_BYTES);
    sign_wipe(secret, sizeof secret);
    free(digests);
    return status;
}

/* Lists of marks. */

struct making {
    const struct csv_table     *csv;
    const struct table_columns *columns;
    unsigned char               secret[SHA256_BYTES];
    double                     *values;  /* [n][columns->len] */
    unsigned char              *text;    /* room for what one digest is of */
    struct digest              *digests; /* [n] */
};

static void keep_list(const struct making *making, uint64_t *list)
{
    for (size_t i = 0; i < making->csv->rows; i++)
        memcpy(&list[i], making->digests[i].bytes, sizeof list[i]);
    qsort(list, making->csv->rows, sizeof *list, compare_marks);
}

static void mark_column(const struct making *making, size_t column, uint64_t *list)
{
    size_t n = making->csv->rows, len = making->columns->len;
    making->text[0] = 'c';
    for (size_t i = 0; i < n; i++) {
        put_real(making->text + 1, making->values[i * len + column]);
        making->digests[i].row = i;
        hmac_sha256(making->secret, making->text, 1 + 8, making->digests[i].bytes);
    }
    number_equals(making->digests, n, making->secret);
    keep_list(making, list);
}

/* Grid `shift` of `grids`. */
static void mark_grid(const struct making *making, size_t shift, size_t grids, uint64_t *list)
{
    size_t n = making->csv->rows, len = making->columns->len;
    making->text[0] = 'g';
    put_u64(making->text + 1, shift);
    for (size_t i = 0; i < n; i++) {
        size_t length = 1 + 8;
        for (size_t j = 0; j < len; j++)
            if (isfinite(making->columns->moves[j])) {
                double cell =
                    floor(making->values[i * len + j] / making->columns->moves[j] + (double)shift / (double)grids);
                put_real(making->text + length, cell);
                length += 8;
            }
        making->digests[i].row = i;
        hmac_sha256(making->secret, making->text, length, making->digests[i].bytes);
    }
    number_equals(making->digests, n, making->secret);
    keep_list(making, list);
}

static enum status read_values(const struct making *making, struct error *err)
{
    size_t len = making->columns->len;
    for (size_t j = 0; j < len; j++) {
        size_t column = 0;
        TRY(csv_table_column(making->csv, making->columns->names[j], &column, err));
        for (size_t i = 0; i < making->csv->rows; i++)
            TRY(csv_table_number(making->csv, i, column, &making->values[i * len + j], err));
    }
    return STATUS_OK;
}

static enum status make_lists(const struct making *making, struct table_marks *out, struct error *err)
{
    size_t n = out->n;
    TRY(read_values(making, err));
    TRY(digest_rows(making->csv, making->secret, making->digests, err));
    keep_list(making, out->lists);
    for (size_t j = 0; j < out->columns; j++)
        mark_column(making, j, out->lists + (1 + j) * n);
    for (size_t s = 0; s < out->grids; s++)
        mark_grid(making, s, out->grids, out->lists + (1 + out->columns + s) * n);
    return STATUS_OK;
}

enum status table_marks_make(const struct csv_table *csv, const struct sign_key *key,
                             const struct table_columns *columns, struct table_marks *out, struct error *err)
{
    size_t n = csv->rows, limited = 0;
    for (size_t j = 0; j < columns->len; j++)
        limited += isfinite(columns->moves[j]) != 0;
    *out = (struct table_marks){.n = n, .columns = columns->len};
    out->grids = limited == 0 ? 0 : limited + 1 < TABLE_GRIDS_MAX ? limited + 1 : TABLE_GRIDS_MAX;
    out->lists = calloc((1 + out->columns + out->grids) * n + 1, sizeof *out->lists);
    struct making making = {.csv = csv,
                            .columns = columns,
                            .values = calloc(n * columns->len + 1, sizeof(double)),
                            .text = calloc(2 + columns->len, 8),
                            .digests = calloc(n + 1, sizeof(struct digest))};
    sign_derive(key, "gnomon rows", making.secret);
    bool has_memory = out->lists != NULL && making.values != NULL && making.text != NULL && making.digests != NULL;
    enum status status = has_memory ? make_lists(&making, out, err) : error_no_memory(err);
    sign_wipe(making.secret, sizeof making.secret);
    sign_wipe(making.values, n * columns->len * sizeof(double));
    free(making.values);
    free(making.text);
    free(making.digests);
    return status;
}

/* Comparing. */

static size_t common_marks(const uint64_t *a, size_t a_len, const uint64_t *b, size_t b_len)
{
    size_t common = 0;
    for (size_t i = 0, j = 0; i < a_len && j < b_len;) {
        common += a[i] == b[j];
        bool is_left = a[i] <= b[j], is_right = b[j] <= a[i];
        i += is_left;
        j += is_right;
    }
    return common;
}

bool table_marks_meet(const struct table_marks *one, const struct table_marks *other)
{
    size_t n = one->n, m = other->n, half = ((n < m ? n : m) + 1) / 2;
    if (n == 0 || m == 0 || common_marks(one->lists, n, other->lists, m) > 0)
        return n > 0 && m > 0;
    for (size_t i = 0; i < one->columns; i++)
        for (size_t j = 0; j < other->columns; j++)
            if (common_marks(one->lists + (1 + i) * n, n, other->lists + (1 + j) * m, m) >= half)
                return true;
    for (size_t s = 0; s < one->grids && one->grids == other->grids; s++)
        if (common_marks(one->lists + (1 + one->columns + s) * n, n, other->lists + (1 + other->columns + s) * m, m) >=
            half)
            return true;
    return false;
}

/* Files. */

static size_t count_of(const struct table_marks *marks)
{
    return (1 + marks->columns + marks->grids) * marks->n;
}

enum status table_marks_write(const struct table_marks *marks, const char *path, char sha256[65], struct error *err)
{
    struct file_draft draft = {.stream = NULL};
    char              head[HEAD_BYTES] = {0};
    int64_t           bytes = 0;
    snprintf(head, sizeof head, HEAD_FORMAT, marks->n, marks->columns, marks->grids);
    enum status status = file_begin(&draft, path, 0600, err);
    if (status == STATUS_OK) {
        fwrite(head, 1, sizeof head, draft.stream);
        fwrite(marks->lists, sizeof *marks->lists, count_of(marks), draft.stream);
        status = file_finish(&draft, err);
    }
    if (status == STATUS_OK)
        status = file_digest(draft.temporary, sha256, &bytes, err);
    if (status == STATUS_OK)
        status = file_publish(&draft, err);
    file_discard(&draft);
    return status;
}

static enum status refuse(const char *path, enum status status, struct error *err)
{
    return error_set(err, status, "table_marks", "",
                     "%.150s is missing or not as it was written: without it a copy of its table is not recognised. "
                     "Restore it from a copy",
                     path);
}

enum status table_marks_read(const char *path, const char *sha256, struct table_marks *out, struct error *err)
{
    char  *text = NULL, digest[SHA256_HEX_BYTES];
    size_t length = 0;
    *out = (struct table_marks){.n = 0};
    if (file_read_private(path, FILE_MAX_BYTES, &text, &length, err) != STATUS_OK)
        return refuse(path, err->status, err);
    sha256_hex(text, length, digest);
    bool is_good = strcmp(digest, sha256) == 0 && length >= HEAD_BYTES &&
                   sscanf(text, HEAD_FORMAT, &out->n, &out->columns, &out->grids) == 3 &&
                   length == HEAD_BYTES + count_of(out) * sizeof *out->lists;
    out->lists = is_good ? malloc(length) : NULL;
    if (out->lists != NULL)
        memcpy(out->lists, text + HEAD_BYTES, length - HEAD_BYTES);
    free(text);
    if (out->lists != NULL)
        return STATUS_OK;
    *out = (struct table_marks){.n = 0};
    return is_good ? error_no_memory(err) : refuse(path, STATUS_INVALID, err);
}
