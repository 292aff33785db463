/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/harness/finding.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/sys/sysfs.h"

enum { NOTE_SIZE = 1024 };

static const struct probe_check *find_check(const struct probe_desc *desc, const char *name)
{
	size_t i;

	for (i = 0; i < desc->n_checks - 1 && !streq(desc->checks[i].name, name); i++)
		;
	return &desc->checks[i];
}

struct sample finding_sample(const char *check, const char *subject, double value)
{
	struct sample s = sample_init();

	s.check = xstrdup(check);
	s.subject = xstrdup(subject);
	s.value = value;
	return s;
}

void finding_fill(const struct probe_desc *desc, struct sample *s, enum finding finding,
		  const char *note_fmt, va_list args)
{
	static const int severities[] = {
		[FINDING_GOOD] = SEVERITY_FAIL, /* unused, left out */
		[FINDING_NOTE] = SEVERITY_FAIL,	  [FINDING_INFO] = SEVERITY_INFO,
		[FINDING_WARN] = SEVERITY_WARN,	  [FINDING_FAIL] = SEVERITY_FAIL,
		[FINDING_FATAL] = SEVERITY_FATAL,
	};
	const struct probe_check *check = find_check(desc, s->check);
	char note[NOTE_SIZE];

	(void)vsnprintf(note, sizeof(note), note_fmt, args);
	free(s->note);
	s->note = xstrdup(ascii_clean(note));
	s->unit = s->unit ? s->unit : xstrdup(check->unit);
	s->better = check->better;
	if (s->state != SAMPLE_MEASURED || finding == FINDING_NOTE)
		s->ok = TRI_UNKNOWN;
	else
		s->ok = finding == FINDING_GOOD ? TRI_YES : TRI_NO;
	s->severity = severities[finding];
}
