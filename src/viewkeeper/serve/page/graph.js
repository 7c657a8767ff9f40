// Graphs: what reads what, in layers from left to right; moved and made larger by mouse, touch and keys.

import { h, s } from "./dom.js";

const WIDE = 184, HIGH = 50, GAP_X = 88, GAP_Y = 22, THIN = 6;

/** How far each node is from the beginning: the longest way to it. */
function depths(nodes, edges) {
  const into = new Map(nodes.map((node) => [node.id, []])), depth = new Map();
  for (const { from, to } of edges) if (into.has(from) && into.has(to) && from !== to) into.get(to).push(from);
  const deep = (id, above) => {
    if (depth.has(id)) return depth.get(id);
    if (above.has(id)) return 0;
    const found = 1 + Math.max(-1, ...into.get(id).map((one) => deep(one, new Set([...above, id]))));
    depth.set(id, found);
    return found;
  };
  nodes.forEach((node) => deep(node.id, new Set()));
  return depth;
}

/**
 * The place of each node: layers from left to right, in each the order of what stands before. An edge over
 * several layers has a place of its own in those between, so that it runs beside the nodes there.
 */
export function layout(nodes, edges) {
  const depth = depths(nodes, edges), layers = [], before = new Map(), bends = new Map();
  for (const node of nodes) {
    (layers[depth.get(node.id)] ??= []).push({ id: node.id, high: HIGH });
    before.set(node.id, []);
  }
  for (const { from, to } of edges) {
    const key = `${from}\n${to}`;
    if (!depth.has(from) || !depth.has(to) || bends.has(key)) continue;
    const way = [];
    for (let level = depth.get(from) + 1; level < depth.get(to); level += 1) {
      const id = `${key}\n${level}`;
      layers[level].push({ id, high: THIN });
      before.set(id, [way.at(-1) ?? from]);
      way.push(id);
    }
    bends.set(key, way);
    before.get(to).push(way.at(-1) ?? from);
  }
  return { ...placed(Array.from(layers, (layer) => layer ?? []), before), bends };
}

function placed(layers, before) {
  const at = new Map(), tall = (layer) => layer.reduce((sum, one) => sum + one.high + GAP_Y, -GAP_Y);
  const height = Math.max(HIGH, ...layers.map(tall)), rank = new Map();
  layers.forEach((layer, column) => {
    const wanted = new Map(layer.map((one, order) => {
      const places = before.get(one.id).map((id) => rank.get(id)).filter((place) => place !== undefined);
      return [one.id, places.length ? places.reduce((a, b) => a + b, 0) / places.length : order * 1000];
    }));
    layer.sort((a, b) => wanted.get(a.id) - wanted.get(b.id));
    let y = (height - tall(layer)) / 2;
    for (const one of layer) {
      at.set(one.id, { x: column * (WIDE + GAP_X), y, high: one.high });
      rank.set(one.id, y + one.high / 2);
      y += one.high + GAP_Y;
    }
  });
  return { at, width: layers.length * (WIDE + GAP_X) - GAP_X, height };
}

/** The way of an edge from the right side of one node to the left side of another, past what is between. */
function curve(places) {
  const [a, b] = [places[0], places.at(-1)];
  if (b.x <= a.x) { // back, or down the same layer
    const low = Math.max(a.y, b.y) + HIGH + GAP_Y / 2 + 14;
    return `M${a.x + WIDE / 2},${a.y + HIGH}C${a.x + WIDE / 2},${low} ${b.x + WIDE / 2},${low} ${b.x + WIDE / 2},${b.y + HIGH}`;
  }
  const middle = (one) => one.y + one.high / 2;
  let path = `M${a.x + WIDE},${middle(a)}`;
  places.slice(1).forEach((next, place) => {
    const last = places[place], x1 = last.x + WIDE, x2 = next.x;
    path += `C${x1 + GAP_X / 2},${middle(last)} ${x2 - GAP_X / 2},${middle(next)} ${x2},${middle(next)}`;
    if (next !== b) path += `H${next.x + WIDE}`;
  });
  return path;
}

const cut = (text, most = 25) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/**
 * A graph to look at: nodes {id, name, lines, kind, href, label}, edges {from, to, kind, text, name}.
 * Gives the element, and `light(ids, edges)`, which marks some of it.
 */
