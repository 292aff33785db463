/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/upload_batch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/assayd/gzip.h"
#include "agents/run/spool.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "lib/sys/clock_pair.h"
#include "lib/sys/host.h"

/* Smaller bodies hardly compress. */
enum { GZIP_MIN = 1024 };

/* 1: read; 0: vanished or invalid; negative: not readable now. */
static int read_report(uint64_t seq, char **ret_text, size_t *ret_len, struct err *err)
{
	int r = spool_read(seq, ret_text, ret_len, err);

	if (r == -EINVAL || r == -EFBIG)
		log_error("not a report, set aside in spool/bad: %s seq=%" PRIu64, err->msg, seq);
	if (r == -ENOENT || r == -EINVAL || r == -EFBIG) {
		*err = (struct err)ERR_INIT;
		return 0;
	}
	if (r < 0)
		return r;
	while (*ret_len && strchr(" \t\r\n", (*ret_text)[*ret_len - 1]))
		(*ret_text)[--*ret_len] = '\0';
	return 1;
}

/* Is there room for it? Text of several lines is sent alone. */
static bool fits(const struct upload_batch *p, const struct strbuf *lines, const char *text,
		 size_t len)
{
	return p->n == 0 ||
	       (lines->len + len + 1 <= UPLOAD_BATCH_BYTES_MAX && !memchr(text, '\n', len));
}

/* Add a header with the first age, then append those of the others. */
static void add_age(struct upload_batch *p, const char *text, size_t len,
		    const struct clock_pair *now)
{
	char line[REPORT_AGE_SIZE];
	const size_t used = strlen(p->age);

	report_age_header(text, len, now, line);
	(void)snprintf(p->age + used, sizeof(p->age) - used, "%s%s", used ? "," : "",
		       used ? strchr(line, ' ') + 1 : line);
}

/* 1: added, and there may be more; 0: full; negative: the first cannot be read. */
static int take_next(struct upload_batch *p, struct strbuf *lines, uint64_t seq,
		     const struct clock_pair *now, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	size_t len = 0;
	int r = read_report(seq, &text, &len, err);

	if (r < 0)
		return p->n ? 0 : r;
	if (r == 1 && !fits(p, lines, text, len))
		return 0;
	p->looked_at++;
	if (r == 0)
		return 1;
	if (p->n)
		(void)strbuf_add(lines, "\n", 1);
	(void)strbuf_add(lines, text, len);
	add_age(p, text, len, now);
	p->seqs[p->n++] = seq;
	return memchr(text, '\n', len) ? 0 : 1;
}

static int pack(struct upload_batch *p, const struct strbuf *lines, struct err *err)
{
	if (!strbuf_ok(lines))
		return err_set(err, ENOMEM, "out of memory");
	p->packed = lines->len >= GZIP_MIN &&
		    gzip_pack(lines->data, lines->len, &p->body, &p->body_len) == 0;
	if (!p->packed) {
		p->body = xalloc_copy(strbuf_text(lines), lines->len);
		p->body_len = lines->len;
	}
	return 0;
}

int upload_batch_fill(struct upload_batch *p, const uint64_t *seqs, size_t n, bool many,
		      struct err *err)
{
	CLEANUP(strbuf_release)
	struct strbuf lines = STRBUF_INIT(UPLOAD_BATCH_BYTES_MAX + REPORT_MAX);
	CLEANUP(freep) char *boot_id = host_boot_id();
	const struct clock_pair now = { clock_real_us(), clock_boot_us(), boot_id };
	const size_t most = many ? UPLOAD_BATCH_REPORTS_MAX : 1;
	int r = 1;

	report_time_header(now.real_us, p->time);
	while (r == 1 && p->looked_at < n && p->n < most)
		r = take_next(p, &lines, seqs[p->looked_at], &now, err);
	if (r >= 0 && p->n)
		r = pack(p, &lines, err);
	if (r < 0) {
		upload_batch_release(p);
		return r;
	}
	return 0;
}

void upload_batch_release(struct upload_batch *p)
{
	free(p->body);
	*p = (struct upload_batch){ .n = 0 };
}
