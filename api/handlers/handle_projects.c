/* Projects. */
#include "api/handlers/handlers.h"
#include "api/handlers/show.h"
#include "api/core/reply.h"
#include "api/core/route.h"
#include "service/app/project.h"
#include "service/base/text.h"
#include "service/member/codec_write.h"

#define GIVEN(...)  CODEC_MEMBER(project_new, , __VA_ARGS__)
#define EDITED(...) CODEC_EDIT(project_new, , __VA_ARGS__)
#define SHOWN(...)  CODEC_MEMBER(project, , __VA_ARGS__)
// clang-format off
#define LIMITED(...) CODEC_MEMBER(limits, , __VA_ARGS__)
static const struct member quota_members[] = {
    PROJECT_LIMITS(LIMITED)
    {.name = NULL},
};
#define LIMIT(column, letter, kind, shown, ...) {AS(project_new, quota.column, #shown), .read = codec_read_number, __VA_ARGS__},
static const struct member new_quota_members[] = { // an absent limit stays 0
    PROJECT_LIMITS(LIMIT)
    {.name = NULL},
};
#define NEW_QUOTA {.name = "quota", .read = codec_read_inside, .members = new_quota_members}
static const struct member usage_members[] = {
    {AT(usage, studies), .read = codec_read_integer},
    {AT(usage, trials), .read = codec_read_integer},
    {AT(usage, bytes), .read = codec_read_integer},
    {AT(usage, cpu_seconds_today), .read = codec_read_number},
    {.name = NULL},
};
static const struct member projects_post_body[] = {
    PROJECT_GIVEN(GIVEN)
    NEW_QUOTA,
    {.name = NULL},
};
static const struct member project_patch_body[] = {
    PROJECT_GIVEN(EDITED)
    NEW_QUOTA,
    {.name = NULL},
};
static const struct member project_members[] = {
    {AT(project, id), .write = codec_write_characters},
    PROJECT_GIVEN(SHOWN)
    {AT(project, quota), .read = codec_read_inside, .members = quota_members},
    {AT(project, usage), .read = codec_read_inside, .members = usage_members},
    PROJECT_KEPT(SHOWN)
    {.name = NULL},
};
// clang-format on
const struct form  form_projects_post = {.body = projects_post_body, .bytes = sizeof(struct project_new)};
const struct form  form_project_patch = {.body = project_patch_body, .bytes = sizeof(struct project_new)};
const struct shown shown_project = {.members = project_members};
const struct shown shown_projects = {.members = project_members, PAGE(project_page, projects)};

static json_t *render_project(struct call *call, const void *result)
{
    const struct project *project = result;
    call->reply.etag = reply_etag(call, project->version, 0);
    if (call->reply.http == 201)
        call->reply.location = text_format(&call->arena, "/v1/projects/%s", project->id);
    return show_as(call, &shown_project, project);
}

enum status handle_projects_post(struct call *call, struct error *err)
{
    return project_create(call->app, &call->caller, call->input, CALL_RESULT(call, struct project, 201, render_project),
                          err);
}

enum status handle_projects_get(struct call *call, struct error *err)
{
    return project_list(call->app, &call->caller, call->input, CALL_RESULT(call, struct project_page, 200, show_reply),
                        err);
}

HANDLE_SHOW(project_get, project_find, project, render_project)

enum status handle_project_patch(struct call *call, struct error *err)
{
    if (call->if_match == NULL)
        return error_set(err, STATUS_INVALID, "precondition_required", "",
                         "send the project's ETag as If-Match, so that no other edit is undone");
    return project_edit(call->app, &call->caller, call->params[0], call->input,
                        CALL_RESULT(call, struct project, 200, render_project), err);
}

HANDLE_DELETE(project_delete, project_delete)
