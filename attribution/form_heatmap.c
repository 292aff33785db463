/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat maps as in the figures of "Understanding Stragglers in Large Model Training": DP ranks
 * across, stages down, coloured by the lower of the two slowdowns, on a scale from 1.0 to 1.5 or
 * more if needed. One map of all steps with the blamed workers, then a small one for each step.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "attribution/form_kinds.h"
#include "attribution/trace_job.h"
#include "attribution/words.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"

enum {
	WIDTH = 1000, /* of the drawing, in SVG units */
	MARGIN = 60,
	CELL_MAX = 40,	   /* of the large map */
	COLUMNS_MAX = 440, /* limit of cells; beyond it a cell shows the worst of several */
	ROWS_MAX = 220,
	TEXT_CELL = 26, /* cells of at least this size contain their value */
	STEPS_MAX = 60, /* small maps; if there are more steps, the slowest */
	STEP_COLUMNS = 60,
	STEP_ROWS = 40,
	ACROSS = 6,
	STEP_WIDTH = (WIDTH - 2 * MARGIN) / ACROSS,
	STEP_HEIGHT = 110,
	COLOURS = 6,
	LINE_MAX_BYTES = 130, /* per line of text */
	LINE_HEIGHT = 14,
	NAMED = 8, /* slowest workers listed */
	WORDS_MAX = 8192,
};

/* The scale, unless values exceed it; then it grows in whole steps. */
#define LOW 1.0
#define HIGH 1.5
#define SCALE_STEP 0.05

/* From light to dark, so that it is readable without colours (ColorBrewer, YlOrRd). */
static const int colours[COLOURS][3] = {
	{ 255, 255, 229 }, { 254, 227, 145 }, { 254, 178, 76 },
	{ 252, 115, 45 },  { 212, 27, 32 },   { 110, 0, 38 },
};

struct scale {
	double low, high;
};

struct map {
	const struct attribution *a;
	struct scale scale;
	int64_t step; /* index of the step; -1: all */
	double x, y, cell_width, cell_height;
	size_t columns, rows;
};

/* Extend the scale to include a value. */
static void extend(struct scale *scale, double value)
{
	scale->low = MIN(scale->low, value);
	scale->high = MAX(scale->high, value);
}

/* A cell is the lower of two slowdowns: the highest cell is the lower of their maxima. */
static struct scale scale_of(const struct attribution *a)
{
	const struct trace *trace = a->trace;
	const struct slowdown *s = &a->slowdown;
	struct scale scale = { LOW, HIGH };
	size_t step, i;

	for (i = 0; i < (size_t)trace->job.dp * trace->job.pp; i++)
		extend(&scale, s->workers[i]);
	for (step = 0; step < trace->n_steps; step++) {
		struct scale dp = { INFINITY, -INFINITY }, pp = dp;

		for (i = 0; i < trace->job.dp; i++)
			extend(&dp, s->step_dp[step * trace->job.dp + i] / s->ideal);
		for (i = 0; i < trace->job.pp; i++)
			extend(&pp, s->step_pp[i * trace->n_steps + step] / s->ideal);
		extend(&scale, MIN(dp.low, pp.low));
		extend(&scale, MIN(dp.high, pp.high));
	}
	scale.low = floor(scale.low / SCALE_STEP + 1e-9) * SCALE_STEP;
	scale.high = ceil(scale.high / SCALE_STEP - 1e-9) * SCALE_STEP;
	return scale;
}

/* 0 at the low end of the scale, 255 at the high end. */
static int shade_of(const struct scale *scale, double s)
{
	double share = (s - scale->low) / (scale->high - scale->low);

	return (int)lround(255 * MIN(MAX(share, 0.0), 1.0));
}

static void colour_of(int shade, int ret[static 3])
{
	double at = shade / 255.0 * (COLOURS - 1);
	int i = MIN((int)at, COLOURS - 2), c;

	for (c = 0; c < 3; c++)
		ret[c] = (int)lround(colours[i][c] + (at - i) * (colours[i + 1][c] - colours[i][c]));
}

static void put_text(FILE *out, const char *text)
{
	CLEANUP(freep) char *clean = utf8_clean(text);
	const char *at;

	for (at = clean; *at; at++) {
		if (*at == '&')
			(void)fputs("&amp;", out);
		else if (*at == '<')
			(void)fputs("&lt;", out);
		else if (*at == '>')
			(void)fputs("&gt;", out);
		else
			(void)fputc(*at, out);
	}
}

static double value_at(const struct map *map, size_t d, size_t p)
{
	const struct slowdown *s = &map->a->slowdown;
	const struct trace *trace = map->a->trace;
	size_t step = (size_t)map->step;

	if (map->step < 0)
		return s->workers[d * trace->job.pp + p];
	return MIN(s->step_dp[step * trace->job.dp + d], s->step_pp[p * trace->n_steps + step]) /
	       s->ideal;
}

