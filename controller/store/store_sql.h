/* SPDX-License-Identifier: Apache-2.0 */
/* What store*.c share: the open store, its statements (sql/, db.h), and lists of their rows. */
#pragma once

#include <sqlite3.h>

#include "controller/store/db.h"
#include "controller/store/store.h"
#include "controller/store/store_sums.h"

struct store {
	sqlite3 *file; /* for who opens, copies and restores it; all else asks `db` */
	struct db *db;
	bool open_transaction;
	struct sums *sums;
	struct sums_note note; /* of the last commit */
	uint64_t last_report;  /* the highest number of one, in the open transaction too */
	struct store_health health;
	struct backup *backup;	   /* of store_backup.c, or NULL */
	uint64_t incident_changes; /* counts up with each */
	struct store_watch *watch; /* of store_fleet.c, or NULL */
};

/* A batch that only reads. */
static inline struct db_batch store_ask(struct store *s, struct err *err)
{
	return db_batch(s->db, err);
}

/* A batch in the transaction that store_commit() ends: it begins here unless it is open. */
struct db_batch store_write(struct store *s, struct err *err);

/* The items of a report at `v`, texts in `pool`; leaves room for `more` beyond them. */
int store_read_items(struct store *s, int64_t report, size_t more, struct pool *pool,
		     struct verdict *v, struct err *err);

/* Values as the API gives them. New references. */
json_t *store_json_text(const char *text); /* null for NULL */
json_t *store_json_level(int64_t level);

/* A value of an enum, and the last of it for what this program does not know. */
int store_within(int64_t value, int most);

/*
 * Rows that become the items of a page. The query has one row more than the page, and the first
 * member of its rows is where the next page begins after: a number, or a name.
 */
struct listing {
	json_t *(*item)(const void *row, uint64_t now_us);
	size_t limit;
	bool by_name;
	uint64_t now_us; /* for `item` */
	json_t *items;	 /* these are of listing_row() */
	char *next;
	bool more;
};

/* The db_row_fn of a struct listing. */
int listing_row(void *context, const void *row);

/* The page, or the error of the batch. Nothing is left in the listing. */
int listing_end(struct listing *list, const struct db_batch *b, struct store_page *ret);

/* A cursor that counts; the largest number when it says nothing. */
int64_t store_cursor_number(const struct store_range *range);

/*
 * What each reference said of an item as one number: known_by and low_by, 8 bits each, usual (2
 * bits), impossible (1), and one bit that says that all of it is there.
 */
struct verdict_item;
int64_t store_facts(const struct verdict_item *item);
void store_set_facts(struct verdict_item *item, int64_t facts);
