/* The space has a table; a size is a number (square) or a pair. */
#include "service/codec/codec_image.h"

#include "service/member/codec.h"

#include <math.h>
#include <stddef.h>

struct image_form {
    int64_t       height, width, channels;
    double        bound;
    const json_t *type, *latent_sizes;
};
#define SIDE_MEMBER(member)                                                                                    \
    {                                                                                                          \
        AT(image_form, member), .required = true, .read = codec_read_integer, .min = 1, .max = SPACE_IMAGE_MAX \
    }
static const struct member image_members[] = {
    {AT(image_form, type), .required = true, .read = codec_read_kept},
    SIDE_MEMBER(height),
    SIDE_MEMBER(width),
    {AT(image_form, channels), .read = codec_read_integer, .min = 1, .max = SPACE_IMAGE_MAX},
    {AT(image_form, bound), .required = true, .read = codec_read_number, .min = -INFINITY, .max = INFINITY},
    {AT(image_form, latent_sizes), .read = codec_read_kept},
    {.name = NULL},
};

static enum status read_side(struct reading *in, const json_t *json, const char *where, size_t *out)
{
    double side;
    if (!codec_read_is_integral(json, &side))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where,
                         "must be a positive integer, or height and width as two of them");
    if (side < 1 || side > SPACE_IMAGE_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must be within [1, %d]", SPACE_IMAGE_MAX);
    *out = (size_t)side;
    return STATUS_OK;
}

static enum status read_latent(struct reading *in, const json_t *json, const char *where, struct latent *out)
{
    bool is_pair = json_is_array(json) && json_array_size(json) == 2;
    TRY(read_side(in, is_pair ? json_array_get(json, 0) : json, where, &out->height));
    return read_side(in, is_pair ? json_array_get(json, 1) : json, where, &out->width);
}

static enum status read_latents(struct reading *in, const json_t *json, const char *where, struct space *space)
{
    char   path[CODEC_PATH_MAX];
    size_t len = json_array_size(json);
    if (!json_is_array(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an array");
    if (len < 1 || len > SPACE_LATENTS_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "must have 1 to %d items", SPACE_LATENTS_MAX);
    struct latent *latents = ARENA_NEW(in->arena, struct latent, len);
    if (latents == NULL)
        return error_no_memory(in->err);
    for (size_t i = 0; i < len; i++) {
        codec_read_path_item(path, where, i);
        TRY(read_latent(in, json_array_get(json, i), path, &latents[i]));
    }
    space->latents = latents;
    space->latents_len = len;
    return STATUS_OK;
}

/* The sizes that were measured with images of 28 x 28, 6 to 18 of a side, as shares of this one; all of them smaller where
 * the largest would have too many numbers. */
static enum status default_latents(struct reading *in, struct space *space)
{
    enum { LEAST = 6, MOST = 18, STEP = 2, OF = 28, LEN = (MOST - LEAST) / STEP + 1 };
    double         height = (double)space->height / OF, width = (double)space->width / OF;
    double         room = SPACE_LATENT_MAX / ((double)space->channels * height * width * MOST * MOST);
    double         shrink = room < 1 ? sqrt(room) : 1, most = SPACE_LATENT_MAX / (double)space->channels;
    struct latent *latents = ARENA_NEW(in->arena, struct latent, LEN), last = {0};
    if (latents == NULL)
        return error_no_memory(in->err);
    space->latents = latents;
    space->latents_len = 0;
    for (int side = LEAST; side <= MOST; side += STEP) {
        double        tall = fmax(1, floor(fmin(side * shrink * height, most)));
        double        wide = fmax(1, floor(fmin(side * shrink * width, most / tall)));
        struct latent size = {.height = (size_t)tall, .width = (size_t)wide};
        if (size.height != last.height || size.width != last.width)
            latents[space->latents_len++] = last = size;
    }
    return STATUS_OK;
}

enum status codec_image_space(struct reading *in, const json_t *json, const char *where, struct spec *spec)
{
    struct image_form form = {.channels = 1};
    char              path[CODEC_PATH_MAX];
    TRY(codec_read_object(in, image_members, json, where, &form));
    spec->space.kind = SPACE_IMAGE;
    spec->space.height = (size_t)form.height;
    spec->space.width = (size_t)form.width;
    spec->space.channels = (size_t)form.channels;
    spec->space.bound = form.bound;
    codec_read_path(path, where, "latent_sizes");
    if (form.latent_sizes != NULL)
        TRY(read_latents(in, form.latent_sizes, path, &spec->space));
    if (form.latent_sizes == NULL && spec->space.height > 0 && spec->space.width > 0 && spec->space.channels > 0)
        TRY(default_latents(in, &spec->space));
    return space_init(&spec->space, in->err);
}

static json_t *latents_json(const struct space *space)
{
    json_t *array = json_array();
    for (size_t i = 0; i < space->latents_len && array != NULL; i++) {
        json_int_t height = (json_int_t)space->latents[i].height, width = (json_int_t)space->latents[i].width;
        json_t    *item = height == width ? json_integer(height) : json_pack("[I, I]", height, width);
        if (json_array_append_new(array, item) != 0)
            json_decref(array), array = NULL;
    }
    return array;
}

json_t *codec_image_space_json(const struct spec *spec)
{
    const struct space *space = &spec->space;
    return json_pack("{s:s, s:I, s:I, s:I, s:o, s:o}", "type", "image", "height", (json_int_t)space->height, "width",
                     (json_int_t)space->width, "channels", (json_int_t)space->channels, "bound",
                     codec_number(space->bound), "latent_sizes", latents_json(space));
}

enum status codec_image_check(const struct spec *spec, const json_t *json, const char *where, struct error *err)
{
    size_t len = space_point_len(&spec->space);
    if (!json_is_array(json))
        return error_set(err, STATUS_INVALID, "wrong_type", where, "must be an array of numbers");
    if (json_array_size(json) != len)
        return error_set(err, STATUS_INVALID, "wrong_shape", where,
                         "must have %zu numbers: %zu rows of %zu pixels of %zu channels", len, spec->space.height,
                         spec->space.width, spec->space.channels);
    return STATUS_OK;
}

enum status codec_image_point(const struct spec *spec, const json_t *json, const char *where, double *point,
                              struct error *err)
{
    char path[CODEC_PATH_MAX];
    TRY(codec_image_check(spec, json, where, err));
    for (size_t i = 0; i < space_point_len(&spec->space); i++) {
        bool is_number = codec_read_is_finite(json_array_get(json, i), &point[i]);
        if (is_number && fabs(point[i]) <= spec->space.bound)
            continue;
        codec_read_path_item(path, where, i);
        if (!is_number)
            return error_set(err, STATUS_INVALID, "wrong_type", path, "must be a number");
        return error_set(err, STATUS_INVALID, "out_of_range", path, "must be within [%.16g, %.16g]", -spec->space.bound,
                         spec->space.bound);
    }
    return STATUS_OK;
}

json_t *codec_image_point_json(const struct spec *spec, const double *point)
{
    json_t *array = json_array();
    for (size_t i = 0; i < space_point_len(&spec->space) && array != NULL; i++)
        if (json_array_append_new(array, codec_number(point[i])) != 0)
            json_decref(array), array = NULL;
    return array;
}