/* The first of `n` items in cell i of `cells`. */
static size_t first_of(size_t i, size_t n, size_t cells)
{
	return i * n / cells;
}

static double worst_in(const struct map *map, size_t column, size_t row)
{
	const struct trace_job *job = &map->a->trace->job;
	double worst = -INFINITY;
	size_t d, p;

	for (d = first_of(column, job->dp, map->columns);
	     d < first_of(column + 1, job->dp, map->columns); d++) {
		for (p = first_of(row, job->pp, map->rows);
		     p < first_of(row + 1, job->pp, map->rows); p++)
			worst = MAX(worst, value_at(map, d, p));
	}
	return worst;
}

static void draw_rect(const struct map *map, size_t column, size_t row, size_t n, int shade,
		      FILE *out)
{
	int rgb[3];

	colour_of(shade, rgb);
	(void)fprintf(
		out,
		"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#%02x%02x%02x\"",
		map->x + (double)column * map->cell_width, map->y + (double)row * map->cell_height,
		(double)n * map->cell_width, map->cell_height, (unsigned)rgb[0], (unsigned)rgb[1],
		(unsigned)rgb[2]);
}

static void draw_tip(const struct map *map, size_t d, size_t p, FILE *out)
{
	const struct trace_job *job = &map->a->trace->job;
	size_t w = d * job->pp + p;
	double exact = map->a->slowdown.exact[w];

	(void)fprintf(out, "><title>dp %zu, stage %zu, rank %" PRId32 ", ", d, p,
		      job->workers[w].rank);
	put_text(out, job->nodes[job->workers[w].node]);
	(void)fprintf(out, ": %.3f", map->a->slowdown.workers[w]);
	if (isfinite(exact))
		(void)fprintf(out, " (alone: %.3f)", exact);
	(void)fputs("</title></rect>\n", out);
}

/* The large map: workers have tooltips as long as each has its own cell. */
static void draw_cells(const struct map *map, FILE *out)
{
	const struct trace_job *job = &map->a->trace->job;
	bool each = map->columns == job->dp && map->rows == job->pp;
	size_t column, row;

	for (row = 0; row < map->rows; row++) {
		for (column = 0; column < map->columns; column++) {
			double s = worst_in(map, column, row);

			draw_rect(map, column, row, 1, shade_of(&map->scale, s), out);
			if (each)
				draw_tip(map, column, row, out);
			else
				(void)fputs("/>\n", out);
			if (map->cell_width < TEXT_CELL)
				continue;
			(void)fprintf(
				out,
				"<text x=\"%.2f\" y=\"%.2f\" class=\"c\" fill=\"%s\">%.2f</text>\n",
				map->x + ((double)column + 0.5) * map->cell_width,
				map->y + ((double)row + 0.5) * map->cell_height + 3,
				shade_of(&map->scale, s) > 150 ? "#fff" : "#222", s);
		}
	}
}

/* A small map: adjacent cells of the same colour are drawn as one rectangle. */
static void draw_runs(const struct map *map, FILE *out)
{
	size_t row, column, end;

	for (row = 0; row < map->rows; row++) {
		for (column = 0; column < map->columns; column = end) {
			int shade = shade_of(&map->scale, worst_in(map, column, row));

			end = column + 1;
			while (end < map->columns &&
			       shade_of(&map->scale, worst_in(map, end, row)) == shade)
				end++;
			draw_rect(map, column, row, end - column, shade, out);
			(void)fputs("/>\n", out);
		}
	}
	(void)fprintf(out,
		      "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" class=\"f\"/>\n",
		      map->x, map->y, (double)map->columns * map->cell_width,
		      (double)map->rows * map->cell_height);
}

static void draw_frame(const struct map *map, uint32_t worker, FILE *out)
{
	const struct trace_job *job = &map->a->trace->job;
	size_t d = worker / job->pp, p = worker % job->pp;

	(void)fprintf(out,
		      "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" class=\"g\"/>\n",
		      map->x + (double)(d * map->columns / job->dp) * map->cell_width,
		      map->y + (double)(p * map->rows / job->pp) * map->cell_height,
		      map->cell_width, map->cell_height);
}

/* Frame the workers of blamed hosts. */
static void draw_culprits(const struct map *map, FILE *out)
{
	const struct suspects *suspects = &map->a->suspects;
	size_t i, j;

	for (i = 0; suspects->counts && i < suspects->n; i++) {
		for (j = 0; j < suspects->list[i].n; j++)
			draw_frame(map, suspects->list[i].workers[j], out);
	}
}

