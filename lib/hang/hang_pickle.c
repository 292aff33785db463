/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_pickle.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/err.h"

enum { PROTO = 0x80, PROTOCOL = 2, LONG1_MAX = 8, BYTE_BITS = 8, ALLOC_LEAST = 64 };

/* Opcodes of pickles up to protocol 5, by byte; supported ones have a `take`. */
struct reading;
typedef int take_opcode(struct reading *reading, struct err *err);
struct opcode {
	const char *name;
	take_opcode *take;
};

struct reading {
	struct pool *pool;
	const unsigned char *bytes;
	size_t n, at, opcode_at;
	const char *name;	   /* of the file */
	const char *opcode;	   /* name of the current one */
	struct hang_value **stack; /* NULL is a mark; owned */
	size_t n_stack, stack_alloc;
	struct hang_value **memo; /* by number; owned */
	size_t memo_alloc;
	size_t memory; /* approximately, taken from the pool */
	bool stopped;
};

static void reading_release(struct reading *reading)
{
	free(reading->stack);
	free(reading->memo);
}

static int fail(const struct reading *reading, int code, const char *what, struct err *err)
{
	return err_set(err, code, "%s: byte %zu: %s %s: refused", reading->name, reading->opcode_at,
		       reading->opcode, what);
}

/* The next bytes; NULL with -ENODATA in `ret`. */
static const unsigned char *next(struct reading *reading, size_t n, int *ret, struct err *err)
{
	const unsigned char *at = reading->bytes + reading->at;

	if (n > reading->n - reading->at) {
		*ret = err_set(err, ENODATA, "%s: byte %zu: it is truncated", reading->name,
			       reading->n);
		return NULL;
	}
	reading->at += n;
	return at;
}

static int next_number(struct reading *reading, size_t n, uint64_t *ret, struct err *err)
{
	int r = 0;
	const unsigned char *at = next(reading, n, &r, err);
	uint64_t number = 0;
	size_t i;

	if (!at)
		return r;
	for (i = n; i > 0; i--)
		number = number << BYTE_BITS | at[i - 1];
	*ret = number;
	return 0;
}

static int count_memory(struct reading *reading, size_t bytes, struct err *err)
{
	reading->memory += bytes;
	return reading->memory > HANG_PICKLE_MEMORY_MAX
		       ? fail(reading, E2BIG, "takes more memory than a dump may", err)
		       : 0;
}

/* --- the stack ------------------------------------------------------------- */

static int push(struct reading *reading, struct hang_value *v, struct err *err)
{
	struct hang_value **grown;
	size_t want;

	if (reading->n_stack == reading->stack_alloc) {
		want = MAX(reading->stack_alloc * 2, (size_t)ALLOC_LEAST);
		if (want > HANG_PICKLE_STACK_MAX)
			return fail(reading, E2BIG, "makes the stack too deep", err);
		grown = realloc(reading->stack, want * sizeof(*grown));
		if (!grown)
			return fail(reading, ENOMEM, "found no memory", err);
		reading->stack = grown;
		reading->stack_alloc = want;
	}
	reading->stack[reading->n_stack++] = v;
	return 0;
}

static struct hang_value *make(struct reading *reading, enum hang_value_kind kind)
{
	struct hang_value *v = pool_take(reading->pool, sizeof(*v));

	reading->memory += sizeof(*v);
	v->kind = (uint8_t)kind;
	v->depth = kind == HANG_VALUE_LIST || kind == HANG_VALUE_DICT;
	return v;
}

static int push_number(struct reading *reading, enum hang_value_kind kind, int64_t number,
		       struct err *err)
{
	struct hang_value *v = make(reading, kind);

	v->number = number;
	return count_memory(reading, 0, err) < 0 ? -E2BIG : push(reading, v, err);
}

/* Number of values above the last mark; -EINVAL: no mark. */
static int above_mark(const struct reading *reading, size_t *ret, struct err *err)
{
	size_t i;

	for (i = reading->n_stack; i > 0; i--)
		if (!reading->stack[i - 1]) {
			*ret = reading->n_stack - i;
			return 0;
		}
	return fail(reading, EINVAL, "finds no mark", err);
}

