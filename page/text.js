// SPDX-License-Identifier: Apache-2.0
/** Text and numbers: strings of hosts are truncated here before display, and numbers are formatted. Pure. */

/** Longest displayed string of a host, in UTF-16 units (a host may send 64 KiB). */
export const TEXT_MAX = 4096;

/** A value of the API as display text: null and undefined are '', long strings are truncated, with a mark. */
export function text(value) {
	if (value === null || value === undefined)
		return '';
	const s = String(value);
	return s.length > TEXT_MAX ? s.slice(0, TEXT_MAX) + '… (cut)' : s;
}

/** 1040 -> "1,040" */
export function count(n) {
	return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/** "1 host", "12 hosts" */
export function many(n, one, more = one + 's') {
	return `${count(n)} ${n === 1 ? one : more}`;
}

const SCALES = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];
/** Units that take prefixes; others are shown as they are. */
const SCALED = { 'B/s': 'B/s', 'FLOP/s': 'FLOP/s', 'bit/s': 'bit/s', 'b/s': 'bit/s', Hz: 'Hz', B: 'B' };

/** Three significant digits without an exponent: 26.9, 0.004, 1652; integers unchanged, unless `measured`: 50.0. */
export function figure(x, measured = false) {
	if (typeof x !== 'number' || !Number.isFinite(x))
		return '–';
	const a = Math.abs(x);
	if (a >= 1000 || Number.isInteger(x) && (!measured || x === 0))
		return String(Math.round(x));
	return a >= 100 ? x.toFixed(0) : a >= 10 ? x.toFixed(1) : a >= 1 ? x.toFixed(2) : String(Number(x.toPrecision(3)));
}

/** The suitable prefix for `x` of `unit`: {by, unit}. */
export function scale(x, unit) {
	if (unit === 's' || unit === 'us' || unit === 'ns') {
		const s = x * { s: 1, us: 1e-6, ns: 1e-9 }[unit], k = { s: 1, us: 1e-6, ns: 1e-9 }[unit];
		return s >= 1 ? { by: 1 / k, unit: 's' } : s >= 1e-3 ? { by: 1e-3 / k, unit: 'ms' } : { by: 1e-6 / k, unit: 'µs' };
	}
	const base = SCALED[unit], step = base && SCALES.find(([size]) => Math.abs(x) >= size);
	return step ? { by: step[0], unit: step[1] + base } : { by: 1, unit: unit || '' };
}

/** "26.9 GB/s" */
export function amount(x, unit) {
	const s = scale(x, unit);
	return `${figure(x / s.by, s.by !== 1)} ${s.unit}`.trim();
}

/** "26.9 of 50.1 GB/s"; `expected` may be null. */
export function ofExpected(value, expected, unit) {
	if (typeof expected !== 'number')
		return amount(value, unit);
	const s = scale(Math.max(Math.abs(value), Math.abs(expected)), unit);
	return `${figure(value / s.by, s.by !== 1)} of ${figure(expected / s.by, s.by !== 1)} ${s.unit}`.trim();
}

/** 4 -> "4 s", 130 -> "2 min", 90000 -> "1 d" */
export function age(seconds) {
	const s = Math.max(0, Math.round(seconds));
	if (s < 90)
		return `${s} s`;
	if (s < 5400)
		return `${Math.round(s / 60)} min`;
	if (s < 36 * 3600)
		return `${Math.floor(s / 3600)} h ${Math.round(s % 3600 / 60)} min`.replace(' 0 min', '');
	return `${Math.round(s / 86400)} d`;
}

/** A timestamp of the API (RFC 3339) in milliseconds; NaN if invalid. */
export function when(stamp) {
	return stamp ? Date.parse(stamp) : NaN;
}

/** "15:12" for today, "Sat 15:12" within a week, else "2026-11-21"; all UTC, as in assayctl. */
export function clock(stamp, now = Date.now(), seconds = false) {
	const t = when(stamp);
	if (Number.isNaN(t))
		return text(stamp);
	const iso = new Date(t).toISOString(), time = iso.slice(11, seconds ? 19 : 16);
	if (iso.slice(0, 10) === new Date(now).toISOString().slice(0, 10))
		return time;
	if (now - t < 6.5 * 86400e3 && t <= now)
		return `${['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][new Date(t).getUTCDay()]} ${time}`;
	return iso.slice(0, 10);
}

/** Zero padding for numbers in names. */
const FIGURES = '000000000000';

/** Sort key for natural order: gpu-2 before gpu-11. Compares ten thousand names in milliseconds, unlike Intl.Collator. */
export function nameKey(name) {
	let key = '', from = 0, digits = 0;
	for (let i = 0; i <= name.length; i++) {
		const c = i < name.length ? name.charCodeAt(i) : 0;
		if (c >= 48 && c <= 57)
			digits++;
		else if (digits) { /* no regular expression: the first map waits for ten thousand calls */
			key += name.slice(from, i - digits) + FIGURES.slice(digits);
			from = i - digits;
			digits = 0;
		}
	}
	return key + name.slice(from);
}

export function byName(a, b) {
	const [x, y] = [nameKey(a), nameKey(b)];
	return x < y ? -1 : x > y ? 1 : a < b ? -1 : a > b ? 1 : 0;
}

/** Connection state of a host's agent: "connected", "gone", or that it holds no request. */
export const agentWord = (connection) => ({ none: 'not connected', suspect: 'gone' }[connection] || text(connection));

/** The command that undoes the action, for this host. */
export const undo = (said, node) => text(said).replace(/\bNODE\b/, () => node);

/** The message of a refusal without the rule and what would allow it, which are shown separately. */
export function refusal({ message, rule, allows }) {
	const said = text(message), at = rule ? said.indexOf(`${rule}: `) : -1, own = at < 0 ? said : said.slice(at + rule.length + 2);
	return allows && own.endsWith(`; to allow it: ${allows}`) ? own.slice(0, -`; to allow it: ${allows}`.length) : own;
}

/** Normalize a sentence of the API: a capital letter, one full stop. */
export function sentence(s) {
	const t = text(s).trim();
	return t && !/[.!?]$/.test(t) ? t + '.' : t;
}

/** Strip a leading host name from a sentence of the API. */
export function unnamed(said, name) {
	const s = text(said);
	return name && s.startsWith(`${name}: `) ? s.slice(name.length + 2) : s;
}

/** Strip a leading verdict or host name from a sentence of the API. */
export const plain = (said, name) => unnamed(text(said).replace(/^(pass|warn|fail|inconclusive): /, ''), name);

/** The part of a sentence on how it was observed, which is shown below it or not at all. */
export const SEEN = /, (seen (?:on|by) .*)$/;

/** A host's worst finding, as short as possible. */
export const brief = (said, name) => plain(said, name).replace(SEEN, '');

/** A shell word, quoted if necessary. */
export function shellWord(word) {
	const s = String(word);
	return /^[A-Za-z0-9_@%+=:,./-]+$/.test(s) ? s : `'${s.replace(/'/g, "'\\''")}'`;
}
