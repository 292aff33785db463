/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of baselines and usuals; the format of their bytes is in baseline_store.c. */
#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"

int store_put_baseline(struct store *s, const char *key, const void *bytes, size_t length,
		       uint64_t saved_us, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, baseline_put, .key = key, .saved_us = saved_us, .hosts = { bytes, length });
	return db_end(&b);
}

int store_drop_baseline(struct store *s, const char *key, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, baseline_drop, .key = key);
	return db_end(&b);
}

static struct store_body body_of(const struct db_bytes *hosts)
{
	return (struct store_body){ .bytes = (void *)(uintptr_t)hosts->bytes,
				    .length = hosts->length };
}

struct baseline_reader {
	void (*each)(void *context, const char *key, const struct store_body *bytes,
		     uint64_t saved_us);
	void *context;
};

static int read_baseline(void *context, const void *p)
{
	const struct baseline_reader *reader = context;
	const struct db_baselines_row *row = p;
	const struct store_body bytes = body_of(&row->hosts);

	reader->each(reader->context, row->key, &bytes, row->saved_us);
	return 0;
}

int store_baselines(struct store *s, uint64_t since_us,
		    void (*each)(void *context, const char *key, const struct store_body *bytes,
				 uint64_t saved_us),
		    void *context, struct err *err)
{
	struct baseline_reader reader = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, baselines, read_baseline, &reader, .since_us = since_us);
	return db_end(&b);
}

int store_put_usuals(struct store *s, const char *key, const void *bytes, size_t length,
		     struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, usuals_put, .key = key, .hosts = { bytes, length });
	return db_end(&b);
}

int store_drop_usuals(struct store *s, const char *key, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, usuals_drop, .key = key);
	return db_end(&b);
}

struct usuals_reader {
	void (*each)(void *context, const char *key, const struct store_body *bytes);
	void *context;
};

static int read_usuals(void *context, const void *p)
{
	const struct usuals_reader *reader = context;
	const struct db_usuals_row *row = p;
	const struct store_body bytes = body_of(&row->hosts);

	reader->each(reader->context, row->key, &bytes);
	return 0;
}

int store_usuals(struct store *s, uint64_t since_us,
		 void (*each)(void *context, const char *key, const struct store_body *bytes),
		 void *context, struct err *err)
{
	struct usuals_reader reader = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, usuals, read_usuals, &reader, .since_us = since_us);
	return db_end(&b);
}