/* Moves the topmost values into the container, which closes them. */
static int put_in(struct reading *reading, struct hang_value *into, size_t n, struct err *err)
{
	/* An empty stack may not be allocated. */
	struct hang_value **items = n > 0 ? reading->stack + reading->n_stack - n : NULL;
	size_t i;
	int r;

	r = count_memory(reading,
			 (into->n + n > into->alloc ? 2 * (into->n + n) : 0) * sizeof(*into->items),
			 err);
	if (r < 0)
		return r;
	hang_value_reserve(reading->pool, into, n);
	for (i = 0; i < n; i++) {
		if (!items[i])
			return fail(reading, EINVAL, "takes a mark for a value", err);
		items[i]->closed = true;
		if (into->depth <= items[i]->depth)
			into->depth = (uint8_t)(items[i]->depth + 1);
		into->items[into->n++] = items[i];
	}
	if (into->depth > HANG_VALUE_DEPTH_MAX)
		return fail(reading, E2BIG, "nests too deep", err);
	reading->n_stack -= n;
	return 0;
}

/* --- values ---------------------------------------------------------------- */

static int take_proto(struct reading *reading, struct err *err)
{
	uint64_t protocol = 0;
	int r = next_number(reading, 1, &protocol, err);

	if (r < 0)
		return r;
	return protocol == PROTOCOL ? 0 : fail(reading, EINVAL, "is not of protocol 2", err);
}

static int take_stop(struct reading *reading, struct err *err)
{
	reading->stopped = true;
	if (reading->n_stack != 1 || !reading->stack[0])
		return fail(reading, EINVAL, "finds no value, or more than one", err);
	if (reading->at != reading->n)
		return fail(reading, EINVAL, "is not the last byte", err);
	return 0;
}

static int take_none(struct reading *reading, struct err *err)
{
	return push_number(reading, HANG_VALUE_NONE, 0, err);
}

static int take_true(struct reading *reading, struct err *err)
{
	return push_number(reading, HANG_VALUE_BOOL, 1, err);
}

static int take_false(struct reading *reading, struct err *err)
{
	return push_number(reading, HANG_VALUE_BOOL, 0, err);
}

static int take_int(struct reading *reading, size_t n, struct err *err)
{
	uint64_t number = 0;
	int r = next_number(reading, n, &number, err);

	if (r < 0)
		return r;
	/* only BININT is signed */
	return push_number(reading, HANG_VALUE_INT,
			   n == sizeof(int32_t) ? (int32_t)(uint32_t)number : (int64_t)number, err);
}

static int take_binint(struct reading *reading, struct err *err)
{
	return take_int(reading, sizeof(int32_t), err);
}

static int take_binint1(struct reading *reading, struct err *err)
{
	return take_int(reading, 1, err);
}

static int take_binint2(struct reading *reading, struct err *err)
{
	return take_int(reading, 2, err);
}

/* Little endian, two's complement, with the length in the first byte. */
static int take_long1(struct reading *reading, struct err *err)
{
	uint64_t n = 0, number = 0;
	unsigned left;
	int r = next_number(reading, 1, &n, err);

	if (r == 0 && n > LONG1_MAX)
		r = fail(reading, EINVAL, "is of more than 8 bytes", err);
	if (r == 0)
		r = next_number(reading, (size_t)n, &number, err);
	if (r < 0)
		return r;
	left = (unsigned)(LONG1_MAX - n) * BYTE_BITS;
	if (n > 0 && left > 0 && number >> (n * BYTE_BITS - 1))
		number |= UINT64_MAX << (n * BYTE_BITS);
	return push_number(reading, HANG_VALUE_INT, (int64_t)number, err);
}

