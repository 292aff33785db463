/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/ingest/ingest.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/report/node_name.h"

static bool time_ok(const char *time)
{
	uint64_t real_us;

	return clock_parse_stamp(time, &real_us) == 0;
}

/* May be missing or null: unknown. */
static bool object_or_none(const json_t *value)
{
	return !value || json_is_object(value) || json_is_null(value);
}

/* Checks beyond the JSON tables that the sender can fix. */
static int check_meaning(const struct report *report, struct err *err)
{
	const struct {
		const char *key;
		bool ok;
		const char *want;
	} rows[] = {
		{ "node", node_name_ok(report->node),
		  "expected a host name of letters, digits, '.', '-', '_'" },
		{ "boot_id", node_name_letters_ok(report->boot_id, BOOT_ID_MAX),
		  "expected the host's boot ID, such as d1f6c2f0-..." },
		{ "seq", report->seq >= 1 && report->seq <= INT64_MAX, "expected a number from 1" },
		{ "profile", node_name_letters_ok(report->profile, PROFILE_NAME_MAX),
		  "expected the name of a profile" },
		{ "time", time_ok(report->time), "expected UTC as 2026-11-22T12:00:00.000Z" },
		{ "env", object_or_none(report->env), "expected an object of strings" },
		{ "order", object_or_none(report->order), "expected an object" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!rows[i].ok)
			return err_set(err, EINVAL, "report: %s: %s", rows[i].key, rows[i].want);
	}
	return 0;
}

static int decode_text(const char *text, size_t length, struct jmemo *memo, struct report *ret,
		       struct err *err)
{
	struct report report = { 0 };
	int r = report_read(text, length, memo, &report, err);

	if (r == 0)
		r = check_meaning(&report, err);
	if (r < 0)
		report_release(&report);
	else
		*ret = report;
	return r;
}

/* The body to store: gzip as received, plain text compressed. */
static int choose_body(const struct packed *sent, const char *text, size_t length, struct ingest *in)
{
	if (sent->coding != PACK_PLAIN) {
		in->body = *sent;
		return 0;
	}
	return pack_close(text, length, &in->memory, &in->body);
}

int ingest_decode(const struct packed *sent, struct jmemo *memo, struct ingest *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf unpacked = STRBUF_INIT(REPORT_MAX);
	CLEANUP(ingest_release) struct ingest in = { 0 };
	const char *text = sent->bytes;
	size_t length = sent->length;
	int r = 0;

	if (sent->coding != PACK_PLAIN) {
		r = pack_open(sent, &unpacked, err);
		text = unpacked.data;
		length = unpacked.len;
	}
	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r;
	if (length == 0)
		return err_set(err, EBADMSG, "report: it is empty");
	r = decode_text(text, length, memo, &in.report, err);
	if (r == 0)
		r = choose_body(sent, text, length, &in);
	if (r == 0) {
		*ret = in;
		in = (struct ingest){ 0 };
	}
	return r;
}

void ingest_release(struct ingest *in)
{
	report_release(&in->report);
	free(in->memory);
	*in = (struct ingest){ 0 };
}
