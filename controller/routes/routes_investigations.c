/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/routes/routes_investigations.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/job/jobs.h"
#include "controller/routes/routes.h"
#include "controller/store/store.h"
#include "controller/store/store_investigations.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

void routes_investigations_list(void *context, struct call *call)
{
	struct service *s = context;
	struct store_page page = { 0 };
	struct store_range range;
	struct err err = ERR_INIT;
	int r;

	if (!routes_range_of(call, CURSOR_NUMBER, &range))
		return;
	r = store_investigations(s->store, &range, &page, &err);
	if (r < 0)
		refuse_store(call, r, &err);
	else
		reply_page(call, &page);
}

void routes_investigations_show(void *context, struct call *call)
{
	struct service *s = context;
	json_t *investigation = NULL;
	struct err err = ERR_INIT;
	int64_t id;
	int r = routes_number(call, "investigation", &id, &err);

	if (r == 0)
		r = store_investigation(s->store, id, &investigation, &err);
	if (r < 0)
		refuse_store(call, r, &err);
	else
		call_reply(call, 200, investigation);
}

/* --- withdrawing --- */

/* What remains afterwards: hosts out of service, which need an order of their own. */
static json_t *cordoned_of(const json_t *investigation)
{
	const json_t *hosts = json_object_get(investigation, "hosts");
	json_t *names = json_array();
	size_t i;

	for (i = 0; i < json_array_size(hosts); i++) {
		const json_t *host = json_array_get(hosts, i);

		if (streq(json_string_value(json_object_get(host, "state")),
			  investigation_state_names[INVESTIGATION_CORDONED]))
			(void)json_array_append(names, json_object_get(host, "node"));
	}
	return names;
}

static json_t *answer_of(int64_t id, bool again, const json_t *investigation)
{
	CLEANUP(json_freep) json_t *cordoned = cordoned_of(investigation);
	const char *first = json_string_value(json_array_get(cordoned, 0));
	const char *said = json_string_value(json_object_get(investigation, "sentence"));
	CLEANUP(freep)
	char *stays = first ? xasprintf("; %s stays cordoned until assayctl uncordon", first)
			    : xstrdup("");

	return json_pack("{s:o, s:o}", "id", json_sprintf("%" PRId64, id), "sentence",
			 json_sprintf("investigation %" PRId64 " %s withdrawn by %s%s", id,
				      again ? "was" : "is", said ? said : "somebody", stays));
}

static void refuse(struct service *s, struct call *call, int r, const struct err *err)
{
	if (r == -EALREADY) {
		call_refuse(call, 409, "%s", err->msg);
		return;
	}
	if (r != -ENOENT && r != -EBADMSG)
		service_failed(s, err);
	refuse_store(call, r, err);
}

void routes_investigations_cancel(void *context, struct call *call)
{
	struct service *s = context;
	CLEANUP(routes_asker_release) struct routes_asker body = { 0 };
	CLEANUP(json_freep) json_t *investigation = NULL;
	CLEANUP(freep) char *who = NULL;
	CLEANUP(freep) char *reason = NULL;
	struct waiting waiting = { .call = call, .status = 200 };
	struct err err = ERR_INIT;
	int64_t id;
	int r;

	if (routes_take_no_order(s, call))
		return;
	r = routes_asker_read(call, true, &body, &err);
	if (r < 0) {
		call_refuse(call, status_of_content(r), "%s", err.msg);
		return;
	}
	who = operator_name(call_identity(call), body.by);
	reason = utf8_clean(body.reason);
	r = routes_number(call, "investigation", &id, &err);
	if (r == 0)
		r = jobs_cancel_investigation(s, id, who, reason, &investigation, &err);
	if (r < 0) {
		refuse(s, call, r, &err);
		return;
	}
	waiting.answer = answer_of(id, r == 1, investigation);
	service_wait(s, &waiting);
}
