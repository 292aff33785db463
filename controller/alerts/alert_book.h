/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one Alertmanager is told. A row is an alert that it may have, by its labels: made before
 * it is told of for the first time, and gone when it was told that it is over; kept in the store
 * between (store_alerts.h). So nothing waits in a queue: what is to be said follows from what is
 * so now and from the rows, however long the Alertmanager or the controller was away. Pure.
 *
 *	alert_book_meet()	what is so now
 *	alert_book_keep()	rows to be put or dropped: durable with the next commit
 *	alert_book_committed()	they are; or _failed(): they are not
 *	alert_book_take()	what to say next, one batch at a time
 *	alert_book_answer()	what came of it
 *
 * What is not durable is not told, neither that it is so nor that it is over: a controller that is
 * killed then would not know that it has to be ended, or tell it anew. One that ended before it
 * could have been told is never told.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/alerts/alert.h"
#include "lib/base/macro.h"
#include "lib/base/map.h"

enum {
	ALERT_BATCH_MAX = 128, /* alerts of one post */
};

/* What fires is said again so often, and with it what will be soon. */
#define ALERT_REPEAT_US USEC_PER_MIN
#define ALERT_REPEAT_EARLY_US (45 * USEC_PER_SEC)
/* What the Alertmanager does not take alone is tried again after so long. */
#define ALERT_REFUSED_US (10 * USEC_PER_MIN)

enum alert_row_state {
	ALERT_ROW_NEW, /* to be put, as it is now */
	ALERT_ROW_PUT, /* not durable yet */
	ALERT_ROW_KEPT,
	ALERT_ROW_DROP,	   /* to be dropped */
	ALERT_ROW_DROPPED, /* not durable yet */
};

struct alert_row {
	char *name;	/* labels */
	char *sentence; /* as it was when it was made; owned */
	enum alert_kind kind;
	enum alert_row_state state;
	uint64_t since_us;	  /* real */
	const struct alert *open; /* of the set that was met last; NULL: not in it */
	bool ended;		  /* it is over, and that is to be told */
	bool unsure;		  /* nobody knows now whether it is so: no end of it is told */
	bool stored;		  /* the store may have it */
	bool may_know;		  /* the Alertmanager may have it, as firing */
	uint64_t told_us;	  /* monotonic: taken last as firing; 0: not since the start */
	uint64_t waits_us;	  /* monotonic: something is to be told of it since then; 0: not */
	uint64_t refused_us;	  /* monotonic */
	/* In the batch under way. */
	bool sent, sent_end, knew;
};

/* Zero it before its first use. */
struct alert_book {
	struct map map; /* of struct alert_row */
	struct alert_row *batch[ALERT_BATCH_MAX];
	size_t n;    /* of the batch under way */
	size_t most; /* of the next one; 0: ALERT_BATCH_MAX */
	bool unkept; /* rows were put or dropped since the last commit */
};

/* A row as the store has it. */
void alert_book_load(struct alert_book *book, const char *labels, const char *sentence,
		     uint64_t since_us, bool ended);

/*
 * This is so now, at this time of both clocks; `set` stays borrowed until the next one is met. What
 * is not in it is over where the set knows that.
 */
void alert_book_meet(struct alert_book *book, const struct alert_set *set, uint64_t real_us,
		     uint64_t mono_us);

/* Call `keep` for each row that is to be put or dropped; a negative result ends it, and is returned. */
int alert_book_keep(struct alert_book *book,
		    int (*keep)(void *context, const struct alert_row *row), void *context);

/* They are durable; false: there were none. */
bool alert_book_committed(struct alert_book *book);
void alert_book_failed(struct alert_book *book);

/*
 * Begin a batch: `book->batch`, where `sent_end` says which are told to be over. What fires and was
 * not told since the start comes before anything else. 0: there is nothing to say now.
 */
size_t alert_book_take(struct alert_book *book, uint64_t mono_us);

enum alert_result {
	ALERT_TAKEN,
	ALERT_LOST,    /* nobody knows whether it was taken */
	ALERT_UNSENT,  /* it has not come there */
	ALERT_REFUSED, /* for what is in it */
};

/* What came of the batch; how many alerts were taken. */
size_t alert_book_answer(struct alert_book *book, enum alert_result result, uint64_t mono_us);

/* How many alerts wait to be told of, and since when the first does (0: none). */
size_t alert_book_waiting(const struct alert_book *book, uint64_t *ret_since_us);

/* Is this alert told, and not over? */
bool alert_book_tells(const struct alert_book *book, const char *labels);

void alert_book_release(struct alert_book *book);
