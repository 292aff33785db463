/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store.h"

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/sys/clock_pair.h"

bool store_is_stale(uint64_t seen_us, uint64_t now_us)
{
	return (now_us > seen_us && now_us - seen_us > STORE_STALE_US) ||
	       seen_us > now_us + CLOCK_PAIR_FUTURE_US;
}

/* --- transactions --- */

struct db_batch store_write(struct store *s, struct err *err)
{
	struct db_batch b = db_batch(s->db, err);

	if (s->open_transaction)
		return b;
	db_add(&b, begin);
	s->open_transaction = db_end(&b) == 0;
	return b;
}

void store_take_back(struct store *s)
{
	struct db_batch b = db_batch(s->db, NULL);

	if (s->open_transaction)
		db_add(&b, rollback);
	s->last_report = s->note.reports;
	s->open_transaction = false;
}

int store_commit(struct store *s, struct err *err)
{
	struct db_batch b = db_batch(s->db, err);

	if (!s->open_transaction)
		return 0;
	db_add(&b, seal, .commits = s->note.commits + 1);
	db_add(&b, commit);
	if (db_end(&b) < 0) {
		store_take_back(s);
		return db_end(&b);
	}
	s->open_transaction = false;
	s->note.commits++;
	s->note.reports = s->last_report;
	sums_commit(s->sums, &s->note);
	return 0;
}

bool store_dirty(const struct store *s)
{
	return s->open_transaction;
}

/* --- persistent numbers --- */

int store_mark(struct store *s, const char *name, uint64_t *ret_value, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_mark_get_row row = { 0 };

	(void)db_one(&b, mark_get, &row, .name = name);
	if (db_end(&b) == 0)
		*ret_value = row.value;
	return db_end(&b);
}

int store_put_mark(struct store *s, const char *name, uint64_t value, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, mark_put, .name = name, .value = value);
	return db_end(&b);
}

int store_size(struct store *s, struct store_size *ret, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_pages_row pages = { 0 };
	struct db_pages_free_row left = { 0 };
	struct db_page_size_row size = { 0 };

	(void)db_one(&b, pages, &pages);
	(void)db_one(&b, pages_free, &left);
	(void)db_one(&b, page_size, &size);
	if (db_end(&b) == 0)
		*ret = (struct store_size){ .used = (pages.n - MIN(pages.n, left.n)) * size.n,
					    .free = left.n * size.n };
	return db_end(&b);
}
