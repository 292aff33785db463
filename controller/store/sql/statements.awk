# SPDX-License-Identifier: Apache-2.0
# Statements of the store (*.sql beside this) as C: awk -v what=h|c -f statements.awk FILES
#
# A statement is a block that ends with a semicolon at the end of a line:
#
#   -- NAME: words for an error
#   -- in: name type, ...       its parameters, :name in the text; may be repeated
#   -- out: name type, ...      its columns in their order; or "as NAME": those of another
#   -- gives: id | changes      instead of columns: the number of the new row, or how many changed
#
# Types: int (int64_t), uint (uint64_t), real (NAN is NULL), text (NULL is NULL), bytes (struct
# db_bytes); with a ? at its end a number whose 0 is NULL. "-- part NAME" begins a text that {NAME}
# stands for in what follows. Other comments are for readers. What a person sees of it is
# controller/store/db.h: db_add(&batch, NAME, .name = value, ...).

function die(words)
{
	printf "%s:%d: %s\n", FILENAME, FNR, words > "/dev/stderr"
	failed = 1
	exit 1
}

function c_type(type)
{
	sub(/\?$/, "", type)
	return type == "int" ? "int64_t " : type == "uint" ? "uint64_t " : type == "real" ? "double " : \
		type == "text" ? "const char *" : "struct db_bytes "
}

# Takes "a int, b text" into names and types of the list, which has `n` of them; returns how many it has now.
function take(list, n, names, types,    i, k, words, fields)
{
	k = split(list, words, /, */)
	for (i = 1; i <= k; i++) {
		if (split(words[i], fields, / /) != 2 || fields[1] !~ /^[a-z][a-z0-9_]*$/)
			die("\"" words[i] "\" is not: name type")
		if (fields[2] !~ /^((int|uint)\??|real|text|bytes)$/)
			die("\"" fields[2] "\" is no type")
		n++
		names[n] = fields[1]
		types[n] = fields[2]
	}
	return n
}

# :name becomes ?N outside of quotes, and each parameter is used.
function numbered(text,    parts, k, i, j, out, piece, name)
{
	k = split(text, parts, "'")
	for (i = 1; i <= k; i += 2) {
		out = ""
		piece = parts[i]
		while (match(piece, /:[a-z][a-z0-9_]*/)) {
			name = substr(piece, RSTART + 1, RLENGTH - 1)
			for (j = 1; j <= n_in && in_names[j] != name; j++)
				;
			if (j > n_in)
				die("the parameter :" name " is not in a line \"-- in:\"")
			used[j] = 1
			out = out substr(piece, 1, RSTART - 1) "?" j
			piece = substr(piece, RSTART + RLENGTH)
		}
		parts[i] = out piece
	}
	out = parts[1]
	for (i = 2; i <= k; i++)
		out = out "'" parts[i]
	return out
}

function filled(text,    name)
{
	while (match(text, /\{[A-Z_]+\}/)) {
		name = substr(text, RSTART + 1, RLENGTH - 2)
		if (!(name in texts))
			die("there is no part " name " before this")
		text = substr(text, 1, RSTART - 1) texts[name] substr(text, RSTART + RLENGTH)
	}
	return text
}

function members(tag, n, names, types, first,    i)
{
	printf "struct %s {\n%s", tag, first
	for (i = 1; i <= n; i++)
		printf "\t%s%s;\n", c_type(types[i]), names[i]
	print "};"
}

function table(name, tag, n, names, types,    i, type)
{
	printf "static const struct db_value %s[] = {\n", name
	for (i = 1; i <= n; i++) {
		type = types[i]
		sub(/\?$/, "_OR_NULL", type)
		printf "\t{ DB_%s, offsetof(struct %s, %s) },\n", toupper(type), tag, names[i]
	}
	print "};"
}

