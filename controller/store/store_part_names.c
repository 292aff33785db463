/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_part_names.h"

#include <stdlib.h>

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/host_parts.h"

static int read_names(void *context, const void *p)
{
	const struct db_part_names_get_row *row = p;
	CLEANUP(json_freep) json_t *list = json_loads(row->names, JSON_REJECT_DUPLICATES, NULL);

	host_parts_decode(list, context);
	return 1;
}

int store_part_names(struct store *s, const char *node, struct host_parts *ret, struct err *err)
{
	struct db_batch b = store_ask(s, err);

	*ret = (struct host_parts){ 0 };
	db_each(&b, part_names_get, read_names, ret, .node = node);
	return db_end(&b);
}

int store_put_part_names(struct store *s, const char *node, const struct host_parts *parts,
			 struct err *err)
{
	CLEANUP(json_freep) json_t *list = host_parts_encode(parts);
	CLEANUP(freep) char *text = json_line(list);
	struct db_batch b = store_write(s, err);

	db_add(&b, part_names_put, .node = node, .names = text);
	return db_end(&b);
}