/* Big endian, unlike all other numbers. */
static int take_binfloat(struct reading *reading, struct err *err)
{
	int r = 0;
	const unsigned char *at = next(reading, sizeof(double), &r, err);
	struct hang_value *v;
	uint64_t bits = 0;
	size_t i;

	if (!at)
		return r;
	for (i = 0; i < sizeof(double); i++)
		bits = bits << BYTE_BITS | at[i];
	v = make(reading, HANG_VALUE_REAL);
	memcpy(&v->real, &bits, sizeof(bits));
	return push(reading, v, err);
}

static int take_text(struct reading *reading, struct err *err)
{
	const unsigned char *at;
	struct hang_value *v;
	uint64_t n = 0;
	int r = next_number(reading, sizeof(uint32_t), &n, err);

	if (r == 0 && n > HANG_PICKLE_TEXT_MAX)
		r = fail(reading, E2BIG, "is longer than a text may be", err);
	if (r == 0)
		r = count_memory(reading, (size_t)n + 1, err);
	if (r < 0)
		return r;
	at = next(reading, (size_t)n, &r, err);
	if (!at)
		return r;
	v = make(reading, HANG_VALUE_TEXT);
	v->text = pool_text(reading->pool, (const char *)at, (size_t)n);
	v->n = (size_t)n;
	return push(reading, v, err);
}

/* --- containers ------------------------------------------------------------ */

static int take_mark(struct reading *reading, struct err *err)
{
	return push(reading, NULL, err);
}

static int push_container(struct reading *reading, enum hang_value_kind kind, struct err *err)
{
	struct hang_value *v = make(reading, kind);
	int r = count_memory(reading, 0, err);

	return r < 0 ? r : push(reading, v, err);
}

static int take_list(struct reading *reading, struct err *err)
{
	return push_container(reading, HANG_VALUE_LIST, err);
}

static int take_dict(struct reading *reading, struct err *err)
{
	return push_container(reading, HANG_VALUE_DICT, err);
}

/* Replaces the topmost `n` values by a tuple. */
static int make_tuple(struct reading *reading, size_t n, struct err *err)
{
	struct hang_value *v;
	int r;

	if (reading->n_stack < n)
		return fail(reading, EINVAL, "finds too few values", err);
	v = make(reading, HANG_VALUE_LIST);
	r = put_in(reading, v, n, err);
	return r < 0 ? r : push(reading, v, err);
}

static int take_tuple(struct reading *reading, struct err *err)
{
	size_t n = 0;
	int r = above_mark(reading, &n, err);
	struct hang_value *v;

	if (r < 0)
		return r;
	v = make(reading, HANG_VALUE_LIST);
	r = put_in(reading, v, n, err);
	if (r < 0)
		return r;
	reading->n_stack--; /* the mark */
	return push(reading, v, err);
}

static int take_empty_tuple(struct reading *reading, struct err *err)
{
	return make_tuple(reading, 0, err);
}

static int take_tuple1(struct reading *reading, struct err *err)
{
	return make_tuple(reading, 1, err);
}

static int take_tuple2(struct reading *reading, struct err *err)
{
	return make_tuple(reading, 2, err);
}

static int take_tuple3(struct reading *reading, struct err *err)
{
	return make_tuple(reading, 3, err);
}

/* The container below the `n` topmost values, if it can take them. */
static int add_to(struct reading *reading, size_t n, bool marked, enum hang_value_kind kind,
		  struct err *err)
{
	struct hang_value *into;
	int r;

	if (reading->n_stack < n + marked + 1)
		return fail(reading, EINVAL, "finds nothing to add to", err);
	into = reading->stack[reading->n_stack - n - marked - 1];
	if (!into || into->kind != kind)
		return fail(reading, EINVAL, "finds no container of its kind", err);
	if (into->closed)
		return fail(reading, EINVAL, "changes what was finished", err);
	if (kind == HANG_VALUE_DICT && n % 2 != 0)
		return fail(reading, EINVAL, "finds a key without a value", err);
	r = put_in(reading, into, n, err);
	if (r == 0)
		reading->n_stack -= marked;
	return r;
}

static int take_appends(struct reading *reading, struct err *err)
{
	size_t n = 0;
	int r = above_mark(reading, &n, err);

	return r < 0 ? r : add_to(reading, n, true, HANG_VALUE_LIST, err);
}