# A block is whole.
function end_block(    i, as, plain)
{
	if (part) {
		texts[part] = filled(text)
		part = text = ""
		return
	}
	if (!name)
		die("a statement without a line \"-- NAME: words\" before it")
	if (name in seen)
		die(name " is there twice")
	text = numbered(filled(text))
	for (i = 1; i <= n_in; i++)
		if (!used[i])
			die("the parameter " in_names[i] " is not used")
	as = like ? like : name
	if (like && !(like in outs))
		die("there is no statement " like " with columns before this")
	if (gives)
		n_out = take("" (gives == "id" ? "id int" : "changes uint"), 0, out_names, out_types)
	plain = 1
	for (i = 1; i <= n_out; i++)
		if (out_types[i] == "text" || out_types[i] == "bytes")
			plain = 0
	seen[name] = 1
	if (n_out > 0)
		outs[name] = n_out
	ids = ids "\tdb_id_" name ",\n"
	if (what == "h") {
		printf "\n/* %s: %s */\n", FILENAME_SHORT, words
		members("db_" name, n_in, in_names, in_types, "\tchar db_; /* so that it is never empty */\n")
		if (n_out > 0) {
			all_rows = all_rows "\tstruct db_" name "_row " name ";\n"
			members("db_" name "_row", n_out, out_names, out_types, "")
			printf "enum { db_plain_%s = %d };\n", name, plain
		}
	} else {
		gsub(/\\/, "\\\\", text)
		gsub(/"/, "\\\"", text)
		if (n_in)
			table("in_" name, "db_" name, n_in, in_names, in_types)
		if (n_out && !gives)
			table("out_" name, "db_" name "_row", n_out, out_names, out_types)
		rows = rows sprintf("\t[db_id_%s] = { \"%s\",\n\t\t\"%s\",\n\t\t%s, %d, %s, %d, %s },\n", name, words, text,
			n_in ? "in_" name : "NULL", n_in, gives || !(as in outs) ? "NULL" : "out_" as, gives ? 0 : outs[as] + 0,
			gives == "id" ? "DB_GIVES_ID" : gives ? "DB_GIVES_CHANGES" : "DB_GIVES_ROWS")
	}
	name = text = like = gives = words = ""
	n_in = n_out = 0
	for (i in used)
		delete used[i]
}

BEGIN {
	print "/* Made by statements.awk: do not edit. */"
	if (what == "h")
		print "#pragma once\n\n#include \"controller/store/db.h\""
	else
		print "#include <stddef.h>\n\n#include \"controller/store/sql/statements.h\"\n"
}

FNR == 1 {
	FILENAME_SHORT = FILENAME
	sub(/.*\//, "", FILENAME_SHORT)
}

/^-- part [A-Z_]+$/ {
	part = $3
	next
}

/^-- [a-z][a-z0-9_]*: / && !/^-- (in|out|gives): / && !text {
	name = substr($2, 1, length($2) - 1)
	words = substr($0, length($1 " " $2 " ") + 1)
	next
}

/^-- in: / {
	n_in = take(substr($0, 8), n_in, in_names, in_types)
	next
}

/^-- out: as / {
	like = $4
	next
}

/^-- out: / {
	n_out = take(substr($0, 9), n_out, out_names, out_types)
	next
}

/^-- gives: / {
	gives = $3
	if (gives != "id" && gives != "changes")
		die("a statement gives id or changes")
	next
}

/^--/ || /^[ \t]*$/ {
	next
}

{
	line = $0
	sub(/^[ \t]+/, "", line)
	whole = sub(/;$/, "", line)
	text = text (text ? " " : "") line
	if (whole)
		end_block()
}

END {
	if (failed)
		exit 1
	if (text || name)
		die("the last statement has no semicolon")
	if (what == "h") {
		printf "\nenum db_id {\n%s\tDB_STATEMENTS, /* how many there are */\n};\n", ids
		printf "\n/* Room for a row of any. */\nunion db_row {\n%s};\n", all_rows
		print "\nextern const struct db_statement db_statements[DB_STATEMENTS];"
	} else {
		printf "\nconst struct db_statement db_statements[DB_STATEMENTS] = {\n%s};\n", rows
	}
}