/* Draw wrapped text from `y` on; returns where it ends. */
static double draw_words(const char *words, double y, FILE *out)
{
	const char *at = words;

	while (*at) {
		size_t n = strlen(at);
		CLEANUP(freep) char *line = NULL;

		if (n > LINE_MAX_BYTES) {
			for (n = LINE_MAX_BYTES; n > 0 && at[n] != ' '; n--)
				;
			n = n ? n : strcspn(at, " ");
		}
		line = xstrndup(at, n);
		(void)fprintf(out, "<text x=\"%d\" y=\"%.2f\">", MARGIN, y);
		put_text(out, line);
		(void)fputs("</text>\n", out);
		y += LINE_HEIGHT;
		at += n;
		at += strspn(at, " ");
	}
	return y;
}

/* Who is to blame, and who should act. */
static double draw_sentence(const struct attribution *a, double y, FILE *out)
{
	CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT(WORDS_MAX);

	words_sentence(a, &words);
	(void)strbuf_printf(&words, " %s", words_acts(a));
	if (a->suspects.counts)
		(void)strbuf_puts(&words, " A blue frame marks the blamed workers.");
	return draw_words(strbuf_text(&words), y, out);
}

/* Names of the slowest workers: cells have no room for them. */
static double draw_names(const struct attribution *a, double y, FILE *out)
{
	CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT(WORDS_MAX);
	const struct trace_job *job = &a->trace->job;
	size_t n = (size_t)job->dp * job->pp, i, w;
	CLEANUP(freep) bool *named = xcalloc(n, sizeof(*named));

	(void)strbuf_puts(&words, "Slowest:");
	for (i = 0; i < MIN(n, (size_t)NAMED); i++) {
		size_t worst = n;

		for (w = 0; w < n; w++) {
			if (!named[w] &&
			    (worst == n || a->slowdown.workers[w] > a->slowdown.workers[worst]))
				worst = w;
		}
		named[worst] = true;
		(void)strbuf_printf(&words, "%s %s (dp %zu stage %zu) %.3f", i ? "," : "",
				    job->nodes[job->workers[worst].node], worst / job->pp,
				    worst % job->pp, a->slowdown.workers[worst]);
	}
	return draw_words(strbuf_text(&words), y, out);
}

static void draw_legend(const struct scale *scale, double y, FILE *out)
{
	int i, rgb[3];

	for (i = 0; i < 100; i++) {
		colour_of(i * 255 / 99, rgb);
		(void)fprintf(
			out, "<rect x=\"%d\" y=\"%.2f\" width=\"2.1\" height=\"12\" fill=\"#%02x%02x%02x\"/>\n",
			WIDTH - MARGIN - 200 + 2 * i, y, (unsigned)rgb[0], (unsigned)rgb[1],
			(unsigned)rgb[2]);
	}
	for (i = 0; i <= 5; i++)
		(void)fprintf(out, "<text x=\"%d\" y=\"%.2f\" class=\"c\">%.2f</text>\n",
			      WIDTH - MARGIN - 200 + 40 * i, y + 24,
			      scale->low + i * (scale->high - scale->low) / 5);
	(void)fprintf(out, "<text x=\"%d\" y=\"%.2f\" class=\"c\">slowdown</text>\n",
		      WIDTH - MARGIN - 100, y - 4);
}

static void draw_axes(const struct map *map, FILE *out)
{
	const struct trace_job *job = &map->a->trace->job;
	size_t every_d = MAX((size_t)job->dp / 16, (size_t)1),
	       every_p = MAX((size_t)job->pp / 16, (size_t)1);
	double width = map->cell_width * (double)map->columns,
	       height = map->cell_height * (double)map->rows;
	size_t i;

	for (i = 0; i < job->dp; i += every_d)
		(void)fprintf(out, "<text x=\"%.2f\" y=\"%.2f\" class=\"c\">%zu</text>\n",
			      map->x + ((double)i + 0.5) * width / job->dp, map->y + height + 13, i);
	for (i = 0; i < job->pp; i += every_p)
		(void)fprintf(out, "<text x=\"%.2f\" y=\"%.2f\" class=\"e\">%zu</text>\n",
			      map->x - 6, map->y + ((double)i + 0.5) * height / job->pp + 4, i);
	(void)fprintf(
		out,
		"<text x=\"%.2f\" y=\"%.2f\" class=\"c\">DP rank</text>\n"
		"<text transform=\"translate(%.2f %.2f) rotate(-90)\" class=\"c\">stage</text>\n",
		map->x + width / 2, map->y + height + 28, map->x - 34, map->y + height / 2);
}

static struct map large_map(const struct attribution *a, struct scale scale, double y)
{
	const struct trace_job *job = &a->trace->job;
	size_t columns = MIN((size_t)job->dp, (size_t)COLUMNS_MAX);
	size_t rows = MIN((size_t)job->pp, (size_t)ROWS_MAX);
	double cell = MIN((double)(WIDTH - 2 * MARGIN) / (double)columns, (double)CELL_MAX);

