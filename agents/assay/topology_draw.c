/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assay/topology_draw.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/term.h"
#include "lib/topology/topology.h"

/* The mask has 32 levels; real hosts have up to 8. */
enum { LEVELS_MAX = 32, SPEED_SIZE = 64, SENTENCE_MAX = 2048, NAMED_MAX = 4, LABEL_WIDTH_MAX = 72 };

/* One line of the tree. */
struct row {
	const struct topo_node *node;
	const struct topo_link *link; /* to the parent; NULL at the top */
	unsigned level;
	uint32_t more; /* bit l: level l has further rows below this one */
};

struct rows {
	const struct topology *t;
	struct row *v;
	size_t n;
	bool seen[TOPOLOGY_NODES_MAX];
};

enum state { STATE_PLAIN, STATE_FULL, STATE_IDLE, STATE_SLOW };

static enum state state_of(const struct topology *t, const struct topo_link *link)
{
	const struct topo_node *below = topology_find(t, link->a);

	if (link->gts <= 0 || link->max_gts <= 0 || link->max_width == 0)
		return STATE_PLAIN;
	if (!topology_link_is_slow(link))
		return STATE_FULL;
	if (below && below->type == TOPO_GPU && link->width >= link->max_width)
		return STATE_IDLE;
	return STATE_SLOW;
}

/* "Gen5 x16, 63.0 GB/s"; "" when unknown. */
static void speed_text(double gts, uint64_t width, char ret[static SPEED_SIZE])
{
	static const double speeds[] = { 2.5, 5, 8, 16, 32, 64, 128 };
	char rate[NUMBER_SIZE];
	size_t i;

	ret[0] = '\0';
	if (gts <= 0 || width == 0)
		return;
	number_format(topology_link_bytes_per_s(gts, width), "B/s", rate);
	for (i = 0; i < ARRAY_SIZE(speeds); i++) {
		if (fabs(gts - speeds[i]) < 0.1) {
			(void)snprintf(ret, SPEED_SIZE, "Gen%zu x%u, %s", i + 1, (unsigned)width,
				       rate);
			return;
		}
	}
	(void)snprintf(ret, SPEED_SIZE, "%g GT/s x%u, %s", gts, (unsigned)width, rate);
}

/* --- the tree as rows ---------------------------------------------------------- */

static size_t index_of(const struct topology *t, const struct topo_node *node)
{
	return (size_t)(node - t->nodes);
}

/* The link from `above` to its child `node`, or NULL. */
static const struct topo_link *link_below(const struct topology *t, const struct topo_node *node,
					  const struct topo_node *above)
{
	size_t i;

	for (i = 0; i < t->n_links; i++)
		if (streq(t->links[i].a, node->id) && streq(t->links[i].b, above->id))
			return &t->links[i];
	return NULL;
}

/* The next child of `above` from index `from` on, with `ret_link`; NULL at the end. */
static const struct topo_node *next_below(const struct rows *rows, const struct topo_node *above,
					  size_t from, const struct topo_link **ret_link)
{
	const struct topology *t = rows->t;
	size_t i;

	for (i = from; i < t->n_nodes; i++) {
		if (rows->seen[i] || t->nodes[i].type == TOPO_NUMA)
			continue;
		*ret_link = link_below(t, &t->nodes[i], above);
		if (*ret_link)
			return &t->nodes[i];
	}
	return NULL;
}

/* Each node only once, so that cycles (JSON may contain any graph) end. */
static void add_row(struct rows *rows, struct row row)
{
	rows->seen[index_of(rows->t, row.node)] = true;
	rows->v[rows->n++] = row;
}

static void add_below(struct rows *rows, const struct row *above)
{
	const struct topo_link *link = NULL, *next_link = NULL;
	const struct topo_node *at = next_below(rows, above->node, 0, &link);

	while (at && above->level + 1 < LEVELS_MAX) {
		struct row row = { .node = at, .link = link, .level = above->level + 1 };
		const struct topo_node *next;

		rows->seen[index_of(rows->t, at)] = true;
		next = next_below(rows, above->node, index_of(rows->t, at) + 1, &next_link);
		row.more = above->more | (next ? UINT32_C(1) << row.level : 0);
		add_row(rows, row);
		add_below(rows, &row);
		at = next;
		link = next_link;
	}
}

