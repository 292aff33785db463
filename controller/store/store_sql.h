/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by store*.c: the open store, its statements (sql/, db.h), and lists of rows. */
#pragma once

#include <sqlite3.h>

#include "controller/store/db.h"
#include "controller/store/store.h"
#include "controller/store/store_sums.h"

struct store {
	sqlite3 *file; /* for opening, copying and restoring; all else uses `db` */
	struct db *db;
	bool open_transaction;
	struct sums *sums;
	struct sums_note note; /* of the last commit */
	uint64_t last_report;  /* highest number, including the open transaction */
	struct store_health health;
	struct backup *backup;	   /* store_backup.c; or NULL */
	uint64_t incident_changes; /* incremented with each */
	struct store_watch *watch; /* store_fleet.c; or NULL */
};

/* A batch that only reads. */
static inline struct db_batch store_ask(struct store *s, struct err *err)
{
	return db_batch(s->db, err);
}

/* A batch in the transaction that store_commit() ends, which is begun if none is open. */
struct db_batch store_write(struct store *s, struct err *err);

/* Append the items of a report to `v`, texts in `pool`, with room for `more` after them. */
int store_read_items(struct store *s, int64_t report, size_t more, struct pool *pool,
		     struct verdict *v, struct err *err);

/* Values as in the API. New references. */
json_t *store_json_text(const char *text); /* null for NULL */
json_t *store_json_level(int64_t level);

/* The enum value, or the last one if this program does not know it. */
int store_within(int64_t value, int most);

/*
 * Converts rows to the items of a page. The query returns one row more than the page; the first
 * member of a row (number or name) is the cursor for the next page.
 */
struct listing {
	json_t *(*item)(const void *row, uint64_t now_us);
	size_t limit;
	bool by_name;
	uint64_t now_us; /* for `item` */
	json_t *items;	 /* set by listing_row() */
	char *next;
	bool more;
};

/* The db_row_fn of a struct listing. */
int listing_row(void *context, const void *row);

/* Returns the page, or the error of the batch. The listing is empty afterwards. */
int listing_end(struct listing *list, const struct db_batch *b, struct store_page *ret);

/* A numeric cursor; the largest number if there is none. */
int64_t store_cursor_number(const struct store_range *range);

/*
 * Results of the references for an item, packed into a number: known_by and low_by, 8 bits each,
 * usual (2 bits), impossible (1), and a bit that marks them as present.
 */
struct verdict_item;
int64_t store_facts(const struct verdict_item *item);
void store_set_facts(struct verdict_item *item, int64_t facts);
