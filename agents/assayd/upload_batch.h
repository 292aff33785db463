/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What leaves in one call: a report as it is, or the next few of the spool as
 * lines. Many share one commit of the controller, so that days of a spool
 * leave in seconds and still in order.
 */
#pragma once

#include <stdint.h>

#include "agents/assayd/report_age.h"
#include "lib/base/macro.h"

struct err;

enum {
	UPLOAD_BATCH_REPORTS_MAX = 64,	      /* the controller takes as many in one call */
	UPLOAD_BATCH_BYTES_MAX = 1024 * 1024, /* before packing; a larger report leaves alone */
	UPLOAD_BATCH_AGE_SIZE = 32 * UPLOAD_BATCH_REPORTS_MAX,
};

struct upload_batch {
	uint64_t seqs[UPLOAD_BATCH_REPORTS_MAX]; /* ascending */
	size_t n;				 /* 0: nothing to send */
	size_t looked_at;			 /* how many of those given; some may have gone */
	char *body;				 /* owned */
	size_t body_len;
	bool packed;			 /* by gzip */
	char age[UPLOAD_BATCH_AGE_SIZE]; /* header: how old each is at this moment; it may have
				      waited for days */
	char time[REPORT_AGE_SIZE];	 /* header: this host's clock */
};

/*
 * Fill `p` (empty) from the spool with the first of `seqs` (`n` >= 1); one
 * alone unless `many`. What is no report is set aside with a line in the log.
 * Negative when the next one cannot be read now.
 */
int upload_batch_fill(struct upload_batch *p, const uint64_t *seqs, size_t n, bool many,
		      struct err *err);
void upload_batch_release(struct upload_batch *p);
