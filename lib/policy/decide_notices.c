/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/decide_notices.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/policy/decide_inside.h"

enum { NOTICES_MAX = 1024 }; /* further ones are not reported; nobody is blamed for them either */

const char *const notice_kind_names[] = {
	[NOTICE_FLEET] = "fleet",
	[NOTICE_DOMAIN] = "domain",
	[NOTICE_SETTING] = "setting",
	[NOTICE_JOB] = "job",
	NULL,
};

struct notice *decide_notices_find(const struct fleet *f, int kind, const char *key)
{
	size_t i;

	for (i = 0; i < f->n_notices; i++) {
		if (f->notices[i].kind == kind && streq(f->notices[i].key, key))
			return &f->notices[i];
	}
	return NULL;
}

struct notice *decide_notices_need(struct deciding *d, int kind, const char *key, size_t hosts)
{
	struct fleet *f = d->fleet;
	struct notice *notice = decide_notices_find(f, kind, key);

	if (notice)
		return notice;
	if (f->n_notices == NOTICES_MAX)
		return NULL;
	f->notices = xrealloc(f->notices, f->n_notices + 1, sizeof(*f->notices));
	notice = &f->notices[f->n_notices++];
	*notice = (struct notice){ .kind = kind,
				   .key = xstrdup(key),
				   .since_us = d->now_us,
				   .begun = true,
				   .ends_below = (hosts + 1) / 2 };
	return notice;
}

void decide_notices_say(struct notice *notice, size_t hosts, size_t of, char *sentence)
{
	if (!notice) {
		free(sentence);
		return;
	}
	free(notice->sentence);
	notice->sentence = sentence;
	notice->hosts = hosts;
	notice->of = of;
	notice->stands = true;
}

/* Ended notices are reported once and removed by the next call. */
void decide_notices_begin(struct fleet *f)
{
	size_t i, n = 0;

	for (i = 0; i < f->n_notices; i++) {
		struct notice *notice = &f->notices[i];

		if (notice->ended_us > 0) {
			free(notice->key);
			free(notice->sentence);
			continue;
		}
		notice->begun = notice->stands = false;
		f->notices[n++] = *notice;
	}
	f->n_notices = n;
}

void decide_notices_end(struct deciding *d)
{
	size_t i;

	for (i = 0; i < d->fleet->n_notices; i++) {
		if (!d->fleet->notices[i].stands)
			d->fleet->notices[i].ended_us = d->now_us;
	}
}
