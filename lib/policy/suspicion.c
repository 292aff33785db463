/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/suspicion.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/policy/blame.h"

struct kept_suspect {
	char **hosts; /* ascending */
	size_t n_hosts;
	int class;
	bool identifiable;
	double share;
};

struct suspicion_kept {
	int64_t id;
	uint64_t from_us, until_us, steps;
	bool coarse;
	struct kept_suspect *suspects; /* most windows blame nobody */
	size_t n_suspects;
};

static void kept_free(struct suspicion_kept *kept)
{
	size_t i, j;

	for (i = 0; i < kept->n_suspects; i++) {
		for (j = 0; j < kept->suspects[i].n_hosts; j++)
			free(kept->suspects[i].hosts[j]);
		free(kept->suspects[i].hosts);
	}
	free(kept->suspects);
	free(kept);
}
DEFINE_CLEANUP(struct suspicion_kept *, kept_free, kept_freep);

void suspicion_release(struct suspicion *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		kept_free(s->windows[i]);
	free(s->windows);
	*s = (struct suspicion){ 0 };
}

/* ---- input -------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int check_host(const char *host, int64_t id, struct err *err)
{
	if (!host || host[0] == '\0' || strlen(host) > SUSPICION_NAME_MAX)
		return err_set(err, EINVAL,
			       "window %lld: a host without a name, or one longer than %d bytes",
			       (long long)id, SUSPICION_NAME_MAX);
	return 0;
}

static int check_suspect(const struct suspicion_suspect *s, int64_t id, struct err *err)
{
	size_t i;
	int r = 0;

	if (s->n_hosts == 0 || s->n_hosts > SUSPICION_HOSTS_MAX)
		return err_set(err, EINVAL, "window %lld: a suspect of %zu hosts: expected 1 to %d",
			       (long long)id, s->n_hosts, SUSPICION_HOSTS_MAX);
	if (!blame_may_accuse(s->class))
		return err_set(err, EINVAL, "window %lld: a suspect of a class that accuses no host",
			       (long long)id);
	if (!isfinite(s->share))
		return err_set(err, EINVAL, "window %lld: a share that is not a number",
			       (long long)id);
	for (i = 0; r == 0 && i < s->n_hosts; i++)
		r = check_host(s->hosts[i], id, err);
	return r;
}

static bool is_same(const struct kept_suspect *a, const struct kept_suspect *b)
{
	size_t i;

	if (a->class != b->class || a->n_hosts != b->n_hosts)
		return false;
	for (i = 0; i < a->n_hosts; i++) {
		if (!streq(a->hosts[i], b->hosts[i]))
			return false;
	}
	return true;
}

/* A sorted copy. -EINVAL if a host is in it twice, or if it is already there. */
static int keep_suspect(struct suspicion_kept *kept, const struct suspicion_suspect *s,
			struct err *err)
{
	struct kept_suspect *one;
	size_t i;

	kept->suspects = xrealloc(kept->suspects, kept->n_suspects + 1, sizeof(*kept->suspects));
	one = &kept->suspects[kept->n_suspects++];

	*one = (struct kept_suspect){ .hosts = xcalloc(s->n_hosts, sizeof(*one->hosts)),
				      .n_hosts = s->n_hosts,
				      .class = s->class,
				      .identifiable = s->identifiable,
				      .share = s->share };
	for (i = 0; i < s->n_hosts; i++)
		one->hosts[i] = xstrdup(s->hosts[i]);
	qsort(one->hosts, one->n_hosts, sizeof(*one->hosts), by_text);
	for (i = 1; i < one->n_hosts; i++) {
		if (streq(one->hosts[i - 1], one->hosts[i]))
			return err_set(err, EINVAL,
				       "window %lld: host '%s' is listed twice in a suspect",
				       (long long)kept->id, one->hosts[i]);
	}
	for (i = 0; i + 1 < kept->n_suspects; i++) {
		if (is_same(&kept->suspects[i], one))
			return err_set(err, EINVAL, "window %lld: suspect '%s' is listed twice",
				       (long long)kept->id, one->hosts[0]);
	}
	return 0;
}

static bool is_before(const struct suspicion_kept *a, const struct suspicion_kept *b)
{
	if (a->from_us != b->from_us)
		return a->from_us < b->from_us;
	return a->until_us != b->until_us ? a->until_us < b->until_us : a->id < b->id;
}

