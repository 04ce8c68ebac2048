// SPDX-License-Identifier: MIT
// words.js -- figures as people read them. The same rules as src/tool/util/fmt.c.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
const MINUS = '\u2212';

/** Three significant digits: "3.09 MiB", "64.0 KiB", "999 B". */
export function sizeText(bytes) {
	let n = Math.abs(bytes), unit = 0;
	while (unit < UNITS.length - 1 && n >= 1023.5) {
		n /= 1024;
		unit++;
	}
	const digits = unit === 0 ? 0 : n < 9.995 ? 2 : n < 99.95 ? 1 : 0;
	return (bytes < 0 ? MINUS : '') + n.toFixed(digits) + ' ' + UNITS[unit];
}

/** "6,430,720", with at most one decimal for estimates under 100. */
export function countText(n) {
	const abs = Math.abs(n);
	const whole = abs >= 100 || Number.isInteger(abs) ? Math.round(abs) : Math.round(abs * 10) / 10;
	return (n < 0 ? MINUS : '') + whole.toLocaleString('en-US');
}

/** "12.3 %", never "0 %" for something or "100 %" for less than all. */
export function percentText(part, whole) {
	if (!(whole > 0))
		return '\u2013';
	const share = 100 * part / whole, abs = Math.abs(share);
	const sign = share < 0 ? MINUS : '';
	if (abs === 0)
		return '0 %';
	if (abs < 0.05)
		return sign + '<0.1 %';
	if (abs < 9.95)
		return sign + abs.toFixed(1) + ' %';
	if (abs < 100 && abs >= 99.5)
		return sign + '>99 %';
	return sign + abs.toFixed(0) + ' %';
}

/** A figure of a view: "1.20 MiB", "17 objects", "3 samples". */
export function figureText(view, n) {
	if (view.unit === 'bytes')
		return sizeText(n);
	if (view.unit === 'objects' && Math.round(n) === 1)
		return '1 object';
	return countText(n) + ' ' + view.unit;
}

/** A change with its sign: "+6.7 MiB". */
export function changeText(view, n) {
	const text = view.unit === 'bytes' ? sizeText(n) : countText(n);
	return (n > 0 ? '+' : '') + text;
}

/** Before and after: "3.10 MiB → 9.80 MiB (+6.70 MiB, ×3.2)". */
export function diffText(view, was, now) {
	const change = now - was;
	let how = changeText(view, change);
	if (change === 0)
		return figureText(view, now) + ', unchanged';
	if (was === 0)
		how += ', new';
	else if (now === 0)
		how += ', gone';
	else if (now / was >= 2)
		how += ', \u00d7' + (now / was).toFixed(1);
	else
		how += ', ' + (change > 0 ? '+' : '') + percentText(change, was);
	return figureText(view, was) + ' \u2192 ' + figureText(view, now) + ' (' + how + ')';
}