export function graph(words, nodes, edges, { low = false } = {}) {
  const { at, width, height, bends } = layout(nodes, edges);
  const whole = { w: Math.max(width + 48, low ? 900 : 760), h: height + 48 };
  Object.assign(whole, { x: (width - whole.w) / 2, y: -24 });
  const view = innerWidth < 600 ? { x: -16, y: (height - 330) / 2, w: 330, h: 330 } : { ...whole };
  const svg = s(low ? "svg.canvas.low" : "svg.canvas", { role: "group", "aria-label": words, tabindex: 0 });
  const frame = () => svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
  const arrow = s("defs", {}, s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" },
    s("path", { d: "M0,0L8,4L0,8Z", fill: "currentColor", opacity: ".65" })));
  const paths = edges.filter((edge) => at.has(edge.from) && at.has(edge.to)).map((edge) => {
    const a = at.get(edge.from), b = at.get(edge.to);
    const between = (bends.get(`${edge.from}\n${edge.to}`) ?? []).map((id) => at.get(id));
    const path = s(`path.edge${edge.kind ? `.${edge.kind}` : ""}`, { d: curve([a, ...between, b]), "marker-end": "url(#arrow)", "data-from": edge.from, "data-to": edge.to });
    const text = edge.text && s("text.edge-text.soft", { x: (a.x + WIDE + b.x) / 2, y: (a.y + b.y + HIGH) / 2 - 5, "text-anchor": "middle" }, cut(edge.text, 22));
    return [path, text];
  });
  const boxes = nodes.map((node) => {
    const { x, y } = at.get(node.id);
    const inside = s(`g.node.${node.kind}`, { transform: `translate(${x},${y})`, "data-id": node.id },
      s("rect", { width: WIDE, height: HIGH }), s("title", {}, node.label),
      s("text.name", { x: 10, y: 20 }, cut(node.name, 22)),
      s("text.soft", { x: 10, y: 38 }, cut(node.lines ?? "", 29)));
    return node.href ? s("a", { href: node.href, "aria-label": node.label }, inside)
      : s("g", { role: "img", "aria-label": node.label }, inside);
  });
  svg.append(arrow, ...paths.flat().filter(Boolean), ...boxes);
  frame();
  const zoom = (factor, cx = view.x + view.w / 2, cy = view.y + view.h / 2) => {
    const wide = Math.min(Math.max(view.w * factor, 150), 40000), by = wide / view.w;
    Object.assign(view, { x: cx - (cx - view.x) * by, y: cy - (cy - view.y) * by, w: wide, h: view.h * by });
    frame();
  };
  const fit = () => { Object.assign(view, whole); frame(); };
  const pan = (dx, dy) => { view.x += dx * view.w; view.y += dy * view.h; frame(); };
  movable(svg, view, frame, zoom);
  svg.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [-.08, 0], ArrowRight: [.08, 0], ArrowUp: [0, -.08], ArrowDown: [0, .08] };
    if (moves[event.key]) pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") zoom(.8);
    else if (event.key === "-") zoom(1.25);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  });
  const button = (text, words, act) => h("button.quiet", { type: "button", "aria-label": words, onclick: act }, text);
  const element = h("div", {}, h("div.row.small", {}, button("+", "Larger", () => zoom(.8)), button("−", "Smaller", () => zoom(1.25)),
    button("Fit", "Fit the whole graph", fit), h("span.soft", {}, "Drag to move; arrow keys, +, − and 0 work too.")), svg);
  const light = (ids, pairs = []) => {
    svg.querySelectorAll(".node").forEach((one) => one.classList.toggle("lit", ids.includes(one.dataset.id)));
    svg.querySelectorAll(".edge").forEach((one) => one.classList.toggle("lit",
      pairs.some(([from, to]) => one.dataset.from === from && one.dataset.to === to)));
  };
  return { element, svg, light };
}

function movable(svg, view, frame, zoom) {
  let held = null;
  const scale = () => Math.max(view.w / svg.clientWidth, view.h / svg.clientHeight);
  svg.addEventListener("pointerdown", (event) => { held = { x: event.clientX, y: event.clientY, moved: 0 }; });
  svg.addEventListener("pointermove", (event) => {
    if (!held || !(event.buttons & 1)) return;
    const dx = event.clientX - held.x, dy = event.clientY - held.y;
    held = { x: event.clientX, y: event.clientY, moved: held.moved + Math.abs(dx) + Math.abs(dy) };
    view.x -= dx * scale();
    view.y -= dy * scale();
    frame();
  });
  svg.addEventListener("click", (event) => { if (held?.moved > 6) event.preventDefault(); held = null; }, true);
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return; // the page scrolls
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    zoom(event.deltaY > 0 ? 1.12 : .9, view.x + ((event.clientX - box.x) / box.width) * view.w, view.y + ((event.clientY - box.y) / box.height) * view.h);
  }, { passive: false });
}
