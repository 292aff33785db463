/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON and YAML with checked access: every error about a value names the place, as "FILE:
 * path.to[2].key: what".
 *
 * A struct jval is a value and its path; it lives on the stack, borrows the value, the file name
 * and its parent, and is made by jval_root(), jval_get() and jval_at():
 *
 *	struct jval root = jval_root(doc, "profiles.yaml");
 *	r = jval_decode(&root, fields, ARRAY_SIZE(fields), JVAL_STRICT, &out, err);
 *
 * One table of struct jfield per type is both its decoder and its encoder. YAML is read into json_t
 * (YAML 1.2 core rules for plain scalars; anchors, aliases and tags are refused), so files and the
 * API share decoders.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/base/strv.h" /* what jval_strv() returns is freed by it */

struct err;

enum {
	JSON_DEPTH_MAX = 32,		/* nesting of any input */
	JSON_PEOPLE_FILE_MAX = 1 << 20, /* bytes of a file that people write */
};

struct jval {
	const json_t *value;   /* borrowed; NULL when absent */
	const char *file;      /* name shown to people */
	const struct jval *up; /* parent, or NULL at the root */
	const char *key;       /* key in an object parent, else NULL */
	size_t index;	       /* position in an array parent */
};

/* --- reading ------------------------------------------------------------ */

/*
 * Parses `len` bytes of JSON. Refuses duplicate keys, NaN, numbers that overflow, invalid UTF-8,
 * trailing bytes and nesting beyond JSON_DEPTH_MAX. `name` is for the message. New reference in
 * `ret_value`. -EINVAL.
 */
int json_parse(const char *text, size_t len, const char *name, json_t **ret_value, struct err *err);

/* Reads a JSON file of at most `limit` bytes. -EINVAL, -EFBIG, -ENOENT... */
int json_read_file(const char *path, size_t limit, json_t **ret_value, struct err *err);

/*
 * Reads a YAML file (or JSON, its subset) that people write: at most JSON_PEOPLE_FILE_MAX bytes,
 * one document, not empty. The YAML functions are in a separate library (libyamlread.a), so that a
 * daemon which reads no YAML does not link it.
 */
int yaml_read_file(const char *path, json_t **ret_value, struct err *err);

/* Where each list, object, text and number of a YAML file begins. Zeroed: empty. */
struct yaml_lines {
	const json_t **values; /* owned array of borrowed values */
	size_t *lines;	       /* owned, from 1 */
	size_t n, room;
};

/* Like yaml_read_file(), with line numbers. Must be released even after a failure. */
int yaml_read_file_lines(const char *path, json_t **ret_value, struct yaml_lines *ret_lines,
			 struct err *err);

/* The line where a value begins; 0 if it is not from the file. */
size_t yaml_line(const struct yaml_lines *lines, const json_t *value);
void yaml_lines_release(struct yaml_lines *lines);

/* Parses YAML text; `name` is for the message, which gives line and column. */
int yaml_parse(const char *text, size_t len, const char *name, json_t **ret_value, struct err *err);

/* --- writing ------------------------------------------------------------ */

/* One line of compact JSON without a newline, new memory. */
char *json_line(const json_t *value);

/* Indented JSON for people, new memory. */
char *json_pretty(const json_t *value);

/* Sets a member, and takes the value; sets nothing if that is NULL, because creating it failed. */
void json_put(json_t *object, const char *key, json_t *value);

/* A number, new reference; null if it is not finite: NAN means unknown. */
json_t *json_number(double value);

/* The same for seconds, rounded to microseconds: reading the text back gives the same value. */
json_t *json_seconds(double value);

json_t *json_count(size_t value);

/* A text, new reference; null for NULL and for invalid UTF-8. */
json_t *json_text(const char *text);

/* A wall-clock time in the format of clock_stamp(), new reference; null for 0. */
json_t *json_stamp(uint64_t real_us);

/* Parses the output of json_stamp(); 0 if it is something else. */
uint64_t json_stamp_us(const json_t *stamp);

/* The time after a round trip through json_stamp(), which has milliseconds. */
uint64_t json_stamp_whole(uint64_t real_us);

/* --- arrays of texts ------------------------------------------------------ */

/* True if the text is in the array; false for NULL. */
bool json_has_text(const json_t *array, const char *text);

/* Inserts the text into a sorted array, unless it is NULL or already there. */
void json_insert_text(json_t *array, const char *text);

/* --- checked access ----------------------------------------------------- */

struct jval jval_root(const json_t *value, const char *file);

/* Member `key`; its value is NULL if absent. */
struct jval jval_get(const struct jval *object, const char *key);

/* Element `i`. */
struct jval jval_at(const struct jval *array, size_t i);

/* Sets "FILE: path: <message>"; returns -EINVAL. */
int jval_fail(const struct jval *v, struct err *err, const char *fmt, ...) PRINTF(3, 4);

/* "object", "array", "string", ... or "nothing" if absent. */
const char *jval_type_name(const struct jval *v);

/* Return 0 if the value is an object (array); else -EINVAL with a message. */
int jval_need_object(const struct jval *v, struct err *err);
int jval_need_array(const struct jval *v, struct err *err);

enum jtype {
	J_STRING,   /* char *, owned; NULL when absent or null */
	J_BOOL,	    /* bool */
	J_TRISTATE, /* int: 1 true, 0 false, -1 null or absent */
	J_U64,	    /* uint64_t, min..max */
	J_REAL,	    /* double, min..max; NAN when null or absent */
	J_DURATION, /* uint64_t microseconds, from "45s" */
	J_ENUM,	    /* int, index into `names` */
	J_JSON,	    /* json_t *, owned; any type */
	J_OBJECT,   /* json_t *, owned; an object */
	J_REALS,    /* struct jreals, owned */
	J_STRV,	    /* char **, NULL-terminated, owned */
	J_CUSTOM,   /* `decode` and `encode` */
};

/* A JSON array of numbers. */
struct jreals {
	double *v; /* owned */
	size_t n;
};

enum jfield_flags {
	J_REQUIRED = 1, /* absent is an error */
	J_NULL = 2,	/* encoded as null instead of being left out; null is accepted */
};

struct jfield {
	const char *key;
	enum jtype type;
	size_t offset;	 /* of the member in the struct */
	unsigned flags;	 /* enum jfield_flags */
	double min, max; /* range of J_U64, J_REAL; most items of J_REALS, J_STRV; 0,0: unlimited */
	const char *const *names; /* of J_ENUM, NULL-terminated */
	int (*decode)(const struct jval *v, void *member, struct err *err);
	json_t *(*encode)(const void *member); /* returns NULL to leave it out */
};

enum jval_flags {
	JVAL_STRICT = 1, /* an unknown key is an error: for files that people write */
};

/*
 * Fills the struct at `out` from the object `v` by the table. Absent members keep their values
 * (defaults); owned members are freed before they are replaced. On failure (-EINVAL), `out` is
 * half-filled and still owned by the caller.
 */
int jval_decode(const struct jval *v, const struct jfield *fields, size_t n, unsigned flags,
		void *out, struct err *err);

/* Encodes the struct at `in` by the same table. New reference. */
json_t *jval_encode(const struct jfield *fields, size_t n, const void *in);

/*
 * For J_CUSTOM: decodes an array of at most `max` strings into a NULL-terminated vector. The caller
 * frees it with strv_free().
 */
int jval_strv(const struct jval *v, size_t max, char ***ret_strv, struct err *err);

/* For CLEANUP(). */
static inline void json_freep(json_t **v)
{
	json_decref(*v);
}
