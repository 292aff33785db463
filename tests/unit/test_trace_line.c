/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "attribution/line.h"
#include "attribution/line_csv.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define LINE                                                                               \
	"{\"step\":7,\"dp_rank\":1,\"stage\":2,\"rank\":6,\"optype\":\"forward-compute\"," \
	"\"seq_id\":3,\"mb_id\":3,\"mc\":0,\"gmc\":2,\"start_ts\":0.123456789,\"duration\":0.5}"
#define COLUMNS "step,dp_rank,stage,rank,optype,seq_id,mb_id,mc,gmc,start_ts,duration"

static struct line_reader reader_of(struct line_style *style)
{
	line_style_optrace(style);
	return (struct line_reader){ .style = style };
}

/* Read one line as it would stand in a block. */
static int read_text(struct line_reader *reader, const char *text, struct trace_op *op,
		     struct err *err)
{
	size_t length = strlen(text);
	CLEANUP(freep) char *block = xcalloc(1, length + 1 + LINE_PADDING);
	const char *at = block;
	int r;

	memcpy(block, text, length);
	block[length] = '\n';
	r = line_read(reader, &at, op, err);
	if (r >= 0)
		CHECK_EQ(at - block, length + 1);
	return r;
}

static bool same_op(const struct trace_op *a, const struct trace_op *b)
{
	return a->step == b->step && a->dp_rank == b->dp_rank && a->stage == b->stage &&
	       a->seq_id == b->seq_id && a->rank == b->rank && a->mb_id == b->mb_id &&
	       a->mc == b->mc && a->gmc == b->gmc && a->type == b->type && a->start == b->start &&
	       a->duration == b->duration;
}

static int oracle_whole(const json_t *object, const char *key, int64_t *member)
{
	const json_t *value = json_object_get(object, key);

	if (!value)
		return 0;
	*member = json_integer_value(value);
	return json_is_integer(value) ? 0 : -EINVAL;
}

static int oracle_real(const json_t *object, const char *key, double *member)
{
	const json_t *value = json_object_get(object, key);

	*member = json_number_value(value);
	return json_is_number(value) ? 0 : -EINVAL;
}

/* The same with jansson: 1 and the operation, or -EINVAL. */
static int oracle(const char *text, struct trace_op *op)
{
	static const char *const needed[] = { "step", "dp_rank", "stage", "seq_id" };
	struct err err = ERR_INIT;
	const char *name;
	json_t *object;
	size_t i;
	int bad = 0;

	if (json_parse(text, strlen(text), "line", &object, &err) < 0)
		return -EINVAL;
	*op = (struct trace_op)TRACE_OP_INIT;
	bad |= oracle_whole(object, "step", &op->step);
	bad |= oracle_whole(object, "dp_rank", &op->dp_rank);
	bad |= oracle_whole(object, "stage", &op->stage);
	bad |= oracle_whole(object, "seq_id", &op->seq_id);
	bad |= oracle_whole(object, "rank", &op->rank);
	bad |= oracle_whole(object, "mb_id", &op->mb_id);
	bad |= oracle_whole(object, "mc", &op->mc);
	bad |= oracle_whole(object, "gmc", &op->gmc);
	bad |= oracle_real(object, "start_ts", &op->start);
	bad |= oracle_real(object, "duration", &op->duration);
	for (i = 0; i < ARRAY_SIZE(needed); i++)
		bad |= json_object_get(object, needed[i]) ? 0 : -EINVAL;
	name = json_string_value(json_object_get(object, "optype"));
	op->type = name ? optype_find(name, strlen(name)) : -1;
	json_decref(object);
	return bad || op->type < 0 ? -EINVAL : 1;
}

/* Whatever the reader knew before, it finds what jansson finds. */
static bool check_line(struct line_reader *knowing, const char *text)
{
	struct line_reader fresh = { .style = knowing->style };
	struct trace_op a = TRACE_OP_INIT, b = TRACE_OP_INIT, c = TRACE_OP_INIT;
	struct err err = ERR_INIT;
	int want = oracle(text, &a);
	bool strictly = read_text(&fresh, text, &b, &err) == want && (want < 0 || same_op(&a, &b));
	bool by_shape = read_text(knowing, text, &c, &err) == want && (want < 0 || same_op(&a, &c));

	CHECK(strictly);
	CHECK(by_shape);
	CHECK(want == 1 || (err.msg[0] && !strchr(err.msg, '\n')));
	if (!strictly || !by_shape)
		fprintf(stderr, "the line was: %s\n", text);
	line_reader_release(&fresh);
	return strictly && by_shape;
}

