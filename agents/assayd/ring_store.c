/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/ring_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"

enum {
	FORM = 1,
	FIRST_FD = 3, /* SD_LISTEN_FDS_START */
	SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL,
	STATE_MAX = 2 * RING_STORE_NAME_SIZE,
};

/* --- the data of a process --- */

struct rank {
	uint64_t v, pid, uid, start, run, rank, dp, pp, tp;
	int placed;
	char *job; /* owned */
};

#define AT(member) offsetof(struct rank, member)

/* The largest exactly represented JSON integer. */
#define MOST 9007199254740992.0

static const char *const placed_names[] = { "all", "job", "shape", NULL };
static const enum trace_refusal placed_values[] = { TRACE_TAKEN, TRACE_JOB, TRACE_SHAPE };

static const struct jfield fields[] = {
	{ "v", J_U64, AT(v), J_REQUIRED },
	{ "pid", J_U64, AT(pid), J_REQUIRED, 1, INT_MAX },
	{ "uid", J_U64, AT(uid), J_REQUIRED, 0, UINT32_MAX },
	{ "start", J_U64, AT(start), J_REQUIRED, 0, MOST },
	{ "placed", J_ENUM, AT(placed), J_REQUIRED, .names = placed_names },
	{ "job", J_STRING, AT(job), J_REQUIRED },
	{ "run", J_U64, AT(run), J_REQUIRED, 0, MOST },
	{ "rank", J_U64, AT(rank), J_REQUIRED, 0, MOST },
	{ "dp", J_U64, AT(dp), J_REQUIRED, 0, INT_MAX },
	{ "pp", J_U64, AT(pp), J_REQUIRED, 0, INT_MAX },
	{ "tp", J_U64, AT(tp), J_REQUIRED, 0, INT_MAX },
};

static int find_placed(enum trace_refusal placed)
{
	int i;

	for (i = 0; placed_names[i] && placed_values[i] != placed; i++)
		;
	return placed_names[i] ? i : 1;
}

int ring_store_write_rank(const struct ring_process *p)
{
	CLEANUP(freep) char *job = xstrdup(p->place.job);
	const struct rank rank = { .v = FORM,
				   .pid = (uint64_t)p->pid,
				   .uid = p->uid,
				   .start = p->start_ticks,
				   .placed = find_placed(p->placed),
				   .job = job,
				   .run = (uint64_t)MAX(p->place.run, INT64_C(0)),
				   .rank = (uint64_t)MAX(p->place.rank, INT64_C(0)),
				   .dp = p->place.dp,
				   .pp = p->place.pp,
				   .tp = p->place.tp };
	CLEANUP(json_freep) json_t *value = jval_encode(fields, ARRAY_SIZE(fields), &rank);
	CLEANUP(freep) char *line = json_line(value);
	CLEANUP(closep) int fd = memfd_create("assay-rank", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = fd < 0 ? -errno : file_write_all(fd, line, strlen(line));

	if (r == 0 && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		r = -errno;
	return r < 0 ? r : TAKE_FD(fd);
}

/* Read all or nothing: it is sealed, so it cannot change meanwhile. */
static int read_sealed(int fd, char ret[static RING_STORE_RANK_MAX], size_t *ret_n, struct err *err)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0)
		return err_set(err, EPROTO, "it is not sealed memory");
	if (st.st_size < 1 || st.st_size > RING_STORE_RANK_MAX)
		return err_set(err, EPROTO, "it has %lld bytes", (long long)st.st_size);
	if (pread(fd, ret, (size_t)st.st_size, 0) != st.st_size)
		return err_set(err, EPROTO, "it cannot be read");
	*ret_n = (size_t)st.st_size;
	return 0;
}

int ring_store_read_rank(int fd, struct ring_process *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	char text[RING_STORE_RANK_MAX];
	struct rank rank = { .v = 0 };
	struct jval root;
	size_t n = 0;
	int r = read_sealed(fd, text, &n, err);

	if (r == 0)
		r = json_parse(text, n, "rank", &value, err);
	if (r < 0)
		return -EPROTO;
	root = jval_root(value, "rank");
	r = jval_decode(&root, fields, ARRAY_SIZE(fields), 0, &rank, err);
	if (r == 0 && rank.v != FORM)
		r = err_set(err, EPROTO, "it is of version %" PRIu64, rank.v);
	if (r == 0 && strlen(rank.job) >= TRACE_JOB_SIZE)
		r = err_set(err, EPROTO, "its job has a name of %zu bytes", strlen(rank.job));
	if (r == 0) {
		*ret = (struct ring_process){ .pid = (pid_t)rank.pid,
					      .uid = (uid_t)rank.uid,
					      .pidfd = -1,
					      .start_ticks = rank.start,
					      .placed = placed_values[rank.placed],
					      .place = { .run = (int64_t)rank.run,
							 .rank = (int64_t)rank.rank,
							 .dp = (unsigned)rank.dp,
							 .pp = (unsigned)rank.pp,
							 .tp = (unsigned)rank.tp } };
		memcpy(ret->place.job, rank.job, strlen(rank.job) + 1);
	}
	free(rank.job);
	return r < 0 ? -EPROTO : 0;
}

/* --- sent to the service manager --- */

static void name_rank(const struct ring_process *p, char ret[static RING_STORE_NAME_SIZE])
{
	(void)snprintf(ret, RING_STORE_NAME_SIZE, "rank.%ld.%" PRIu64, (long)p->pid, p->start_ticks);
}

static void name_ring(const struct ring_process *p, const struct ring_entry *ring,
		      char ret[static RING_STORE_NAME_SIZE])
{
	(void)snprintf(ret, RING_STORE_NAME_SIZE, "ring.%ld.%" PRIu64 ".%" PRIu64, (long)p->pid,
		       p->start_ticks, ring->identity.inode);
}

