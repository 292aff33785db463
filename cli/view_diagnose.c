/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl diagnose: fetches what would be done, and asks for confirmation before doing it. */
#include <errno.h>
#include <stdlib.h>

#include "cli/act.h"
#include "cli/command.h"
#include "cli/confirm.h"
#include "cli/job_name.h"
#include "cli/job_words.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"

static json_t *body_of(const struct request *request, bool plan)
{
	const char *by = act_login_name();
	json_t *body = json_pack("{s:s, s:s*}", "reason", request->settings.reason, "by", by);

	if (plan)
		(void)json_object_set_new(body, "plan", json_true());
	return body;
}

static bool says_yes(const json_t *plan)
{
	CLEANUP(freep)
	char *question =
		xasprintf("%stests %.0f hosts.",
			  json_is_true(json_object_get(plan, "stops")) ? "stops the job, " : "",
			  number_at(plan, "tests"));

	return confirm(question, false);
}

static int order(struct link *link, const char *path, const struct request *request, bool plan,
		 json_t **ret, struct err *err)
{ /* lint: allow parameters: whom is asked for what, and what comes of it */
	CLEANUP(json_freep) json_t *body = body_of(request, plan);
	int r = link_post(link, path, body, ret, err);

	return job_name_explain(r, err);
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	CLEANUP(freep) char *id = NULL;
	CLEANUP(freep) char *segment = NULL;
	CLEANUP(freep) char *path = NULL;
	CLEANUP(json_freep) json_t *plan = NULL;
	int r = job_name_resolve(link, request->settings.job, &id, err);

	if (r < 0)
		return r;
	segment = link_segment(id);
	path = xasprintf("/v1/jobs/%s/diagnose", segment);
	r = order(link, path, request, true, &plan, err);
	if (r == 0 && !streq(raw_at(plan, "mode"), "enforce")) {
		ret->document = TAKE(plan);
		return 0;
	}
	if (r == 0 && !request->settings.yes && !says_yes(plan))
		return err_set(err, EPERM, "nothing was started: answer y, or give --yes");
	link_begin(link); /* the confirmation may have taken any time */
	return r == 0 ? order(link, path, request, false, &ret->document, err) : r;
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	const json_t *plan = picture->document;
	CLEANUP(freep) char *sentence = text_at(plan, "sentence");
	CLEANUP(freep) char *id = job_words_count(plan, "id");

	if (!json_is_integer(json_object_get(plan, "id")))
		return TAKE(sentence);
	return xasprintf("investigation %s: %s; follow it with `assayctl investigation %s "
			 "--watch`",
			 id, sentence, id);
}

static void show(const struct picture *picture, struct page *page)
{
	const json_t *hosts = json_object_get(picture->document, "hosts");
	CLEANUP(json_freep) json_t *busy = json_array();
	CLEANUP(json_freep) json_t *idle = json_array();
	CLEANUP(freep) char *busy_words = NULL;
	CLEANUP(freep) char *idle_words = NULL;
	size_t i;

	for (i = 0; i < json_array_size(hosts); i++) {
		const json_t *host = json_array_get(hosts, i);

		(void)json_array_append(json_is_true(json_object_get(host, "idle")) ? idle : busy,
					json_object_get(host, "node"));
	}
	busy_words = job_words_hosts(busy);
	idle_words = job_words_hosts(idle);
	if (json_array_size(busy) > 0)
		job_words_put(page, "busy", busy_words, TABLE_NONE);
	if (json_array_size(idle) > 0)
		job_words_put(page, "idle", idle_words, TABLE_NONE);
}

const struct view view_diagnose = { fetch, summary, show, NULL };
