/* The space has a table; a size is a number (square) or a pair. */
#include "service/codec/codec_image.h"

#include "service/member/codec_write.h"

#include <math.h>
#include <stddef.h>

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

static enum status read_latents(struct reading *in, const struct member *member, const json_t *json, const char *where,
                                void *out)
{
    struct space *space = out;
    char          path[CODEC_PATH_MAX];
    TRY(codec_read_list(in, json, where, (size_t)member->min, (size_t)member->max));
    struct latent *latents = ARENA_NEW(in->arena, struct latent, json_array_size(json));
    if (latents == NULL)
        return error_no_memory(in->err);
    for (size_t i = 0; i < json_array_size(json); i++) {
        codec_read_path_item(path, where, i);
        TRY(read_latent(in, json_array_get(json, i), path, &latents[i]));
    }
    space->latents = latents;
    space->latents_len = json_array_size(json);
    return STATUS_OK;
}

static json_t *write_latents(const struct writing *out, const struct member *member)
{
    const struct space *space = out->from;
    json_t             *array = json_array();
    (void)member;
    for (size_t i = 0; i < space->latents_len; i++) {
        json_int_t height = (json_int_t)space->latents[i].height, width = (json_int_t)space->latents[i].width;
        codec_append(&array, height == width ? json_integer(height) : json_pack("[I, I]", height, width));
    }
    return array;
}

static const char *const   image_names[] = {"image", NULL};
static const struct member image_members[] = {
    {.name = "type", .required = true, .read = codec_read_known, .write = codec_write_word, .names = image_names},
    {AT(space, height), .required = true, .read = codec_read_integer, .min = 1, .max = SPACE_IMAGE_MAX},
    {AT(space, width), .required = true, .read = codec_read_integer, .min = 1, .max = SPACE_IMAGE_MAX},
    {AT(space, channels), .read = codec_read_integer, .min = 1, .max = SPACE_IMAGE_MAX},
    {AT(space, bound), .required = true, .read = codec_read_number, .min = -INFINITY, .max = INFINITY},
    {.name = "latent_sizes", .read = read_latents, .write = write_latents, .min = 1, .max = SPACE_LATENTS_MAX},
    {.name = NULL},
};

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
    struct space *space = &spec->space;
    space->kind = SPACE_IMAGE;
    space->channels = 1;
    TRY(codec_read_object(in, image_members, json, where, space));
    if (space->latents == NULL && space->height > 0 && space->width > 0 && space->channels > 0)
        TRY(default_latents(in, space));
    return space_init(space, in->err);
}

json_t *codec_image_space_json(const struct spec *spec)
{
    return codec_write(image_members, &(struct writing){.from = &spec->space});
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
    return codec_numbers(point, space_point_len(&spec->space));
}
