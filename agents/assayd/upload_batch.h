/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of one upload: a single report, or the next few of the spool as lines. Many reports
 * share one commit of the controller, so a backlog of days is sent in seconds, still in order.
 */
#pragma once

#include <stdint.h>

#include "agents/assayd/report_age.h"
#include "lib/base/macro.h"

struct err;

enum {
	UPLOAD_BATCH_REPORTS_MAX = 64,	      /* the controller's limit per request */
	UPLOAD_BATCH_BYTES_MAX = 1024 * 1024, /* uncompressed; a larger report is sent alone */
	UPLOAD_BATCH_AGE_SIZE = 32 * UPLOAD_BATCH_REPORTS_MAX,
};

struct upload_batch {
	uint64_t seqs[UPLOAD_BATCH_REPORTS_MAX]; /* ascending */
	size_t n;				 /* 0: nothing to send */
	size_t looked_at;			 /* seqs consumed, including vanished reports */
	char *body;				 /* owned */
	size_t body_len;
	bool packed;			 /* by gzip */
	char age[UPLOAD_BATCH_AGE_SIZE]; /* header: present age of each report */
	char time[REPORT_AGE_SIZE];	 /* header: this host's clock */
};

/*
 * Fill `p` (empty) from the spool, starting with the first of `seqs` (`n` >= 1); only one report
 * unless `many`. Invalid files are set aside and logged. Negative if the next one cannot be read
 * now.
 */
int upload_batch_fill(struct upload_batch *p, const uint64_t *seqs, size_t n, bool many,
		      struct err *err);
void upload_batch_release(struct upload_batch *p);
