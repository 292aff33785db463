// SPDX-License-Identifier: Apache-2.0
/**
 * Colours for canvases: the present tokens of page.css (light, dark, forced colours, print), and the scale of ratios: YlOrRd in
 * six stops. The bad end contrasts most with the background, so dark mode reverses it in the CSS.
 */

const STOPS = 6;
/** The colour scale of shares of the expected value ends here; lower shares look the same. */
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

/** Parse any CSS colour into [r, g, b], with the help of a canvas. */
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

/** A position on the scale of ratios, 0 (background) to 1 (bad end): {fill, ink}. */
export function ramp(at) {
	const t = Math.min(Math.max(at, 0), 1) * (STOPS - 1), i = Math.min(Math.floor(t), STOPS - 2), f = t - i;
	const [a, b] = [stops()[i], stops()[i + 1]];
	return { fill: `rgb(${a.map((x, k) => Math.round(x + (b[k] - x) * f)).join(' ')})`, ink: token(`i${Math.round(t)}`) };
}

/** The colour of a share of the expected value: background from 1 up, the bad end at SHARE_END. */
export const shade = (share) => ramp((1 - share) / (1 - SHARE_END));

/** Call `f` whenever the colours change; returns a function that stops that. */
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
