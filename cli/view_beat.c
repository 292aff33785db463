/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl job beat: reports the last step of a job to the controller. */
#include <errno.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/job_name.h"
#include "cli/job_words.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum { SECONDS_MAX = 64 }; /* the controller's limit */

/* Parse "8.3,8.2" into an array, new reference. */
static int read_seconds(const char *text, json_t **ret, struct err *err)
{
	CLEANUP(json_freep) json_t *all = json_array();
	const char *at = text;
	char *end = NULL;

	while (at && *at && json_array_size(all) < SECONDS_MAX) {
		const double seconds = strtod(at, &end);

		if (end == at || (*end && *end != ',') || !(seconds > 0))
			break;
		(void)json_array_append_new(all, json_real(seconds));
		at = *end ? end + 1 : end;
	}
	if (at && *at)
		return err_set(
			err, EINVAL,
			"--seconds: '%.40s' is not a list of step durations like 8.3,8.2, of at "
			"most %d",
			text, SECONDS_MAX);
	*ret = TAKE(all);
	return 0;
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	const struct settings *s = &request->settings;
	CLEANUP(freep) char *job = link_segment(s->job);
	CLEANUP(freep)
	char *run = s->run ? xasprintf("&run=%llu", (unsigned long long)s->run) : NULL;
	CLEANUP(freep) char *path = xasprintf("/v1/steps?job=%s%s", job, run ? run : "");
	CLEANUP(json_freep) json_t *body = NULL;
	json_t *seconds = NULL;
	int r = read_seconds(s->seconds, &seconds, err);

	if (r < 0)
		return r;
	body = json_pack("{s:I, s:o, s:f, s:b}", "step", (json_int_t)s->step, "seconds", seconds,
			 "age", s->age_s, "done", s->done);
	return job_name_explain(link_post(link, path, body, &ret->document, err), err);
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	CLEANUP(freep) char *job = text_at(picture->document, "job");
	CLEANUP(freep) char *id = text_at(picture->document, "id");
	CLEANUP(freep) char *run = job_words_count(picture->document, "run");
	CLEANUP(freep) char *step = job_words_count(picture->document, "step");

	return xasprintf("%s (%s), run %s: step %s", job, id, run, step);
}

static void show(const struct picture *picture UNUSED, struct page *page UNUSED)
{
}

const struct view view_beat = { fetch, summary, show, NULL };
