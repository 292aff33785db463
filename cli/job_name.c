/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/job_name.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cli/link.h"
#include "cli/near.h"
#include "cli/view.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum { SHOWN_MAX = 6 }; /* jobs of the same name that are listed */

int job_name_explain(int r, struct err *err)
{
	if (r != -ENOENT)
		return r;
	return err_set(err, EPROTONOSUPPORT, "this controller is too old: it does not know jobs");
}

static bool is_id(const char *text)
{
	return text[0] == 'j' && text[1] && text[1 + strspn(text + 1, "0123456789")] == '\0';
}

/* "j12 (16 hosts, run 1), j19 (8 hosts, run 3)". The caller frees it. */
static char *several(const json_t *items)
{
	size_t n = json_array_size(items), i;
	char *text = xstrdup("");

	for (i = 0; i < MIN(n, (size_t)SHOWN_MAX); i++) {
		const json_t *job = json_array_get(items, i);
		CLEANUP(freep) char *before = text;
		CLEANUP(freep) char *id = text_at(job, "id");

		text = xasprintf("%s%s%s (%.0f hosts, run %.0f)", before, i ? ", " : "", id,
				 fmax(number_at(job, "hosts"), 0), fmax(number_at(job, "run"), 0));
	}
	if (n > SHOWN_MAX) {
		CLEANUP(freep) char *before = text;

		text = xasprintf("%s and %zu more", before, n - SHOWN_MAX);
	}
	return text;
}

static int refuse(struct link *link, const char *name, struct err *err)
{
	CLEANUP(json_freep) json_t *all = NULL;
	CLEANUP(freep) char *near = NULL;
	CLEANUP(freep) char *clean = utf8_clean(name);

	if (link_list(link, "/v1/jobs", &all, NULL) < 0)
		return err_set(err, ENOENT, "unknown job '%.80s'", clean);
	near = near_names(all, "job", name);
	if (*near)
		return err_set(err, ENOENT, "unknown job '%.80s'; did you mean %s?", clean, near);
	return err_set(err, ENOENT, "unknown job '%.80s'; `assayctl jobs` lists the %zu known jobs",
		       clean, json_array_size(all));
}

int job_name_resolve(struct link *link, const char *name, char **ret_id, struct err *err)
{
	CLEANUP(freep) char *encoded = link_segment(name);
	CLEANUP(freep) char *path = xasprintf("/v1/jobs?name=%s", encoded);
	CLEANUP(json_freep) json_t *items = NULL;
	int r = job_name_explain(link_list(link, path, &items, err), err);
	size_t n = json_array_size(items);
	const char *id = raw_at(json_array_get(items, 0), "id");

	if (r < 0)
		return r;
	if (n > 1) {
		CLEANUP(freep) char *ids = several(items);
		CLEANUP(freep) char *clean = utf8_clean(name);

		return err_set(err, EINVAL, "%zu jobs are called '%.80s': %s; give the id instead",
			       n, clean, ids);
	}
	if (n == 0 && !is_id(name))
		return refuse(link, name, err);
	if (n == 1 && !*id)
		return err_set(err, EBADMSG, "the job has no id; is this a controller?");
	*ret_id = xstrdup(n == 1 ? id : name);
	return 0;
}
