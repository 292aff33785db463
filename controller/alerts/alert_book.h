/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of the alerts at one Alertmanager. A row is an alert that it may have, by labels: created
 * before it is sent for the first time, and deleted after its end was sent; stored in between
 * (store_alerts.h). So there is no queue: what has to be sent follows from the current alerts and
 * the rows, however long the Alertmanager or the controller was away. Pure.
 *
 *   alert_book_meet()       current alerts
 *   alert_book_keep()       rows to store or delete: durable with the next commit
 *   alert_book_committed()  they are; or _failed(): they are not
 *   alert_book_take()       what to send next, one batch at a time
 *   alert_book_answer()     the result
 *
 * Neither begin nor end of an alert is sent before it is durable: after a kill the controller would
 * not know that it has to be ended, or would send it anew. An alert that ended before it could be
 * sent is never sent.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/alerts/alert.h"
#include "lib/base/macro.h"
#include "lib/base/map.h"

enum {
	ALERT_BATCH_MAX = 128, /* alerts per post */
};

/* Interval of repeating firing alerts, including those that are due soon. */
#define ALERT_REPEAT_US USEC_PER_MIN
#define ALERT_REPEAT_EARLY_US (45 * USEC_PER_SEC)
/* Retry interval for an alert that the Alertmanager refuses. */
#define ALERT_REFUSED_US (10 * USEC_PER_MIN)

enum alert_row_state {
	ALERT_ROW_NEW, /* to be stored, in its current state */
	ALERT_ROW_PUT, /* not durable yet */
	ALERT_ROW_KEPT,
	ALERT_ROW_DROP,	   /* to be deleted */
	ALERT_ROW_DROPPED, /* not durable yet */
};

struct alert_row {
	char *name;	/* labels */
	char *sentence; /* when it was created; owned */
	enum alert_kind kind;
	enum alert_row_state state;
	uint64_t since_us;	  /* real */
	const struct alert *open; /* in the set last met; NULL: not in it */
	bool ended;		  /* it is over, to be sent */
	bool unsure;		  /* unknown whether it is over: do not send an end */
	bool stored;		  /* it may be in the store */
	bool may_know;		  /* the Alertmanager may have it as firing */
	uint64_t told_us;	  /* monotonic: last accepted as firing; 0: not since the start */
	uint64_t waits_us;	  /* monotonic: waits to be sent since then; 0: no */
	uint64_t refused_us;	  /* monotonic */
	/* In the batch in flight. */
	bool sent, sent_end, knew;
};

/* Zero it before first use. */
struct alert_book {
	struct map map; /* struct alert_row */
	struct alert_row *batch[ALERT_BATCH_MAX];
	size_t n;    /* size of the batch in flight */
	size_t most; /* limit of the next one; 0: ALERT_BATCH_MAX */
	bool unkept; /* rows were stored or deleted since the last commit */
};

/* Load a row from the store. */
void alert_book_load(struct alert_book *book, const char *labels, const char *sentence,
		     uint64_t since_us, bool ended);

/*
 * The current alerts, at this time of both clocks; `set` is borrowed until the next call. Missing
 * alerts are over if the set knows their kind.
 */
void alert_book_meet(struct alert_book *book, const struct alert_set *set, uint64_t real_us,
		     uint64_t mono_us);

/* Call `keep` for each row to store or delete; a negative result stops and is returned. */
int alert_book_keep(struct alert_book *book,
		    int (*keep)(void *context, const struct alert_row *row), void *context);

/* They are durable; returns false if there were none. */
bool alert_book_committed(struct alert_book *book);
void alert_book_failed(struct alert_book *book);

/*
 * Begin a batch: `book->batch`, where `sent_end` marks ends. Alerts not sent since the start come
 * first. Returns 0 if there is nothing to send now.
 */
size_t alert_book_take(struct alert_book *book, uint64_t mono_us);

enum alert_result {
	ALERT_TAKEN,
	ALERT_LOST,    /* unknown whether it was accepted */
	ALERT_UNSENT,  /* it did not arrive */
	ALERT_REFUSED, /* because of its content */
};

/* Result of the batch. Returns how many alerts were accepted. */
size_t alert_book_answer(struct alert_book *book, enum alert_result result, uint64_t mono_us);

/* Number of alerts waiting to be sent, and since when the first does (0: none). */
size_t alert_book_waiting(const struct alert_book *book, uint64_t *ret_since_us);

/* Is this alert firing there? */
bool alert_book_tells(const struct alert_book *book, const char *labels);

void alert_book_release(struct alert_book *book);