	return (struct map){
		a, scale, -1, MARGIN, y, cell, MIN(MAX(cell, 4.0), 28.0), columns, rows
	};
}

/* The steps to show, in order: all, or the slowest. */
static size_t *shown_steps(const struct attribution *a, size_t *ret_n)
{
	size_t n = a->trace->n_steps, i, kept = 0;
	const double *times = a->slowdown.step_simulated;
	size_t *steps = xcalloc(n, sizeof(*steps));

	for (i = 0; i < n; i++) {
		size_t slower = 0, j;

		for (j = 0; n > STEPS_MAX && j < n && slower < STEPS_MAX; j++)
			slower += times[j] > times[i] || (!(times[j] < times[i]) && j < i);
		if (slower < STEPS_MAX)
			steps[kept++] = i;
	}
	*ret_n = kept;
	return steps;
}

/* Draw the small maps from `y` on; returns where they end. */
static double draw_steps(const struct attribution *a, struct scale scale, double y, FILE *out)
{
	const struct trace_job *job = &a->trace->job;
	size_t columns = MIN((size_t)job->dp, (size_t)STEP_COLUMNS);
	size_t rows = MIN((size_t)job->pp, (size_t)STEP_ROWS), n, i;
	CLEANUP(freep) size_t *steps = shown_steps(a, &n);

	(void)fprintf(out, "<text x=\"%d\" y=\"%.2f\" class=\"h\">Step by step%s</text>\n", MARGIN,
		      y, n < a->trace->n_steps ? ": the slowest" : "");
	for (i = 0; i < n; i++) {
		struct map map = { a,
				   scale,
				   (int64_t)steps[i],
				   MARGIN + (double)(i % ACROSS) * STEP_WIDTH,
				   y + 28 + (double)(i / ACROSS) * STEP_HEIGHT,
				   (double)(STEP_WIDTH - 16) / (double)columns,
				   (double)(STEP_HEIGHT - 32) / (double)rows,
				   columns,
				   rows };

		(void)fprintf(out, "<text x=\"%.2f\" y=\"%.2f\">%" PRId64 ": %.3f</text>\n", map.x,
			      map.y - 5, a->trace->steps[steps[i]],
			      a->slowdown.step_simulated[steps[i]] / a->slowdown.ideal);
		draw_runs(&map, out);
	}
	return y + 28 + (double)((n + ACROSS - 1) / ACROSS) * STEP_HEIGHT;
}

static void draw_title(const struct attribution *a, double y, FILE *out)
{
	const struct trace *trace = a->trace;

	(void)fprintf(out, "<text x=\"%d\" y=\"%.2f\" class=\"t\">", MARGIN, y + 28);
	put_text(out, trace->job.name ? trace->job.name : "Job without a name");
	(void)fprintf(out, ": slowdown %.3f, %s</text>\n", a->slowdown.s,
		      cause_name(a->cause.primary));
	(void)fprintf(
		out,
		"<text x=\"%d\" y=\"%.2f\">steps %" PRId64 " to %" PRId64
		"; each cell is a worker: the lower slowdown of its DP rank and its stage</text>\n",
		MARGIN, y + 46, trace->steps[0], trace->steps[trace->n_steps - 1]);
}

static void open_drawing(FILE *out)
{
	(void)fprintf(
		out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
		"font-family=\"sans-serif\" font-size=\"11\">\n"
		"<title>Slowdown of a training job by worker</title>\n"
		"<style>.t{font-size:18px;font-weight:bold}.h{font-size:14px;font-weight:bold}"
		".c{text-anchor:middle}.e{text-anchor:end}.f{fill:none;stroke:#999;stroke-width:.5}"
		".g{fill:none;stroke:#06c;stroke-width:2}</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		WIDTH);
}

/*
 * Windows are drawn below each other. The total height is known only after the last one, so a
 * style at the end sets it.
 */
void form_heatmap(const struct attribution *a, size_t i, bool more, FILE *out)
{
	static double y; /* top of the next window */
	struct scale scale = scale_of(a);
	struct map map;
	double below;

	if (i == 0) {
		open_drawing(out);
		y = 0;
	}
	draw_title(a, y, out);
	draw_legend(&scale, y + 24, out);
	below = draw_sentence(a, y + 66, out);
	map = large_map(a, scale, below + 8);
	draw_cells(&map, out);
	draw_culprits(&map, out);
	draw_axes(&map, out);
	below = map.y + map.cell_height * (double)map.rows;
	below = draw_names(a, below + 48, out);
	y = draw_steps(a, scale, below + 24, out);
	if (!more)
		(void)fprintf(out, "<style>:root{height:%.0fpx}</style>\n</svg>\n", y + 20);
}