static void a_line_has_its_values(void)
{
	struct line_style style;
	struct line_reader reader = reader_of(&style);
	struct err err = ERR_INIT;
	struct trace_op op = TRACE_OP_INIT;
	int i;

	for (i = 0; i < 2; i++) { /* the second time by its shape */
		op = (struct trace_op)TRACE_OP_INIT;
		CHECK_EQ(read_text(&reader, LINE, &op, &err), 1);
		CHECK_EQ(op.step, 7);
		CHECK_EQ(op.dp_rank, 1);
		CHECK_EQ(op.stage, 2);
		CHECK_EQ(op.rank, 6);
		CHECK_EQ(op.type, OP_FORWARD_COMPUTE);
		CHECK_EQ(op.seq_id, 3);
		CHECK_EQ(op.mb_id, 3);
		CHECK_EQ(op.mc, 0);
		CHECK_EQ(op.gmc, 2);
		CHECK(op.start == 0.123456789 && op.duration == 0.5);
		CHECK(reader.shape.n > 0);
	}
}

static void a_line_like_the_one_before_is_read_by_its_shape(void)
{
	static const char *const alike[] = {
		LINE "\n",
		"{\"step\":-1,\"dp_rank\":0,\"stage\":0,\"rank\":123456789012345678,\"optype\":"
		"\"gc\","
		"\"seq_id\":0,\"mb_id\":-1,\"mc\":-1,\"gmc\":-1,\"start_ts\":1700000000.123456789,"
		"\"duration\":1e-05}\r\n",
	};
	struct line_style style;
	struct line_reader reader = reader_of(&style);
	struct err err = ERR_INIT;
	struct trace_op op = TRACE_OP_INIT;
	size_t i;

	CHECK_EQ(read_text(&reader, LINE, &op, &err), 1);
	for (i = 0; i < ARRAY_SIZE(alike); i++) {
		char block[1024] = "";

		memcpy(block, alike[i], strlen(alike[i]));
		CHECK(line_shape_read(&reader.shape, &style.names, block, &op) ==
		      strchr(block, '\n'));
	}
	CHECK_EQ(op.rank, 123456789012345678);
	CHECK(op.start == 1700000000.123456789 && op.duration == 1e-05);
}