/* Inserts in order; beyond the limit the oldest is dropped, possibly this one. */
static void insert(struct suspicion *s, struct suspicion_kept *kept)
{
	size_t at = s->n;

	s->windows = xrealloc(s->windows, s->n + 1, sizeof(struct suspicion_kept *));
	for (; at > 0 && is_before(kept, s->windows[at - 1]); at--)
		s->windows[at] = s->windows[at - 1];
	s->windows[at] = kept;
	s->n++;
	if (s->n <= SUSPICION_WINDOWS_MAX)
		return;
	kept_free(s->windows[0]);
	s->n--;
	memmove(s->windows, s->windows + 1, s->n * sizeof(struct suspicion_kept *));
}

int suspicion_add(struct suspicion *s, const struct suspicion_window *window, struct err *err)
{
	CLEANUP(kept_freep) struct suspicion_kept *kept = xcalloc(1, sizeof(*kept));
	size_t i;
	int r = 0;

	kept->id = window->id;
	kept->from_us = window->from_us;
	kept->until_us = window->until_us;
	kept->steps = window->steps;
	kept->coarse = window->coarse;
	for (i = 0; i < s->n; i++) {
		if (s->windows[i]->id == window->id)
			return err_set(err, EEXIST, "window %lld is already there",
				       (long long)window->id);
	}
	if (window->from_us >= window->until_us)
		return err_set(err, EINVAL, "window %lld ends before it begins",
			       (long long)window->id);
	if (window->n_suspects > SUSPICION_SUSPECTS_MAX)
		return err_set(err, EINVAL, "window %lld: %zu suspects, more than %d",
			       (long long)window->id, window->n_suspects, SUSPICION_SUSPECTS_MAX);
	for (i = 0; r == 0 && i < window->n_suspects; i++) {
		r = check_suspect(&window->suspects[i], window->id, err);
		if (r == 0 && window->suspects[i].counts)
			r = keep_suspect(kept, &window->suspects[i], err);
	}
	if (r < 0)
		return r;
	insert(s, TAKE(kept));
	return 0;
}

/* ---- which windows count ------------------------------------------------------ */

/* From the newest on, into `ret`, at most `most`; returns how many. */
static unsigned choose(const struct suspicion *s, const struct policy_jobs *jobs, size_t most,
		       const struct suspicion_kept *ret[static SUSPICION_WINDOWS_MAX])
{
	unsigned n = 0;
	size_t i;

	for (i = s->n; i > 0 && n < most; i--) {
		const struct suspicion_kept *kept = s->windows[i - 1];
		const struct suspicion_kept *later = n > 0 ? ret[n - 1] : NULL;

		if (kept->steps < jobs->steps ||
		    (later && (kept->until_us > later->from_us ||
			       later->from_us - kept->from_us < jobs->apart_us)))
			continue;
		ret[n++] = kept;
	}
	return n;
}

/* ---- whom they blame ---------------------------------------------------------- */

static struct suspicion_found found_first(const struct suspicion_kept *kept,
					  const struct kept_suspect *one)
{
	return (struct suspicion_found){ .hosts = (const char *const *)one->hosts,
					 .n_hosts = one->n_hosts,
					 .class = one->class,
					 .identifiable = true,
					 .share = one->share,
					 .until_us = kept->until_us };
}

/* Windows come from newest to oldest. */
static struct suspicion_found *find_or_add(struct suspicion_list *list,
					   const struct kept_suspect *first[],
					   const struct suspicion_kept *kept,
					   const struct kept_suspect *one)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		if (is_same(first[i], one))
			return &list->items[i];
	}
	first[list->n] = one;
	list->items[list->n] = found_first(kept, one);
	return &list->items[list->n++];
}

/* Most hits first, then the largest share, then by names. */
static int by_weight(const void *a, const void *b)
{
	const struct suspicion_found *x = a, *y = b;
	size_t i;
	int order = 0;

	if (x->hits * y->of != y->hits * x->of)
		return x->hits * y->of > y->hits * x->of ? -1 : 1;
	if (x->share > y->share || x->share < y->share)
		return x->share > y->share ? -1 : 1;
	for (i = 0; order == 0 && i < MIN(x->n_hosts, y->n_hosts); i++)
		order = strcmp(x->hosts[i], y->hosts[i]);
	if (order != 0)
		return order;
	if (x->n_hosts != y->n_hosts)
		return x->n_hosts < y->n_hosts ? -1 : 1;
	return x->class - y->class;
}

