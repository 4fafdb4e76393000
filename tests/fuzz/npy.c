/* The header of an .npy file: what is accepted has two dimensions, or is a vector, and its numbers start inside the
 * input. */
#include "service/base/npy.h"

#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct error  err;
    struct npy    npy, again;
    unsigned char header[128];
    if (npy_vector(bytes, length, &npy, &err) == STATUS_OK)
        assert(npy.rows == 1 && npy.data_offset <= length);
    else
        assert(err.status == STATUS_INVALID);
    if (npy_header(bytes, length, &npy, &err) != STATUS_OK) {
        assert(err.status == STATUS_INVALID);
        return 0;
    }
    assert(npy.rows > 0 && npy.columns > 0 && npy.data_offset <= length);
    size_t written = npy_write_header(npy.rows, npy.columns, npy.type, header);
    assert(written % 64 == 0 && written <= sizeof header);
    assert(npy_header(header, written, &again, &err) == STATUS_OK);
    assert(again.rows == npy.rows && again.columns == npy.columns && again.data_offset == written);
    assert(again.type == npy.type && npy_type_find(npy_type_name(npy.type)) == npy.type);
    return 0;
}