static void what_is_wrong_is_said(void)
{
	static const struct {
		const char *from, *to, *says;
	} rows[] = {
		{ "forward-compute", "forward-think", "unknown operation 'forward-think'" },
		{ "forward-compute", "forward-send-backward-recv", "is two operations" },
		{ "\"step\":7", "\"step\":7.5", "step: 7.5 is not a whole number" },
		{ "\"step\":7", "\"step\":\"7\"", "step: '\"7\"' is not a number" },
		{ "\"step\":7", "\"step\":007", "step: '007' is not a number" },
		{ "\"step\":7,", "", "step is missing" },
		{ "\"dp_rank\"", "\"step\"", "step appears twice" },
		{ "0.5", "NaN", "duration: 'NaN' is not a number" },
		{ "0.5", "-Infinity", "duration: '-Infinity' is not a number" },
		{ "0.5", "1e999", "duration: '1e999' is not a number" },
		{ "0.5", "null", "duration: 'null' is not a number" },
		{ "0.5", "0.5,\"a\":1,\"a\":2", "not a valid JSON" },
		{ "0.5}", "0.5", "not a valid JSON object from column 142 on" },
		{ "0.5}", "0.5}]", "not a valid JSON" },
		{ "{", "[", "not a valid JSON object from column 1 on" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *at = strstr(LINE, rows[i].from);
		CLEANUP(freep)
		char *text = xasprintf("%.*s%s%s", (int)(at - LINE), LINE, rows[i].to,
				       at + strlen(rows[i].from));
		struct line_style style;
		struct line_reader reader = reader_of(&style);
		struct err err = ERR_INIT;
		struct trace_op op;

		CHECK_EQ(read_text(&reader, text, &op, &err), -EINVAL);
		CHECK_HAS(err.msg, rows[i].says);
		(void)check_line(&reader, text);
	}
}

/* A number of random look, most of them valid. */
static void random_number(struct random *r, struct strbuf *text)
{
	size_t digits = 1 + random_below(r, random_below(r, 8) ? 6 : 24), i;

	(void)strbuf_puts(text, random_below(r, 6) ? "" : "-");
	if (random_below(r, 2)) {
		(void)strbuf_puts(text, "0");
	} else {
		for (i = 0; i < digits; i++)
			(void)strbuf_printf(text, "%d", (int)random_below(r, 10));
	}
	if (random_below(r, 4)) {
		(void)strbuf_puts(text, ".");
		for (i = random_below(r, 10) ? random_below(r, 20) + 1 : 0; i > 0; i--)
			(void)strbuf_printf(text, "%d", (int)random_below(r, 10));
	}
	if (!random_below(r, 6))
		(void)strbuf_printf(text, "%s%s%d", random_below(r, 2) ? "e" : "E",
				    &"+\0-\0"[random_below(r, 2) * 2], (int)random_below(r, 330));
}

static void times_are_the_doubles_that_strtod_finds(void)
{
	struct random r = random_seeded(8);
	struct line_style style;
	struct line_reader knowing = reader_of(&style);
	int left = test_full() ? 1000000 : 30000;
	bool good = true;

	for (; left > 0 && good; left--) {
		CLEANUP(strbuf_release) struct strbuf number = STRBUF_INIT(100);
		CLEANUP(freep) char *text = NULL;
		struct trace_op op = TRACE_OP_INIT;
		struct err err = ERR_INIT;
		char *end;
		double want;

		random_number(&r, &number);
		text = xasprintf(
			"{\"step\":7,\"dp_rank\":0,\"stage\":0,\"optype\":\"gc\",\"seq_id\":0,"
			"\"start_ts\":%s,\"duration\":1}",
			strbuf_text(&number));
		good = check_line(&knowing, text);
		want = strtod(strbuf_text(&number), &end);
		if (read_text(&knowing, text, &op, &err) == 1)
			CHECK(*end == '\0' && op.start == want && isfinite(want));
	}
	line_reader_release(&knowing);
}

/* Members of a random order, look and kind; now and then one is absent. */
static void random_line(struct random *r, struct strbuf *text)
{
	static const char *const spaces[] = { "", "", "", " ", "  ", "\t" };
	static const char *const others[] = { "\"node\":\"n1\"",     "\"tp_rank\":3",
					      "\"x\":[1,{\"y\":2}]", "\"w\":\"\\u00e9\"",
					      "\"z\":null",	     "\"v\":1.5e3" };
	const char *space = spaces[random_below(r, ARRAY_SIZE(spaces))];
	size_t at = random_below(r, 11), step = 1 + random_below(r, 10), i;
	size_t other = random_below(r, 3) ? 99 : random_below(r, 12);

	(void)strbuf_printf(text, "{%s", space);
	for (i = 0; i < FIELD_N; i++, at = (at + step) % FIELD_N) {
		const struct line_field_info *field = &line_fields[at];

		if (!random_below(r, 200))
			continue;
		if (i == other)
			(void)strbuf_printf(text, "%s%s,%s", space,
					    others[random_below(r, ARRAY_SIZE(others))], space);
		(void)strbuf_printf(text, "\"%s\"%s:%s", field->name, space, space);
		if (at == FIELD_OPTYPE)
			(void)strbuf_printf(text, "\"%s\"",
					    optype_name((enum optype)random_below(r, OPTYPE_N)));
		else if (at >= FIELD_START)
			(void)strbuf_printf(text, "%.*f", (int)random_below(r, 12) + 1,
					    100 * random_unit(r));
		else
			(void)strbuf_printf(text, "%d", (int)random_below(r, 1000) - 5);
		(void)strbuf_puts(text, i + 1 < FIELD_N ? "," : "");
	}
	(void)strbuf_printf(text, "%s}", space);
}

static void damage(struct random *r, struct strbuf *text)
{
	static const char bytes[] = "{}[]\",:.0123456789eE+-\\ntfN \x01\x7f\xc3\xa9";
	size_t n = random_below(r, 3);

	for (; n > 0; n--) {
		char byte = bytes[random_below(r, sizeof(bytes) - 1)];

		text->data[random_below(r, text->len)] = byte;
	}
}

static void any_line_is_what_jansson_finds(void)
{
	struct random r = random_seeded(42);
	struct line_style style;
	struct line_reader knowing = reader_of(&style);
	int left = test_full() ? 1000000 : 20000;
	bool good = true;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);

	for (; left > 0 && good; left--) {
		if (!random_below(&r, 4) || text.len == 0) { /* else the same with other damage */
			strbuf_consume(&text, text.len);
			random_line(&r, &text);
		}
		damage(&r, &text);
		good = check_line(&knowing, strbuf_text(&text));
	}
	line_reader_release(&knowing);
}