static int take_append(struct reading *reading, struct err *err)
{
	return add_to(reading, 1, false, HANG_VALUE_LIST, err);
}

static int take_setitems(struct reading *reading, struct err *err)
{
	size_t n = 0;
	int r = above_mark(reading, &n, err);

	return r < 0 ? r : add_to(reading, n, true, HANG_VALUE_DICT, err);
}

static int take_setitem(struct reading *reading, struct err *err)
{
	return add_to(reading, 2, false, HANG_VALUE_DICT, err);
}

/* --- memo ------------------------------------------------------------------ */

static int put_memo(struct reading *reading, size_t width, struct err *err)
{
	struct hang_value **grown;
	uint64_t place = 0;
	size_t want;
	int r = next_number(reading, width, &place, err);

	if (r < 0)
		return r;
	if (reading->n_stack == 0 || !reading->stack[reading->n_stack - 1])
		return fail(reading, EINVAL, "finds nothing to memoize", err);
	if (place >= HANG_PICKLE_MEMO_MAX)
		return fail(reading, E2BIG, "remembers too much", err);
	if (place >= reading->memo_alloc) {
		want = MAX(reading->memo_alloc * 2, (size_t)ALLOC_LEAST);
		want = MAX(want, (size_t)place + 1);
		grown = realloc(reading->memo, want * sizeof(*grown));
		if (!grown)
			return fail(reading, ENOMEM, "found no memory", err);
		memset(grown + reading->memo_alloc, 0,
		       (want - reading->memo_alloc) * sizeof(*grown));
		reading->memo = grown;
		reading->memo_alloc = want;
	}
	reading->memo[place] = reading->stack[reading->n_stack - 1];
	return 0;
}

static int get_memo(struct reading *reading, size_t width, struct err *err)
{
	struct hang_value *v;
	uint64_t place = 0;
	int r = next_number(reading, width, &place, err);

	if (r < 0)
		return r;
	v = place < reading->memo_alloc ? reading->memo[place] : NULL;
	if (!v)
		return fail(reading, EINVAL, "asks for something that was not memoized", err);
	/* A container that is still open would contain itself. */
	if (!v->closed && v->depth > 0)
		return fail(reading, EINVAL, "asks for something that is not finished", err);
	return push(reading, v, err);
}

static int take_binput(struct reading *reading, struct err *err)
{
	return put_memo(reading, 1, err);
}

static int take_long_binput(struct reading *reading, struct err *err)
{
	return put_memo(reading, sizeof(uint32_t), err);
}

static int take_binget(struct reading *reading, struct err *err)
{
	return get_memo(reading, 1, err);
}

static int take_long_binget(struct reading *reading, struct err *err)
{
	return get_memo(reading, sizeof(uint32_t), err);
}

/* --- the table ------------------------------------------------------------- */

