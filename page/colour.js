// SPDX-License-Identifier: Apache-2.0
/**
 * Colours for canvases: the tokens of page.css as they count now (light, dark, forced colours, print), and the scale of
 * ratios. YlOrRd in six stops; the end that matters is furthest from the ground, so dark mode turns it round in the CSS.
 */

const STOPS = 6;
/** The scale of a share of what is expected ends at half of it; below, the colour says no more. */
const SHARE_END = 0.5;

const tokens = new Map();
const watchers = new Set();
let probe = null;

/** The value of the token --name. */
export function token(name) {
	if (!tokens.has(name))
		tokens.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
	return tokens.get(name);
}

/** Any CSS colour as [r, g, b]; a canvas reads it. */
function rgb(colour) {
	if (!probe) {
		const canvas = document.createElement('canvas');
		canvas.width = canvas.height = 1;
		probe = canvas.getContext('2d', { willReadFrequently: true });
	}
	probe.fillStyle = colour;
	probe.fillRect(0, 0, 1, 1);
	return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}

function stops() {
	if (!tokens.has('*stops'))
		tokens.set('*stops', Array.from({ length: STOPS }, (_, i) => rgb(token(`q${i}`))));
	return tokens.get('*stops');
}

/** A place on the scale of ratios, 0 (the ground) to 1 (the far end): {fill, ink}. */
export function ramp(at) {
	const t = Math.min(Math.max(at, 0), 1) * (STOPS - 1), i = Math.min(Math.floor(t), STOPS - 2), f = t - i;
	const [a, b] = [stops()[i], stops()[i + 1]];
	return { fill: `rgb(${a.map((x, k) => Math.round(x + (b[k] - x) * f)).join(' ')})`, ink: token(`i${Math.round(t)}`) };
}

/** The colour of a share of what is expected: 1 and above is the ground, SHARE_END the far end. */
export const shade = (share) => ramp((1 - share) / (1 - SHARE_END));

/** Call `f` whenever colours are other ones; returns what ends that. */
export function onColours(f) {
	watchers.add(f);
	return () => watchers.delete(f);
}

function changed() {
	tokens.clear();
	for (const f of watchers)
		f();
}

for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)', 'print'])
	matchMedia(query).addEventListener('change', changed);