static void collect(struct rows *rows)
{
	const struct topology *t = rows->t;
	size_t i;

	for (i = 0; i < t->n_nodes; i++) {
		struct row row = { .node = &t->nodes[i] };

		if (t->nodes[i].type != TOPO_NUMA)
			continue;
		add_row(rows, row);
		add_below(rows, &row);
	}
	/* Nodes without a parent, in hand-written JSON. */
	for (i = 0; i < t->n_nodes; i++)
		if (!rows->seen[i])
			add_row(rows, (struct row){ .node = &t->nodes[i] });
}

/* --- printing -------------------------------------------------------------------- */

/* "GPU 0000:1a:00.0  NVIDIA H100": kind, name after the colon, address, model. */
static char *label_of(const struct topo_node *node)
{
	static const char *const kinds[] = {
		[TOPO_NUMA] = "NUMA node", [TOPO_GPU] = "GPU",	      [TOPO_RNIC] = "RNIC",
		[TOPO_SWITCH] = "switch",  [TOPO_ROOT] = "root port",
	};
	const char *colon = strchr(node->id, ':');
	const char *own = colon ? colon + 1 : node->id;
	bool both = node->pci && !streq(own, node->pci);

	return xasprintf("%s %s%s%s%s%s", kinds[node->type], own, both ? " " : "",
			 both ? node->pci : "", node->name ? "  " : "",
			 node->name ? node->name : "");
}

static void print_lines(const struct row *row, const struct topology_draw *how, FILE *out)
{
	static const char *const ascii[] = { "   ", "|  ", "`- ", "|- " };
	static const char *const boxes[] = { "   ", "│  ", "└─ ", "├─ " };
	const char *const *lines = how->utf8 ? boxes : ascii;
	unsigned level;

	if (row->level == 0)
		return;
	(void)fputs(paint_on(how->colour, PAINT_DIM), out);
	for (level = 1; level <= row->level; level++) {
		unsigned more = row->more >> level & 1;

		(void)fputs(lines[more + (level == row->level ? 2 : 0)], out);
	}
	(void)fputs(paint_off(how->colour), out);
}

static void print_speed(const struct topology *t, const struct topo_link *link, bool colour,
			FILE *out)
{
	static const struct {
		enum paint paint;
		const char *words;
	} looks[] = {
		[STATE_PLAIN] = { PAINT_DIM, "" },
		[STATE_FULL] = { PAINT_GOOD, "" },
		[STATE_IDLE] = { PAINT_UNSURE, "  idle? can do " },
		[STATE_SLOW] = { PAINT_BAD, "  SLOW: can do " },
	};
	enum state state = state_of(t, link);
	char now[SPEED_SIZE], best[SPEED_SIZE];

	speed_text(link->gts, link->width, now);
	speed_text(link->max_gts, link->max_width, best);
	(void)fprintf(out, "%s%s%s%s%s", paint_on(colour, looks[state].paint), now,
		      looks[state].words, *looks[state].words ? best : "", paint_off(colour));
}

static unsigned width_of(const struct row *row)
{
	CLEANUP(freep) char *label = label_of(row->node);

	return row->level * 3 + (unsigned)MIN(strlen(label), (size_t)LABEL_WIDTH_MAX);
}

static void print_row(const struct rows *rows, size_t i, unsigned column,
		      const struct topology_draw *how, FILE *out)
{
	const struct row *row = &rows->v[i];
	CLEANUP(freep) char *label = label_of(row->node);
	bool speed = row->link && row->link->gts > 0 && row->link->width > 0;
	bool top = row->level == 0;
	unsigned used = width_of(row);

	print_lines(row, how, out);
	(void)fprintf(out, "%s%s%s", paint_on(how->colour && top, PAINT_BOLD), label,
		      paint_off(how->colour && top));
	if (speed) {
		(void)fprintf(out, "%*s", (int)(MAX(column, used) - used) + 2, "");
		print_speed(rows->t, row->link, how->colour, out);
	}
	(void)fputc('\n', out);
}