static void store(const char *name, int fd)
{
	char state[STATE_MAX];
	int r;

	(void)snprintf(state, sizeof(state), "FDSTORE=1\nFDNAME=%s", name);
	r = sd_pid_notify_with_fds(0, 0, state, &fd, 1);
	if (r < 0)
		log_warning("%s will be lost when assayd restarts: %s", name, strerror(-r));
}

static void forget(const char *name)
{
	(void)sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", name);
}

static void keep_rank(const struct ring_process *p)
{
	CLEANUP(closep) int fd = ring_store_write_rank(p);
	char name[RING_STORE_NAME_SIZE];

	name_rank(p, name);
	if (fd < 0)
		log_warning("%s will be lost when assayd restarts: %s", name, strerror(-fd));
	else
		store(name, fd);
}

void ring_store_keep(const struct ring_process *p, const struct ring_entry *ring, int fd)
{
	char name[RING_STORE_NAME_SIZE];

	if (!ring) {
		keep_rank(p);
		return;
	}
	name_ring(p, ring, name);
	store(name, fd);
}

void ring_store_let_go(const struct ring_process *p, const struct ring_entry *ring)
{
	char name[RING_STORE_NAME_SIZE];

	if (ring)
		name_ring(p, ring, name);
	else
		name_rank(p, name);
	forget(name);
}

/* --- received back --- */

size_t ring_store_take(struct ring_store_item **ret_items)
{
	char **names = NULL;
	/*
	 * Leave the environment unchanged: children check the PID in it, and other threads may be
	 * reading it.
	 */
	const int n = sd_listen_fds_with_names(false, &names);
	struct ring_store_item *items;
	int i;

	*ret_items = NULL;
	if (n <= 0) {
		if (n < 0)
			log_warning("descriptors kept across the restart were lost: %s",
				    strerror(-n));
		return 0;
	}
	items = xcalloc((size_t)n, sizeof(*items));
	for (i = 0; i < n; i++)
		items[i] = (struct ring_store_item){ names[i], FIRST_FD + i };
	free(names); /* the items own the strings */
	*ret_items = items;
	return (size_t)n;
}

void ring_store_free(struct ring_store_item *items, size_t n)
{
	while (n-- > 0)
		free((void *)(uintptr_t)items[n].name);
	free(items);
}

/* The data of processes that came back. */
struct known {
	struct ring_process said[RING_PROCESSES_MAX];
	size_t n;
};

static bool is_rank(const struct ring_store_item *item)
{
	return strncmp(item->name, "rank.", strlen("rank.")) == 0;
}

static bool is_ring(const struct ring_store_item *item)
{
	return strncmp(item->name, "ring.", strlen("ring.")) == 0;
}

/* Reject data whose name does not match its contents. */
static bool learn(struct known *known, const struct ring_store_item *item)
{
	struct ring_process *said = &known->said[known->n];
	char name[RING_STORE_NAME_SIZE];
	struct err err = ERR_INIT;

	if (known->n == ARRAY_SIZE(known->said))
		return false;
	if (ring_store_read_rank(item->fd, said, &err) < 0) {
		log_warning("%s was kept across the restart but is not used: %s", item->name,
			    err.msg);
		return false;
	}
	name_rank(said, name);
	if (!streq(name, item->name))
		return false;
	known->n++;
	return true;
}

/* The ring's process; NULL if it is unknown, or the name belongs to another. */
static const struct ring_process *find(const struct known *known, const struct ring_store_item *item)
{
	struct ring_entry ring = { .process = NULL };
	char name[RING_STORE_NAME_SIZE];
	struct stat st;
	size_t i;

	/* Fails for anything but a memfd, without touching a file system. */
	if (fcntl(item->fd, F_GET_SEALS) < 0 || fstat(item->fd, &st) < 0)
		return NULL;
	ring.identity.inode = st.st_ino;
	for (i = 0; i < known->n; i++) {
		name_ring(&known->said[i], &ring, name);
		if (streq(name, item->name))
			return &known->said[i];
	}
	return NULL;
}

/* Drop processes whose rings were refused or did not come. */
static void forget_unused(const struct ring_set *set, const struct known *known)
{
	char name[RING_STORE_NAME_SIZE];
	size_t i;

	for (i = 0; i < known->n; i++) {
		if (ring_set_find(set, &known->said[i]))
			continue;
		name_rank(&known->said[i], name);
		forget(name);
	}
}

void ring_store_adopt(struct ring_set *set, const struct ring_store_item *items, size_t n,
		      void (*ended)(void *context, enum ring_refusal why,
				    const struct ring_process *said),
		      void *context)
{
	CLEANUP(freep) struct known *known = xcalloc(1, sizeof(*known));
	const struct ring_process nobody = { .pid = 0 };
	size_t i;

	for (i = 0; i < n; i++) {
		if (is_rank(&items[i]) && !learn(known, &items[i]))
			forget(items[i].name);
	}
	for (i = 0; i < n; i++) {
		const struct ring_process *said = is_ring(&items[i]) ? find(known, &items[i])
								     : NULL;
		const enum ring_refusal why = said ? ring_set_adopt(set, said, items[i].fd)
						   : RING_STRANGER;

		/* The name of a duplicate belongs to the one that is held. */
		if (!is_rank(&items[i]) && why != RING_TAKEN && why != RING_TWICE)
			forget(items[i].name);
		if (!is_rank(&items[i]))
			ended(context, why, said ? said : &nobody);
		ring_memory_discard(items[i].fd);
	}
	forget_unused(set, known);
}