/* State of the items of a list while windows are counted. */
struct tally {
	const struct kept_suspect *first[SUSPICION_LIST_MAX];
	unsigned sure[SUSPICION_LIST_MAX]; /* windows with known times */
};

/* Adds a window that blames it; `sure` counts those with known times. */
static void add_hit(struct suspicion_found *found, unsigned *sure, const struct suspicion_kept *kept,
		    const struct kept_suspect *one, unsigned place)
{
	if (place < WINDOWS_MAX)
		found->windows.bits |= UINT64_C(1) << place;
	found->ids[found->hits++] = kept->id;
	*sure += !kept->coarse;
	found->identifiable &= one->identifiable;
	found->from_us = kept->from_us;
}

static void count(struct suspicion_list *list, struct tally *tally,
		  const struct suspicion_kept *kept, unsigned place)
{
	size_t i;

	for (i = 0; i < kept->n_suspects; i++) {
		const struct kept_suspect *one = &kept->suspects[i];
		struct suspicion_found *found = find_or_add(list, tally->first, kept, one);

		add_hit(found, &tally->sure[found - list->items], kept, one, place);
	}
}

static bool has_host(const struct suspicion_extension *kept, const char *name)
{
	size_t i;

	for (i = 0; i < kept->n_hosts; i++) {
		if (streq(kept->hosts[i], name))
			return true;
	}
	return false;
}

static bool is_of(const struct suspicion_extension *kept, int class, const char *const *hosts,
		  size_t n_hosts)
{
	size_t i;

	for (i = 0; kept->class == class && kept->n_hosts == n_hosts && i < n_hosts; i++) {
		if (!has_host(kept, hosts[i]))
			return false;
	}
	return i == n_hosts;
}

/* Until when it is kept; 0: not. */
static uint64_t kept_us(const struct suspicion_extensions *extensions,
			const struct suspicion_found *found, uint64_t now_us)
{
	size_t i;

	for (i = 0; extensions && i < extensions->n; i++) {
		const struct suspicion_extension *kept = &extensions->items[i];

		if (now_us < kept->until_us &&
		    is_of(kept, found->class, found->hosts, found->n_hosts))
			return kept->until_us;
	}
	return 0;
}

/* Suspects of the last N windows, and which of them are kept. */
static void read_last(const struct suspicion *s, const struct policy_jobs *jobs,
		      const struct suspicion_extensions *extensions, uint64_t now_us,
		      struct suspicion_list *ret)
{
	const struct suspicion_kept *chosen[SUSPICION_WINDOWS_MAX];
	const unsigned n = choose(s, jobs, jobs->windows_n, chosen);
	struct tally tally = { 0 };
	unsigned i;
	size_t k;

	*ret = (struct suspicion_list){ .of = n };
	for (i = 0; i < n; i++)
		count(ret, &tally, chosen[i], i);
	for (k = 0; k < ret->n; k++) {
		struct suspicion_found *found = &ret->items[k];

		found->kept_us = kept_us(extensions, found, now_us);
		found->of = found->windows.n = n;
		found->counts = found->hits >= jobs->windows_k || found->kept_us ? BLAME_K_OF_N
										 : BLAME_ONE_WINDOW;
		found->coarse = tally.sure[k] < MIN(found->hits, jobs->windows_k);
	}
}

static void drop_stale(const struct policy_jobs *jobs, uint64_t now_us, struct suspicion_list *list)
{
	size_t i, n = 0;

	for (i = 0; i < list->n; i++) {
		const struct suspicion_found *found = &list->items[i];

		if (found->kept_us || now_us <= found->until_us ||
		    now_us - found->until_us <= jobs->fresh_us)
			list->items[n++] = *found;
	}
	list->n = n;
}

/* ---- who is kept --------------------------------------------------------------- */

