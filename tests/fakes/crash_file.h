/* SPDX-License-Identifier: Apache-2.0 */
/* A file of crash_vfs: its contents now, its contents on the platter, and the unsynced changes. */
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

/* An unsynced change: a write, or with `data` NULL a truncation to length `at`. */
struct change {
	size_t at, length;
	uint8_t *data;
};

struct disk_file {
	char name[CRASH_NAME_SIZE]; /* "": a temporary file, deleted on close */
	struct image now, platter;
	struct change *changes;
	size_t n_changes, room;
	bool there;	  /* its name is in the directory */
	bool there_after; /* its name is in the directory on the platter */
};

void image_resize(struct image *image, size_t size);
void image_put(struct image *image, size_t at, const uint8_t *data, size_t length);

/* Records a change and applies it to `now`. `data` NULL: truncate to length `at`. */
void file_change(struct disk_file *f, size_t at, const void *data, size_t length);

/* Writes all changes to the platter. */
void file_sync(struct disk_file *f);

/* A crash: each sector of each change, and the name, reaches the platter with this probability. */
void file_survive(struct disk_file *f, struct random *random, double chance);

void file_forget_changes(struct disk_file *f);
void file_release(struct disk_file *f);
