/* The header of .npy files: what numpy writes, and what must be refused. */
#include "service/base/npy.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

struct file {
    unsigned char bytes[6000];
    size_t        length;
};

static void make_file(struct file *file, int version, const char *dictionary, size_t padding)
{
    size_t size = strlen(dictionary) + padding, preamble = version == 1 ? 10 : 12;
    memcpy(file->bytes, "\x93NUMPY", 6);
    memset(file->bytes + 6, 0, 6);
    file->bytes[6] = (unsigned char)version;
    file->bytes[8] = (unsigned char)(size & 0xff);
    file->bytes[9] = (unsigned char)(size >> 8);
    memset(file->bytes + preamble, ' ', size);
    memcpy(file->bytes + preamble, dictionary, strlen(dictionary));
    file->length = preamble + size;
}

static void test_accepted(void)
{
    static const struct {
        int           version;
        const char   *dictionary;
        size_t        rows, columns;
        enum npy_type type;
    } rows[] = {
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", 3, 2, NPY_F8},
        {2, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }\n", 3, 2, NPY_F8},
        {1, "{\"shape\":(100000,50),\"fortran_order\":False,\"descr\":\"<f4\"}", 100000, 50, NPY_F4},
        {1, "\t{ 'shape' : ( 7 , 11 , ) , 'descr' : '<f4' , 'fortran_order' : False }", 7, 11, NPY_F4},
        {1, "{'descr': '<i4', 'fortran_order': False, 'shape': (3, 2), }", 3, 2, NPY_I4},
        {1, "{'descr': '<i8', 'fortran_order': False, 'shape': (5, 13), }", 5, 13, NPY_I8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct file  file;
        struct npy   npy;
        struct error err = {0};
        make_file(&file, rows[i].version, rows[i].dictionary, 13);
        CU_ASSERT_EQUAL_FATAL(npy_header(file.bytes, file.length, &npy, &err), STATUS_OK);
        CU_ASSERT_EQUAL(npy.rows, rows[i].rows);
        CU_ASSERT_EQUAL(npy.columns, rows[i].columns);
        CU_ASSERT_EQUAL(npy.type, rows[i].type);
        CU_ASSERT_EQUAL(npy.data_offset, file.length);
    }
}

static void test_refused(void)
{
    static const struct {
        const char *dictionary, *code;
    } rows[] = {
        {"{'descr': '>f8', 'fortran_order': False, 'shape': (3, 2), }", "not_npy"},
        {"{'descr': '<u8', 'fortran_order': False, 'shape': (3, 2), }", "not_npy"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (3, 2), }", "not_npy"},
        {"{'descr': ' <f8', 'fortran_order': False, 'shape': (3, 2), }", "not_npy"},
        {"{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2), }", "not_npy"},
        {"{'descr': '<f8', 'fortran_order': Falsey, 'shape': (3, 2), }", "not_npy"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), } x", "not_npy"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3 2), }", "not_npy"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-3, 2), }", "not_npy"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (18446744073709551617, 2), }", "not_npy"},
        {"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", "not_npy"},
        {"{'descr': '<f8', 'shape': (3, 2), }", "not_npy"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), 'x': 1}", "not_npy"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2)", "not_npy"},
        {"{'descr': '<f8", "not_npy"},
        {"", "not_npy"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", "wrong_shape"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (), }", "wrong_shape"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2, 5), }", "wrong_shape"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2), }", "wrong_shape"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct file  file;
        struct npy   npy;
        struct error err = {0};
        make_file(&file, 1, rows[i].dictionary, 3);
        CU_ASSERT_EQUAL(npy_header(file.bytes, file.length, &npy, &err), STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.code, rows[i].code);
    }
}

/* Every prefix of a good header is refused, and so is one that claims to be longer than it is. */
static void test_cut(void)
{
    struct file  file;
    struct npy   npy;
    struct error err = {0};
    make_file(&file, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", 5);
    for (size_t length = 0; length < file.length; length++)
        CU_ASSERT_EQUAL(npy_header(file.bytes, length, &npy, &err), STATUS_INVALID);
    file.bytes[8]++;
    CU_ASSERT_EQUAL(npy_header(file.bytes, file.length, &npy, &err), STATUS_INVALID);
    make_file(&file, 3, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", 5);
    CU_ASSERT_EQUAL(npy_header(file.bytes, file.length, &npy, &err), STATUS_INVALID);
    make_file(&file, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", 4096);
    CU_ASSERT_EQUAL(npy_header(file.bytes, file.length, &npy, &err), STATUS_INVALID);
}

static void test_written(void)
{
    static const size_t sizes[][2] = {{3, 2}, {1, 1}, {1000000, 1024}, {999999999999, 999999999999}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned char header[128];
        struct npy    npy;
        struct error  err = {0};
        size_t        length = npy_write_header(sizes[i][0], sizes[i][1], (enum npy_type)i, header);
        CU_ASSERT_EQUAL(length % 64, 0);
        CU_ASSERT_EQUAL(header[length - 1], '\n');
        CU_ASSERT_EQUAL_FATAL(npy_header(header, length, &npy, &err), STATUS_OK);
        CU_ASSERT(npy.rows == sizes[i][0] && npy.columns == sizes[i][1] && npy.type == (enum npy_type)i);
        CU_ASSERT_EQUAL(npy.data_offset, length);
    }
}

CU_TestInfo suite_npy[] = {
    {"accepted", test_accepted}, {"refused", test_refused}, {"cut", test_cut},
    {"written", test_written},   CU_TEST_INFO_NULL,
};
