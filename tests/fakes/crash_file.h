/* SPDX-License-Identifier: Apache-2.0 */
/* A file of crash_vfs: as it is now, as it is on the platter, and what lies between. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct random;

enum { CRASH_NAME_SIZE = 256 };

struct image {
	uint8_t *bytes;
	size_t size, room;
};

/* One that no sync followed: a write, or with `data` NULL a new length. */
struct change {
	size_t at, length;
	uint8_t *data;
};

struct disk_file {
	char name[CRASH_NAME_SIZE]; /* "": it has none, and goes when it is closed */
	struct image now, platter;
	struct change *changes;
	size_t n_changes, room;
	bool there;	  /* its name is in the directory */
	bool there_after; /* and on the platter's */
};

void image_resize(struct image *image, size_t size);
void image_put(struct image *image, size_t at, const uint8_t *data, size_t length);

/* A change of what is there now; `data` NULL: `at` is the new length. */
void file_change(struct disk_file *f, size_t at, const void *data, size_t length);

/* All changes reach the platter. */
void file_sync(struct disk_file *f);

/* Each change, sector by sector, reaches the platter with this chance; the name too. */
void file_survive(struct disk_file *f, struct random *random, double chance);

void file_forget_changes(struct disk_file *f);
void file_release(struct disk_file *f);
