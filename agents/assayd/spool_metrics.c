/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/spool_metrics.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/run/spool.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

struct spool_now {
	uint64_t waiting, aside, lost, connected;
	uint64_t oldest_s; /* since 1970; 0: none waits */
};

struct spool_family {
	const char *name, *type, *help;
	size_t offset;
};

#define NOW(member) offsetof(struct spool_now, member)

static const struct spool_family families[] = {
	{ "assay_spool_reports", "gauge", "Reports waiting for the controller.", NOW(waiting) },
	{ "assay_spool_oldest_timestamp_seconds", "gauge",
	  "When the oldest waiting report was written, in seconds since 1970; "
	  "0 if none is waiting.",
	  NOW(oldest_s) },
	{ "assay_spool_set_aside", "gauge", "Reports in spool/bad, which the controller refused.",
	  NOW(aside) },
	{ "assay_spool_lost_total", "counter",
	  "Reports dropped because the spool or the disk was full.", NOW(lost) },
	{ "assay_agent_connected", "gauge", "1 while the controller answers.", NOW(connected) },
};

static struct spool_now look(bool connected)
{
	CLEANUP(freep) uint64_t *seqs = NULL;
	struct spool_now now = { .aside = spool_aside(),
				 .lost = spool_lost(),
				 .connected = connected };
	struct err ignored = ERR_INIT; /* the uplink reports an unreadable spool */
	size_t n = 0;

	if (spool_list(&seqs, &n, &ignored) == 0 && n > 0) {
		now.waiting = n;
		now.oldest_s = spool_written_s(seqs[0]);
	}
	return now;
}

static char *text_of(const struct spool_now *now)
{
	char *text = NULL;
	size_t length = 0, i;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return xstrdup("");
	for (i = 0; i < ARRAY_SIZE(families); i++) {
		const struct spool_family *f = &families[i];
		uint64_t value;

		memcpy(&value, (const char *)now + f->offset, sizeof(value));
		(void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", f->name, f->help,
			      f->name, f->type, f->name, value);
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return xstrdup("");
}

void spool_metrics_tell(struct spool_metrics *m, bool connected)
{
	const struct spool_now now = look(connected);
	CLEANUP(freep) char *text = text_of(&now);
	CLEANUP(freep) char *dir = paths_run();
	CLEANUP(freep) char *path = xasprintf("%s/spool.prom", dir);
	struct err err = ERR_INIT;

	if (streq(text, m->text))
		return;
	if (file_replace(AT_FDCWD, path, text, strlen(text), &err) < 0) {
		if (!m->failed)
			log_warning("%s", err.msg);
		m->failed = true;
		return;
	}
	m->failed = false;
	free(m->text);
	m->text = TAKE(text);
}

void spool_metrics_release(struct spool_metrics *m)
{
	/* The file outlives us, so do not leave it saying that we are connected. */
	if (m->text)
		spool_metrics_tell(m, false);
	free(TAKE(m->text));
}