void topology_draw(const struct topology *t, const struct topology_draw *how, FILE *out)
{
	struct rows rows = { .t = t, .v = xcalloc(t->n_nodes + 1, sizeof(struct row)) };
	CLEANUP(freep) char *sentence = topology_sentence(t);
	unsigned column = 0;
	size_t i;

	if (t->n_nodes <= TOPOLOGY_NODES_MAX)
		collect(&rows);
	for (i = 0; i < rows.n; i++)
		if (rows.v[i].link && rows.v[i].link->gts > 0)
			column = MAX(column, width_of(&rows.v[i]));
	for (i = 0; i < rows.n; i++)
		print_row(&rows, i, column, how, out);
	(void)fprintf(out, "%s%s\n", rows.n ? "\n" : "", sentence);
	free(rows.v);
}

/* --- the sentence -------------------------------------------------------------------- */

static void add_counts(const struct topology *t, struct strbuf *text)
{
	static const struct {
		int type;
		const char *one, *many;
	} kinds[] = {
		{ TOPO_GPU, "GPU", "GPUs" },
		{ TOPO_RNIC, "RNIC", "RNICs" },
		{ TOPO_SWITCH, "PCIe switch", "PCIe switches" },
		{ TOPO_NUMA, "NUMA node", "NUMA nodes" },
	};
	size_t counts[TOPO_ROOT + 1] = { 0 }, i;

	for (i = 0; i < t->n_nodes; i++)
		counts[t->nodes[i].type]++;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t n = counts[kinds[i].type];

		(void)strbuf_puts(text, i == 0 ? "" : i + 1 < ARRAY_SIZE(kinds) ? ", " : " and ");
		if (n == 0)
			(void)strbuf_printf(text, "no %s", kinds[i].one);
		else
			(void)strbuf_printf(text, "%zu %s", n,
					    n == 1 ? kinds[i].one : kinds[i].many);
	}
}

static void add_slow(const struct topology *t, size_t n_slow, size_t n_known, struct strbuf *text)
{
	char now[SPEED_SIZE], best[SPEED_SIZE];
	size_t named = 0, i;

	(void)strbuf_printf(text,
			    "; %zu of %zu PCIe links run%s below what both ends can do: ", n_slow,
			    n_known, n_slow == 1 ? "s" : "");
	for (i = 0; i < t->n_links && named < NAMED_MAX; i++) {
		const struct topo_link *link = &t->links[i];

		if (state_of(t, link) != STATE_SLOW)
			continue;
		speed_text(link->gts, link->width, now);
		speed_text(link->max_gts, link->max_width, best);
		(void)strbuf_printf(text, "%s%s at %s instead of %s", named++ ? "; " : "", link->a,
				    now, best);
	}
	if (n_slow > named)
		(void)strbuf_printf(text, "; and %zu more", n_slow - named);
}

static void add_speeds(const struct topology *t, struct strbuf *text)
{
	size_t counts[STATE_SLOW + 1] = { 0 }, known, i;

	for (i = 0; i < t->n_links; i++)
		counts[state_of(t, &t->links[i])]++;
	known = counts[STATE_FULL] + counts[STATE_IDLE] + counts[STATE_SLOW];
	if (counts[STATE_SLOW])
		add_slow(t, counts[STATE_SLOW], known, text);
	else if (counts[STATE_IDLE])
		(void)strbuf_printf(text,
				    "; no PCIe link is known to be slow, but %zu GPU link%s below "
				    "full speed, which is normal while idle: look again under load",
				    counts[STATE_IDLE], counts[STATE_IDLE] == 1 ? " is" : "s are");
	else if (known)
		(void)strbuf_printf(text, "; all %zu PCIe links run as fast as both ends can",
				    known);
	else if (!t->is_virtual)
		(void)strbuf_puts(text, "; the maximum speed of their PCIe links is unknown");
}

static bool has_devices(const struct topology *t)
{
	size_t i;

	for (i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].type == TOPO_GPU || t->nodes[i].type == TOPO_RNIC)
			return true;
	return false;
}

char *topology_sentence(const struct topology *t)
{
	struct strbuf text = STRBUF_INIT(SENTENCE_MAX);

	add_counts(t, &text);
	if (has_devices(t))
		add_speeds(t, &text);
	if (t->is_virtual)
		(void)strbuf_puts(&text, "; this virtual machine hides its PCIe bridges, so how "
					 "close its devices are is unknown");
	(void)strbuf_puts(&text, ".");
	return text.data ? text.data : xstrdup("");
}
