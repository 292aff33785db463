/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/names.h"

#include <search.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"

struct name {
	char *text; /* NULL: free */
	int number;
	int next; /* next free one, as `spare` */
	unsigned holders;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static struct name *find(const struct names *names, const char *text)
{
	CLEANUP(freep) char *copy = xstrdup(text);
	struct name wanted = { .text = copy };
	struct name **found = tfind(&wanted, &names->tree, compare);

	return found ? *found : NULL;
}

static struct name *take_number(struct names *names)
{
	struct name *name;

	if (names->spare > 0) {
		name = names->items[names->spare - 1];
		names->spare = name->next;
		return name;
	}
	if (names->n == names->room) {
		names->room = MAX(names->room * 2, (size_t)16);
		names->items = xrealloc(names->items, names->room, sizeof(struct name *));
	}
	name = xcalloc(1, sizeof(*name));
	name->number = (int)names->n;
	names->items[names->n++] = name;
	return name;
}

int names_hold(struct names *names, const char *text)
{
	struct name *name;

	if (!text)
		return NAME_NONE;
	name = find(names, text);
	if (!name) {
		name = take_number(names);
		name->text = xstrdup(text);
		name->holders = 0;
		if (!tsearch(name, &names->tree, compare))
			abort(); /* out of memory */
	}
	name->holders++;
	return name->number;
}

void names_drop(struct names *names, int number)
{
	struct name *name;

	if (number == NAME_NONE)
		return;
	name = names->items[number];
	if (--name->holders > 0)
		return;
	tdelete(name, &names->tree, compare);
	free(TAKE(name->text));
	name->next = names->spare;
	names->spare = number + 1;
}

int names_find(const struct names *names, const char *text)
{
	const struct name *name = text ? find(names, text) : NULL;

	return name ? name->number : NAME_NONE;
}

const char *names_text(const struct names *names, int number)
{
	return number == NAME_NONE ? NULL : names->items[number]->text;
}

static void keep(void *name UNUSED)
{
}

void names_release(struct names *names)
{
	size_t i;

	tdestroy(names->tree, keep);
	for (i = 0; i < names->n; i++) {
		free(names->items[i]->text);
		free(names->items[i]);
	}
	free(names->items);
	*names = (struct names){ 0 };
}
