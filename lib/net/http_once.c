/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/http_once.h"

#include <stdlib.h>
#include <string.h>

#include <systemd/sd-event.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/net/http.h"

void http_once_release(struct http_once *o)
{
	free(o->why);
	free(o->body);
	free(o->wanted);
}

DEFINE_CLEANUP(struct sd_event *, sd_event_unref, event_unrefp);

/* The pending request. */
struct asking {
	struct sd_event *event;
	struct http_once *ret;
	uint64_t asked_us;
};

static void on_answer(void *context, const struct http_answer *answer)
{
	struct asking *a = context;

	*a->ret = (struct http_once){
		.r = answer->r,
		.why = xstrdup(answer->why),
		.status = answer->status,
		.body = xstrndup(answer->body, answer->len),
		.wanted = xstrdup(answer->wanted),
		.asked_us = a->asked_us,
		.answered_us = clock_real_us(),
	};
	if (answer->certificate)
		a->ret->certificate = *answer->certificate;
	(void)sd_event_exit(a->event, 0);
}

int http_once(const struct http_options *options, const struct http_call *call,
	      struct http_once *ret, struct err *err)
{
	CLEANUP(event_unrefp) struct sd_event *event = NULL;
	CLEANUP(http_freep) struct http *http = NULL;
	struct http_call what = *call;
	struct asking asking;
	int r = sd_event_new(&event);

	if (r < 0)
		return err_errno(err, -r, "cannot create an event loop");
	asking = (struct asking){ event, ret, clock_real_us() };
	what.done = on_answer;
	what.context = &asking;
	r = http_new(event, options, &http, err);
	if (r == 0)
		r = http_send(http, &what, NULL, err);
	if (r < 0)
		return r;
	r = sd_event_loop(event);
	return r < 0 ? err_errno(err, -r, "the event loop failed") : 0;
}

char *http_once_detail(const struct http_once *o)
{
	CLEANUP(json_freep) json_t *object = NULL;
	const char *detail;

	(void)json_parse(o->body, strlen(o->body), "answer", &object, NULL);
	detail = json_string_value(json_object_get(object, "detail"));
	return detail ? utf8_clean(detail) : NULL;
}
