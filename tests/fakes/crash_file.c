/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fakes/crash_file.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/macro.h"
#include "lib/base/xalloc.h"
#include "tests/unit/random.h"

enum { SECTOR = 512, FILE_MAX = 64 * 1024 * 1024 };

void image_resize(struct image *image, size_t size)
{
	if (size > FILE_MAX)
		abort();
	if (size > image->room) {
		image->room = MAX(size, image->room * 2);
		image->bytes = xrealloc(image->bytes, image->room, 1);
	}
	if (size > image->size)
		memset(image->bytes + image->size, 0, size - image->size);
	image->size = size;
}

void image_put(struct image *image, size_t at, const uint8_t *data, size_t length)
{
	if (at + length > image->size)
		image_resize(image, at + length);
	memcpy(image->bytes + at, data, length);
}

static void apply(struct image *image, const struct change *c)
{
	if (c->data)
		image_put(image, c->at, c->data, c->length);
	else
		image_resize(image, c->at);
}

void file_forget_changes(struct disk_file *f)
{
	while (f->n_changes > 0)
		free(f->changes[--f->n_changes].data);
}

void file_change(struct disk_file *f, size_t at, const void *data, size_t length)
{
	struct change *c;

	if (f->n_changes == f->room) {
		f->room = MAX((size_t)16, f->room * 2);
		f->changes = xrealloc(f->changes, f->room, sizeof(*f->changes));
	}
	c = &f->changes[f->n_changes++];
	*c = (struct change){ at, length, NULL };
	if (data) {
		c->data = xcalloc(1, length + 1);
		memcpy(c->data, data, length);
	}
	apply(&f->now, c);
}

void file_release(struct disk_file *f)
{
	file_forget_changes(f);
	free(f->changes);
	free(f->now.bytes);
	free(f->platter.bytes);
	*f = (struct disk_file){ 0 };
}

void file_sync(struct disk_file *f)
{
	size_t i;

	for (i = 0; i < f->n_changes; i++)
		apply(&f->platter, &f->changes[i]);
	file_forget_changes(f);
}

static bool lucky(struct random *random, double chance)
{
	return random_unit(random) <= chance;
}

/* Applies a random subset of the sectors of a write. */
static void apply_parts(struct image *image, const struct change *c, struct random *random,
			double chance)
{
	size_t at = c->at, end = c->at + c->length;

	while (at < end) {
		size_t next = MIN(end, (at / SECTOR + 1) * SECTOR);

		if (lucky(random, chance))
			image_put(image, at, c->data + (at - c->at), next - at);
		at = next;
	}
}

void file_survive(struct disk_file *f, struct random *random, double chance)
{
	size_t i;

	for (i = 0; i < f->n_changes; i++) {
		const struct change *c = &f->changes[i];

		if (c->data)
			apply_parts(&f->platter, c, random, chance);
		else if (lucky(random, chance))
			apply(&f->platter, c);
	}
	if (f->there != f->there_after && lucky(random, chance))
		f->there_after = f->there;
}
