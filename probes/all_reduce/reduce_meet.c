/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_reduce/reduce_meet.h"

#include <errno.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "probes/all_reduce/reduce.h"
#include "probes/all_reduce/reduce_part.h"

/* A peer that knows the token but then says nothing must not keep the others out for long. */
#define HELLO_US (5 * USEC_PER_SEC)

/* Find out which rank this is; close the connection if it is none. */
static void greet(struct reduce_session *s, struct oob *line, unsigned *come)
{
	struct reduce_message hello = reduce_message_init(REDUCE_BYE);
	struct err err = ERR_INIT;
	struct reduce_peer *p;
	int r = reduce_hear(line, clock_mono_us() + HELLO_US, &hello, &err);

	if (r == 0 && hello.kind != REDUCE_HELLO)
		r = err_set(&err, EPROTO, "%s does not identify itself", line->name);
	else if (r == 0 && (hello.ranks != s->n || hello.rank >= s->n))
		r = err_set(&err, EPROTO,
			    "%s is rank %llu of %llu, but this host has %u: give all hosts the "
			    "same --peers",
			    line->name, (unsigned long long)hello.rank,
			    (unsigned long long)hello.ranks, s->n);
	else if (r == 0 && s->peers[hello.rank].line.fd >= 0)
		r = err_set(&err, EPROTO, "%s is rank %llu too: give each host its own --rank",
			    line->name, (unsigned long long)hello.rank);
	if (r < 0) {
		log_warning("%s", err.msg);
		oob_close(line);
		reduce_message_release(&hello);
		return;
	}
	p = &s->peers[hello.rank];
	p->line = *line;
	p->answer = hello;
	p->answered = true;
	++*come;
}

/* Name the missing ranks. */
static void name_missing(struct reduce_session *s)
{
	size_t used = 0;
	unsigned rank;

	for (rank = 1; rank < s->n; rank++) {
		CLEANUP(freep) char *name = NULL;

		if (s->peers[rank].line.fd >= 0 || used >= sizeof(s->why) - 1)
			continue;
		name = reduce_name(s, rank);
		s->suspect = s->suspect == COLL_NOBODY ? (int)rank : s->suspect;
		used += (size_t)snprintf(s->why + used, sizeof(s->why) - used, "%s%s",
					 used ? ", " : "", name);
	}
	if (used < sizeof(s->why))
		(void)snprintf(s->why + used, sizeof(s->why) - used, " did not come");
}

/* Ranks that did connect are told later which are missing. */
static int wait_for_all(struct reduce_session *s, uint64_t deadline_us, struct err *err)
{
	char bound[OOB_NAME_SIZE];
	CLEANUP(closep) int fd = -1;
	unsigned come = 0;
	int r = oob_listen(s->addresses[0], deadline_us, bound, &fd, err);

	if (r < 0)
		return r;
	log_info("listening on %s", bound);
	while (come < s->n - 1) {
		struct oob line = { .fd = -1 };
		struct err why = ERR_INIT;

		if (oob_accept(fd, s->token, deadline_us, &line, &why) < 0) {
			log_warning("%s", why.msg);
			name_missing(s);
			return 0;
		}
		greet(s, &line, &come);
	}
	return 0;
}

int reduce_meet(struct reduce_session *s, uint64_t deadline_us, struct err *err)
{
	if (s->rank == 0)
		return wait_for_all(s, deadline_us, err);
	return oob_dial(s->addresses[0], s->token, deadline_us, &s->peers[0].line, err);
}
