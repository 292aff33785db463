# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# The all-reduce of two hosts against perftest between the same two, in turns. $LINK (a rate of
# tc, or none), $FIRST and $LAST pair, $SECONDS_MAX, $SIZE, $QPS, $DEPTH, $COUNT and $BUDGET come
# from the bench. On a it prints as bench.sh does.
host "$GUEST" 4200
[ "$LINK" = none ] || shape eth0 "$LINK"
wait_for 30 active rxe0
port=7500

# yardstick PAIR HOW WAYS OPTION...: its average, of one of so many ways at once; with one it is that from a to b.
yardstick()
{
	pair=$1 how=$2 ways=$3
	shift 3
	set -- -d rxe0 -F -s "$SIZE" -q "$QPS" -t "$DEPTH" -n "$COUNT" "$@"
	if [ "$GUEST" = b ]; then
		ib_write_bw "$@" >/dev/null 2>&1 &
		server=$!
		wait_for 30 listening
		meet a b
		wait "$server"
		return
	fi
	meet a b
	echo "$pair busbw $how $(ib_write_bw "$@" 10.1.0.2 2>&1 | awk -v "ways=$ways" '/^ *[0-9]+ +[0-9]+ / { print $4 / ways }')"
}

yardsticks()
{
	yardstick "$1" polling 1
	yardstick "$1" both 2 -b
}

probe()
{
	pair=$1 port=$((port + 1)) rank=1
	[ "$GUEST" = a ] && rank=0
	echo the-token-of-both >/tmp/token
	meet a b
	assay-probe-all-reduce --peers "10.1.0.1:$port,10.1.0.2:$port" --rank "$rank" --token-file /tmp/token --force \
		--size "$SIZE" --qps "$QPS" --depth "$DEPTH" --budget "$BUDGET" >/tmp/samples 2>/tmp/words
	[ "$GUEST" = b ] || sed "s/^/$pair /" /tmp/samples /tmp/words
}

# As a says: whether there is time for another pair.
goes_on()
{
	if [ "$GUEST" = a ]; then
		[ "$(date +%s)" -lt "$end" ] && word=on || word=off
		wait_for 60 say "$word"
	else
		word=$(nc -l -p 9999)
	fi
	[ "$word" = on ]
}

say()
{
	echo "$1" | nc 10.1.0.2 9999
}

end=$(($(date +%s) + SECONDS_MAX))
number=$FIRST
while [ "$number" -le "$LAST" ] && goes_on; do
	if [ $((number % 2)) = 1 ]; then
		yardsticks "$number"
		probe "$number"
	else
		probe "$number"
		yardsticks "$number"
	fi
	number=$((number + 1))
done
