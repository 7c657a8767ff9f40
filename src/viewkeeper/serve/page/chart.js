// Charts in SVG, each with a sentence for those who do not see it.

import { h, s, span } from "./dom.js";

const WIDTH = 560, LEFT = 46, RIGHT = 8, TOP = 10;

/** A line of little bars: the seconds of the last refreshes. */
export function sparkline(points) {
  if (!points.length) return h("span.soft", {}, "never");
  const most = Math.max(...points.map((one) => one.seconds), 1e-9);
  const bars = points.map((one, place) => {
    const height = Math.max((one.seconds / most) * 20, 1.5);
    return s(one.recomputed ? "rect.rec" : "rect.inc", { x: place * 5, y: 22 - height, width: 4, height, rx: 1 });
  });
  const last = points.at(-1).seconds;
  const words = `seconds of the last ${points.length} refreshes: the last ${span(last)}, at most ${span(most)}`;
  return s("svg", { width: Math.max(points.length * 5, 40), height: 22, role: "img", "aria-label": words }, bars);
}

function ticks(most) {
  const step = 10 ** Math.floor(Math.log10(most || 1));
  const wide = [1, 2, 5, 10].map((one) => one * step).find((one) => most / one <= 4) ?? step;
  const found = [];
  for (let value = 0; value <= most * 1.0001; value += wide) found.push(value);
  return found;
}

function frame(height, most, words, format) {
  const bottom = height - 20, y = (value) => bottom - (value / (most || 1)) * (bottom - TOP);
  const lines = ticks(most).map((value) => [
    s("line.axis", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
    s("text.soft", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, format(value)),
  ]);
  return { bottom, y, svg: s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": words }, lines) };
}

/** Bars, one a refresh: {value, kind: "inc" | "rec" | "failed", label, estimate}. */
export function bars(caption, points, { format = span, height = 170, words = "" } = {}) {
  const most = Math.max(...points.flatMap((one) => [one.value, one.estimate ?? 0]), 1e-9);
  const told = `${caption}: ${points.length} refreshes, at most ${format(most)}. ${words}`;
  const { svg, y, bottom } = frame(height, most, told, format);
  const wide = (WIDTH - LEFT - RIGHT) / Math.max(points.length, 8);
  const estimates = [];
  points.forEach((one, place) => {
    const x = LEFT + place * wide, top = one.kind === "failed" ? bottom - 8 : Math.min(y(one.value), bottom - 1);
    svg.append(s(`rect.${one.kind}`, { x: x + wide * 0.12, y: top, width: wide * 0.76, height: bottom - top, rx: 1.5 },
      s("title", {}, one.label)));
    if (one.estimate !== null && one.estimate !== undefined) {
      estimates.push(`M${x + wide * 0.02},${y(one.estimate)}h${wide * 0.96}`);
    }
  });
  if (estimates.length) svg.append(s("path.est", { d: estimates.join("") }));
  ends(svg, points, height);
  return figure(caption, svg);
}

function ends(svg, points, height) {
  if (!points.length) return;
  svg.append(s("text.soft", { x: LEFT, y: height - 5 }, points[0].at),
    points.length > 1 ? s("text.soft", { x: WIDTH - RIGHT, y: height - 5, "text-anchor": "end" }, points.at(-1).at) : "");
}

/** How old the oldest unseen change was: it grows, and each refresh takes it back. */
export function ages(caption, points, target) {
  const most = Math.max(...points.map((one) => one.value), target ?? 0, 1e-9);
  const told = `${caption}: ${points.length} refreshes brought changes that were at most ${span(Math.max(...points.map((p) => p.value), 0))} old` +
    (target ? `, the target is ${span(target)}.` : ".");
  const height = 170, { svg, y, bottom } = frame(height, most, told, span);
  const wide = (WIDTH - LEFT - RIGHT) / Math.max(points.length, 8);
  const path = points.map((one, place) => {
    const x = LEFT + place * wide;
    return `M${x},${bottom}L${x + wide * 0.9},${y(one.value)}V${bottom}`;
  });
  svg.append(s("path.line", { d: path.join("") }));
  if (target) svg.append(s("line.target", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(target), y2: y(target) }));
  ends(svg, points, height);
  return figure(caption, svg);
}

const figure = (caption, svg) => h("figure.chart", {}, h("figcaption.small.soft", {}, caption), svg);