/* Names as in pickletools.py; opcodes without a function are refused. */
static const struct opcode opcodes[UINT8_MAX + 1] = {
	[PROTO] = { "PROTO", take_proto },
	['.'] = { "STOP", take_stop },
	['N'] = { "NONE", take_none },
	[0x88] = { "NEWTRUE", take_true },
	[0x89] = { "NEWFALSE", take_false },
	['J'] = { "BININT", take_binint },
	['K'] = { "BININT1", take_binint1 },
	['M'] = { "BININT2", take_binint2 },
	[0x8a] = { "LONG1", take_long1 },
	['G'] = { "BINFLOAT", take_binfloat },
	['X'] = { "BINUNICODE", take_text },
	['('] = { "MARK", take_mark },
	[']'] = { "EMPTY_LIST", take_list },
	['}'] = { "EMPTY_DICT", take_dict },
	[')'] = { "EMPTY_TUPLE", take_empty_tuple },
	['t'] = { "TUPLE", take_tuple },
	[0x85] = { "TUPLE1", take_tuple1 },
	[0x86] = { "TUPLE2", take_tuple2 },
	[0x87] = { "TUPLE3", take_tuple3 },
	['a'] = { "APPEND", take_append },
	['e'] = { "APPENDS", take_appends },
	['s'] = { "SETITEM", take_setitem },
	['u'] = { "SETITEMS", take_setitems },
	['q'] = { "BINPUT", take_binput },
	['r'] = { "LONG_BINPUT", take_long_binput },
	['h'] = { "BINGET", take_binget },
	['j'] = { "LONG_BINGET", take_long_binget },
	['c'] = { "GLOBAL", NULL },
	['R'] = { "REDUCE", NULL },
	['b'] = { "BUILD", NULL },
	['i'] = { "INST", NULL },
	['o'] = { "OBJ", NULL },
	['P'] = { "PERSID", NULL },
	['Q'] = { "BINPERSID", NULL },
	['0'] = { "POP", NULL },
	['1'] = { "POP_MARK", NULL },
	['2'] = { "DUP", NULL },
	['F'] = { "FLOAT", NULL },
	['I'] = { "INT", NULL },
	['L'] = { "LONG", NULL },
	['S'] = { "STRING", NULL },
	['T'] = { "BINSTRING", NULL },
	['U'] = { "SHORT_BINSTRING", NULL },
	['V'] = { "UNICODE", NULL },
	['B'] = { "BINBYTES", NULL },
	['C'] = { "SHORT_BINBYTES", NULL },
	['d'] = { "DICT", NULL },
	['l'] = { "LIST", NULL },
	['g'] = { "GET", NULL },
	['p'] = { "PUT", NULL },
	[0x81] = { "NEWOBJ", NULL },
	[0x82] = { "EXT1", NULL },
	[0x83] = { "EXT2", NULL },
	[0x84] = { "EXT4", NULL },
	[0x8b] = { "LONG4", NULL },
	[0x8c] = { "SHORT_BINUNICODE", NULL },
	[0x8d] = { "BINUNICODE8", NULL },
	[0x8e] = { "BINBYTES8", NULL },
	[0x8f] = { "EMPTY_SET", NULL },
	[0x90] = { "ADDITEMS", NULL },
	[0x91] = { "FROZENSET", NULL },
	[0x92] = { "NEWOBJ_EX", NULL },
	[0x93] = { "STACK_GLOBAL", NULL },
	[0x94] = { "MEMOIZE", NULL },
	[0x95] = { "FRAME", NULL },
	[0x96] = { "BYTEARRAY8", NULL },
	[0x97] = { "NEXT_BUFFER", NULL },
	[0x98] = { "READONLY_BUFFER", NULL },
};

bool hang_pickle_is(const void *bytes, size_t n)
{
	return n > 0 && *(const unsigned char *)bytes == PROTO;
}

static int take_next(struct reading *reading, struct err *err)
{
	const struct opcode *opcode;
	const unsigned char *at;
	int r = 0;

	reading->opcode_at = reading->at;
	at = next(reading, 1, &r, err);
	if (!at)
		return r;
	opcode = &opcodes[*at];
	if (!opcode->name)
		return err_set(err, EINVAL, "%s: byte %zu: 0x%02x is not an opcode: refused",
			       reading->name, reading->opcode_at, *at);
	reading->opcode = opcode->name;
	return opcode->take ? opcode->take(reading, err)
			    : fail(reading, EINVAL, "is not plain data", err);
}

int hang_pickle_read(struct pool *pool, const void *bytes, size_t n, const char *name,
		     const struct hang_value **ret, struct err *err)
{
	CLEANUP(reading_release)
	struct reading reading = {
		.pool = pool,
		.bytes = bytes,
		.n = n,
		.name = name,
	};
	int r = 0;

	if (n > HANG_PICKLE_BYTES_MAX)
		return err_set(err, E2BIG, "%s: %zu bytes: more than %d are refused", name, n,
			       HANG_PICKLE_BYTES_MAX);
	while (r == 0 && !reading.stopped)
		r = take_next(&reading, err);
	if (r == 0)
		*ret = reading.stack[0];
	return r;
}