static void a_csv_is_read_by_its_columns(void)
{
	static const struct {
		const char *columns, *line;
	} rows[] = {
		{ COLUMNS, "23,1,2,6,backward-send,5,-1,-1,-1,1.25,0.0625" },
		{ COLUMNS "\r", "23,1,2,6,backward-send,5,-1,-1,-1,1.25,0.0625\r" },
		{ "duration,start_ts,what,seq_id,stage,dp_rank,rank,step,optype",
		  "0.0625,1.25,any thing,5,2,1,6,23,backward-send" },
	};
	size_t i;
	int again;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct line_style style;
		struct line_reader reader = { .style = &style };
		struct err err = ERR_INIT;

		CHECK_EQ(line_style_csv(&style, rows[i].columns, strlen(rows[i].columns), &err), 0);
		for (again = 0; again < 2; again++) {
			struct trace_op op = TRACE_OP_INIT;

			CHECK_EQ(read_text(&reader, rows[i].line, &op, &err), 1);
			CHECK_EQ(op.step, 23);
			CHECK_EQ(op.dp_rank, 1);
			CHECK_EQ(op.stage, 2);
			CHECK_EQ(op.rank, 6);
			CHECK_EQ(op.type, OP_BACKWARD_SEND);
			CHECK_EQ(op.seq_id, 5);
			CHECK_EQ(op.mb_id, -1);
			CHECK(op.start == 1.25 && op.duration == 0.0625);
			CHECK(reader.shape.n > 0);
		}
	}
}

static void a_wrong_csv_is_told(void)
{
	static const struct {
		const char *columns, *line, *says;
	} rows[] = {
		{ "step,step,x", NULL, "column step appears twice" },
		{ "step,dp_rank", NULL, "columns of the CSV: stage is missing" },
		{ "a,b,c", NULL, "neither the meta line of optrace/1 nor the names of CSV columns" },
		{ COLUMNS, "23,1,2,6,backward-send,5,-1,-1,-1,1.25",
		  "fewer fields than the 11 columns" },
		{ COLUMNS, "23,1,2,6,backward-send,5,-1,-1,-1,1.25,2,3",
		  "more fields than the 11 columns" },
		{ COLUMNS, "23,1,2,6,backward-sent,5,-1,-1,-1,1.25,2",
		  "unknown operation 'backward-sent'" },
		{ COLUMNS, "23,1,,6,backward-send,5,-1,-1,-1,1.25,2", "stage: '' is not a number" },
		{ COLUMNS, "23,1,2,6,backward-send,5,-1,-1,-1,nan,2",
		  "start_ts: 'nan' is not a number" },
		{ COLUMNS, "23.5,1,2,6,backward-send,5,-1,-1,-1,1,2",
		  "step: 23.5 is not a whole number" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct line_style style;
		struct line_reader reader = { .style = &style };
		struct err err = ERR_INIT;
		struct trace_op op;
		int r = line_style_csv(&style, rows[i].columns, strlen(rows[i].columns), &err);

		if (r == 0 && rows[i].line)
			r = read_text(&reader, rows[i].line, &op, &err);
		CHECK_EQ(r, -EINVAL);
		CHECK_HAS(err.msg, rows[i].says);
	}
}

static void empty_lines_are_none(void)
{
	static const char *const empty[] = { "", " ", "\r", " \t " };
	struct line_style style;
	struct line_reader reader = reader_of(&style);
	struct err err = ERR_INIT;
	struct trace_op op;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(empty); i++)
		CHECK_EQ(read_text(&reader, empty[i], &op, &err), 0);
}

static void a_line_has_a_limit(void)
{
	CLEANUP(freep) char *text = xasprintf("%*s", LINE_MAX_BYTES + 1, LINE);
	struct line_style style;
	struct line_reader reader = reader_of(&style);
	struct err err = ERR_INIT;
	struct trace_op op;

	CHECK_EQ(read_text(&reader, text, &op, &err), -EINVAL);
	CHECK_STR(err.msg, "longer than 65536 bytes");
	CHECK_EQ(read_text(&reader, text + 1, &op, &err), 1);
}

static const struct test tests[] = {
	TEST(a_line_has_its_values),
	TEST(a_line_like_the_one_before_is_read_by_its_shape),
	TEST(what_is_wrong_is_said),
	TEST(times_are_the_doubles_that_strtod_finds),
	TEST(any_line_is_what_jansson_finds),
	TEST(a_csv_is_read_by_its_columns),
	TEST(a_wrong_csv_is_told),
	TEST(empty_lines_are_none),
	TEST(a_line_has_a_limit),
};

TEST_SUITE(tests);
