/* See codec_annotations.h. */
#include "service/codec/codec_annotations.h"

#include "service/member/codec.h"
#include "service/member/codec_labels.h"
#include "service/member/codec_write.h"

#include <string.h>
#include <strings.h>

enum { ARTIFACT_NAME_MAX = 200, URL_MAX = 2000 };

/* ---- what each member may be ---- */

/* Keeps JSON as text, and nothing of an empty object or array. */
static enum status keep(const struct reading *in, const json_t *json, size_t flags, void *out)
{
    bool        is_empty = json_object_size(json) + json_array_size(json) == 0;
    const char *text = is_empty ? NULL : codec_dump_in(json, JSON_COMPACT | flags, in->arena);
    memcpy(out, &text, sizeof text);
    return is_empty || text != NULL ? STATUS_OK : error_no_memory(in->err);
}

static json_t *write_kept(const struct writing *out, const struct member *member)
{
    const char *text = *(const char *const *)codec_at(out, member);
    return codec_load(text == NULL ? member->text : text, 0);
}

/* Labels as those of studies are. */
static enum status read_tags(struct reading *in, const struct member *member, const json_t *json, const char *where,
                             void *out)
{
    TRY(codec_read_labels(in, member, json, where, out));
    return keep(in, json, JSON_SORT_KEYS, out);
}

static enum status read_metadata(struct reading *in, const struct member *member, const json_t *json, const char *where,
                                 void *out)
{
    if (!json_is_object(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an object");
    if ((double)json_dumpb(json, NULL, 0, JSON_COMPACT) > member->max)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "at most %.0f bytes as JSON", member->max);
    return keep(in, json, 0, out);
}

struct artifact {
    const char *name, *url;
};
static const struct member artifact_members[] = {
    {AT(artifact, name), .required = true, .read = codec_read_text, .min = 1, .max = ARTIFACT_NAME_MAX},
    {AT(artifact, url), .required = true, .read = codec_read_text, .min = 3, .max = URL_MAX},
    {.name = NULL},
};

/* Whether the text is a link: a scheme, and none that a page would run when the link is followed. */
static bool is_link(const char *url)
{
    static const char *const code[] = {"javascript:", "data:", "vbscript:"};
    size_t                   length = strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
    for (size_t i = 0; i < sizeof code / sizeof *code; i++)
        if (strncasecmp(url, code[i], strlen(code[i])) == 0)
            return false;
    for (const char *at = url; *at != '\0'; at++)
        if ((unsigned char)*at <= ' ')
            return false;
    return length > 0 && url[length] == ':' && url[length + 1] != '\0';
}

static enum status read_artifact(struct reading *in, const json_t *json, const char *where)
{
    struct artifact artifact;
    char            path[CODEC_PATH_MAX];
    TRY(codec_read_object(in, artifact_members, json, where, &artifact));
    codec_read_path(path, where, "url");
    return is_link(artifact.url) ? STATUS_OK
                                 : error_set(in->err, STATUS_INVALID, "bad_url", path,
                                             "must be a URL with a scheme, of something to read");
}

static enum status read_artifacts(struct reading *in, const struct member *member, const json_t *json,
                                  const char *where, void *out)
{
    enum status whole = STATUS_OK;
    char        path[CODEC_PATH_MAX];
    if (!json_is_array(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an array");
    if ((double)json_array_size(json) > member->max)
        return error_set(in->err, STATUS_INVALID, "out_of_range", where, "at most %.0f artifacts", member->max);
    for (size_t i = 0; i < json_array_size(json); i++) {
        codec_read_path_item(path, where, i);
        TRY(codec_read_on(in, read_artifact(in, json_array_get(json, i), path), &whole));
    }
    TRY(whole);
    return keep(in, json, 0, out);
}

#define CODEC_EDIT_TAGS      .read = read_tags, .write = write_kept, .text = "{}"
#define CODEC_EDIT_METADATA  .read = read_metadata, .write = write_kept, .text = "{}"
#define CODEC_EDIT_ARTIFACTS .read = read_artifacts, .write = write_kept, .text = "[]"
#define SAID(...)            CODEC_EDIT(trial_annotations, , __VA_ARGS__)
const struct member codec_annotation_members[] = {TRIAL_ANNOTATIONS(SAID){.name = NULL}};

/* Reads the members as they are shown. */
static enum status read_said(struct reading *in, const json_t *json, const char *where, struct trial_annotations *out)
{
    *out = (struct trial_annotations){TRIAL_ANNOTATIONS(NONE)};
    return json == NULL ? error_no_memory(in->err) : codec_read_object(in, codec_annotation_members, json, where, out);
}

/* Writes a patch; NULL: it is empty. */
static enum status text_of(const json_t *patch, struct arena *arena, const char **out, struct error *err)
{
    *out = json_object_size(patch) == 0 ? NULL : codec_dump_in(patch, JSON_COMPACT, arena);
    return patch == NULL || (*out == NULL && json_object_size(patch) > 0) ? error_no_memory(err) : STATUS_OK;
}

enum status codec_annotations_take(struct reading *in, const json_t *object, const char *where, const char **patch)
{
    struct trial_annotations said;
    struct arena_mark        mark = arena_mark(in->arena);
    json_t                  *taken = codec_pick(codec_annotation_members, object), *plain = NULL;
    enum status              status = taken == NULL ? error_no_memory(in->err) : STATUS_OK;
    bool                     has_any = json_object_size(taken) > 0;
    *patch = NULL;
    if (has_any) {
        plain = codec_merged(NULL, taken);
        status = read_said(in, plain, where, &said);
    }
    if (has_any && status == STATUS_OK) { // otherwise there may be problems in the arena
        arena_release(in->arena, mark);
        status = text_of(taken, in->arena, patch, in->err);
    }
    json_decref(plain);
    json_decref(taken);
    return status;
}

/* ---- merging ---- */

static bool is_nothing(const json_t *json)
{
    bool is_inside = json_is_object(json) || json_is_array(json);
    return json_is_null(json) || (is_inside && json_object_size(json) + json_array_size(json) == 0);
}

enum status codec_annotations_patch(const struct trial_annotations *said, struct arena *arena, const char **patch,
                                    struct error *err)
{
    json_t *object = codec_write(codec_annotation_members, &(struct writing){.from = said});
    for (const struct member *member = codec_annotation_members; member->name != NULL; member++)
        if (is_nothing(json_object_get(object, member->name)))
            (void)json_object_del(object, member->name);
    enum status status = text_of(object, arena, patch, err);
    json_decref(object);
    return status;
}

enum status codec_annotations_merge(struct trial_annotations *said, const char *patch, struct arena *arena,
                                    struct error *err)
{
    json_t *before = codec_write(codec_annotation_members, &(struct writing){.from = said}),
           *change = codec_load(patch, 0);
    json_t     *after = before == NULL || change == NULL ? NULL : codec_merged(before, change);
    enum status status = read_said(&(struct reading){.arena = arena, .err = err}, after, "", said);
    json_decref(before);
    json_decref(change);
    json_decref(after);
    return status;
}
