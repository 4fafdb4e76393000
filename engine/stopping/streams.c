/* See streams.h. */
#include "engine/policy/session.h"
#include "engine/stopping/streams.h"

#include <string.h>

enum status streams_open(struct streams *streams, const struct policy *policy, const struct problem *problem,
                         const struct stop_rule *rule, struct error *err)
{
    *streams = (struct streams){.policy = policy};
    TRY(session_open(policy, problem, &streams->session, err));
    enum status status = rule->guard ? session_open(policy, problem, &streams->whole, err) : STATUS_OK;
    if (status != STATUS_OK)
        streams_close(streams);
    return status;
}

static enum status tell_whole(const struct streams *streams, struct event event, bool is_whole, struct error *err)
{
    event.note_bytes = is_whole ? event.note_bytes : 0;
    event.note = is_whole ? event.note : NULL;
    return streams->policy->tell(streams->whole, &event, err);
}

/* Turns the end of a stopped trial into the value that it would probably have come to; values [2 metrics_len] room. */
static void forecast(const struct curves *curves, struct event *told, double *values)
{
    told->is_forecast = curves_forecast(curves, told->trial, &told->value, &told->sd);
    for (size_t k = 0; k < curves->metrics_len; k++) {
        double *value = &values[k], *sd = &values[curves->metrics_len + k];
        told->is_forecast = told->is_forecast && curves_forecast(&curves->of[k], told->trial, value, sd);
        told->values = values;
    }
    told->kind = told->is_forecast ? EVENT_OBSERVED : EVENT_ABANDONED;
}

enum status streams_tell(const struct streams *streams, const struct curves *curves, const struct event *event,
                         struct error *err)
{
    struct event told = *event;
    double       values[2 * METRICS_MAX];
    bool         judges = streams->policy->judge != NULL, is_whole = curve_note_is_whole(event);
    if ((event->kind == EVENT_MEASURED || event->kind == EVENT_HANDED_OVER) && !judges)
        return STATUS_OK;
    if (is_whole) {
        told.note = (const unsigned char *)event->note + sizeof CURVE_NOTE_WHOLE;
        told.note_bytes -= sizeof CURVE_NOTE_WHOLE;
    }
    if (streams->whole != NULL)
        TRY(tell_whole(streams, told, is_whole, err));
    told.note_bytes = is_whole ? 0 : told.note_bytes;
    told.note = is_whole ? NULL : told.note;
    if (event->kind == EVENT_STOPPED && !judges)
        forecast(curves, &told, values);
    return streams->policy->tell(streams->session, &told, err);
}

_Static_assert(sizeof CURVE_NOTE_WHOLE <= POLICY_NOTE_MARK, "a note has room for the mark");

enum status streams_ask(const struct streams *streams, const struct stop_rule *rule, const struct curves *curves,
                        const struct ask *ask, struct proposal *out, struct error *err)
{
    bool is_whole = streams->whole != NULL && stop_rule_is_due(rule, curves);
    TRY(streams->policy->ask(is_whole ? streams->whole : streams->session, ask, out, err));
    if (!is_whole)
        return STATUS_OK;
    memmove(out->note + sizeof CURVE_NOTE_WHOLE, out->note, out->note_bytes);
    memcpy(out->note, CURVE_NOTE_WHOLE, sizeof CURVE_NOTE_WHOLE);
    out->note_bytes += sizeof CURVE_NOTE_WHOLE;
    return STATUS_OK;
}

bool streams_read_transfer(const struct policy *policy, const void *note, size_t note_bytes, struct transfer_state *out)
{
    size_t mark = curve_note_mark(note, note_bytes);
    return policy->read_transfer(mark == 0 ? note : (const unsigned char *)note + mark, note_bytes - mark, out);
}

size_t streams_bytes(const struct streams *streams)
{
    size_t whole = streams->whole == NULL ? 0 : session_bytes(streams->whole);
    return streams->session == NULL ? 0 : session_bytes(streams->session) + whole;
}

void streams_close(struct streams *streams)
{
    if (streams->session != NULL)
        session_close(streams->session);
    if (streams->whole != NULL)
        session_close(streams->whole);
    streams->session = streams->whole = NULL;
}
