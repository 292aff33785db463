// SPDX-License-Identifier: Apache-2.0
/**
 * Words and figures: what a host says is cut here before it is shown, and numbers get the figures that people read.
 * Pure.
 */

/** Longest text of a host that is shown, in UTF-16 units (a host may send 64 KiB). */
export const TEXT_MAX = 4096;

/** A value of the API as text to show: null and undefined are '', what is too long is cut and says so. */
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
/** Units that have prefixes; others are shown as they are. */
const SCALED = { 'B/s': 'B/s', 'FLOP/s': 'FLOP/s', 'bit/s': 'bit/s', 'b/s': 'bit/s', Hz: 'Hz', B: 'B' };

/** Three significant figures without an exponent: 26.9, 0.004, 1652; whole numbers as they are, unless they were `measured`: 50.0. */
export function figure(x, measured = false) {
	if (typeof x !== 'number' || !Number.isFinite(x))
		return '–';
	const a = Math.abs(x);
	if (a >= 1000 || Number.isInteger(x) && (!measured || x === 0))
		return String(Math.round(x));
	return a >= 100 ? x.toFixed(0) : a >= 10 ? x.toFixed(1) : a >= 1 ? x.toFixed(2) : String(Number(x.toPrecision(3)));
}

/** The prefix that suits `x` of `unit`: {by, unit}. */
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

/** A stamp of the API (RFC 3339) as milliseconds; NaN when it is none. */
export function when(stamp) {
	return stamp ? Date.parse(stamp) : NaN;
}

/** "15:12" of today, "Sat 15:12" within a week, else "2026-11-21"; all UTC, as assayctl's. */
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

/** Figures that a number in a name is filled up to. */
const FIGURES = '000000000000';

/** What names sort by as people count: gpu-2 before gpu-11. Ten thousand are compared in milliseconds, which Intl.Collator does not. */
export function nameKey(name) {
	let key = '', from = 0, digits = 0;
	for (let i = 0; i <= name.length; i++) {
		const c = i < name.length ? name.charCodeAt(i) : 0;
		if (c >= 48 && c <= 57)
			digits++;
		else if (digits) { /* no regular expression: the first map waits for ten thousand of these */
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

/** How its agent is heard, of a host: "connected", "gone", or that no call of it is held. */
export const agentWord = (connection) => ({ none: 'not connected', suspect: 'gone' }[connection] || text(connection));

/** The command that takes an action back, of this host. */
export const undo = (said, node) => text(said).replace(/\bNODE\b/, () => node);

/** Why it is refused, of a problem that is shown with its rule before it and what would allow it below: neither is said twice. */
export function refusal({ message, rule, allows }) {
	const said = text(message), at = rule ? said.indexOf(`${rule}: `) : -1, own = at < 0 ? said : said.slice(at + rule.length + 2);
	return allows && own.endsWith(`; to allow it: ${allows}`) ? own.slice(0, -`; to allow it: ${allows}`.length) : own;
}

/** A sentence of the API as one stands: a capital, one full stop. */
export function sentence(s) {
	const t = text(s).trim();
	return t && !/[.!?]$/.test(t) ? t + '.' : t;
}

/** Without the host's name that a sentence of the API may begin with. */
export function unnamed(said, name) {
	const s = text(said);
	return name && s.startsWith(`${name}: `) ? s.slice(name.length + 2) : s;
}

/** Without the verdict, or the host's name, that a sentence of the API may begin with. */
export const plain = (said, name) => unnamed(text(said).replace(/^(pass|warn|fail|inconclusive): /, ''), name);

/** What a sentence says of how it was told: that stands below it, or nowhere. */
export const SEEN = /, (seen (?:on|by) .*)$/;

/** The worst of a host in as few words as it has. */
export const brief = (said, name) => plain(said, name).replace(SEEN, '');

/** A word for the shell, quoted when it must be. */
export function shellWord(word) {
	const s = String(word);
	return /^[A-Za-z0-9_@%+=:,./-]+$/.test(s) ? s : `'${s.replace(/'/g, "'\\''")}'`;
}