/* All windows of a run that count, and which of them blame one suspect. */
struct history {
	const struct suspicion_kept *chosen[SUSPICION_WINDOWS_MAX]; /* newest first */
	unsigned n;
	const struct kept_suspect *blamed[SUSPICION_WINDOWS_MAX];
	unsigned places[SUSPICION_WINDOWS_MAX]; /* positions among the chosen ones */
	unsigned hits;
};

static void trace_back(struct history *h, const struct suspicion_extension *kept)
{
	unsigned i;
	size_t k;

	h->hits = 0;
	for (i = 0; i < h->n; i++) {
		for (k = 0; k < h->chosen[i]->n_suspects; k++) {
			const struct kept_suspect *one = &h->chosen[i]->suspects[k];

			if (!is_of(kept, one->class, (const char *const *)one->hosts, one->n_hosts))
				continue;
			h->blamed[h->hits] = one;
			h->places[h->hits++] = i;
			break;
		}
	}
}

static unsigned kept_windows(const struct policy_jobs *jobs)
{
	return (unsigned)MIN(SUSPICION_KEPT_TIMES * jobs->windows_n,
			     (uint64_t)POLICY_JOBS_WINDOWS_MAX);
}

/* How often K of N windows blamed it, with gaps in which it had lapsed. */
static unsigned times_raised(const struct history *h, const struct policy_jobs *jobs)
{
	const unsigned k = (unsigned)jobs->windows_k;
	unsigned i, times = 0;
	bool lapsed = true;

	for (i = 0; i + k <= h->hits; i++) {
		lapsed |= i > 0 && h->places[i] - h->places[i - 1] > kept_windows(jobs);
		if (!lapsed || h->places[i + k - 1] - h->places[i] >= jobs->windows_n)
			continue;
		times++;
		lapsed = false;
	}
	return times;
}

/* How many of the newest windows are searched for it; 0: it has lapsed. */
static unsigned reach(const struct history *h, const struct policy_jobs *jobs)
{
	if (h->hits == 0)
		return 0;
	if (times_raised(h, jobs) >= SUSPICION_RECURS)
		return h->n;
	return h->places[0] < kept_windows(jobs) ? MIN(h->n, kept_windows(jobs)) : 0;
}

static void add_from(const struct history *h, const struct policy_jobs *jobs, unsigned of,
		     uint64_t until_us, struct suspicion_list *list)
{
	struct suspicion_found found = found_first(h->chosen[h->places[0]], h->blamed[0]);
	unsigned i, sure = 0;

	for (i = 0; i < h->hits && h->places[i] < of && i < ARRAY_SIZE(found.ids); i++)
		add_hit(&found, &sure, h->chosen[h->places[i]], h->blamed[i], h->places[i]);
	found.of = of;
	found.windows.n = MIN(of, (unsigned)WINDOWS_MAX);
	found.counts = BLAME_K_OF_N;
	found.coarse = sure < MIN(found.hits, jobs->windows_k);
	found.kept_us = until_us;
	list->items[list->n++] = found;
}

/* Adds kept suspects that only windows older than those of `list` blame. */
static void add_kept(const struct suspicion *s, const struct policy_jobs *jobs,
		     const struct suspicion_extensions *extensions, uint64_t now_us,
		     struct suspicion_list *list)
{
	CLEANUP(freep) struct history *h = xcalloc(1, sizeof(*h));
	unsigned of;
	size_t i;

	h->n = choose(s, jobs, SUSPICION_WINDOWS_MAX, h->chosen);
	for (i = 0; i < extensions->n && list->n < SUSPICION_LIST_MAX; i++) {
		const struct suspicion_extension *kept = &extensions->items[i];

		if (now_us >= kept->until_us)
			continue;
		trace_back(h, kept);
		of = reach(h, jobs);
		if (of > 0 && h->places[0] >= list->of)
			add_from(h, jobs, of, kept->until_us, list);
	}
}

void suspicion_read(const struct suspicion *s, const struct policy_jobs *jobs,
		    const struct suspicion_extensions *extensions, uint64_t now_us,
		    struct suspicion_list *ret)
{
	read_last(s, jobs, extensions, now_us, ret);
	drop_stale(jobs, now_us, ret);
	if (extensions && extensions->n > 0 && ret->of > 0)
		add_kept(s, jobs, extensions, now_us, ret);
	if (ret->n > 1)
		qsort(ret->items, ret->n, sizeof(*ret->items), by_weight);
}
