// Tables and views as a graph, the lattice of summaries on it, and the last refresh step by step.

import { get, named } from "./api.js";
import { count, h, moment, span, tell } from "./dom.js";
import { graph } from "./graph.js";

const PACE = 1400;

export async function lineage({ signal }) {
  const told = await get("api/lineage");
  const wanted = { derives: true };
  const place = h("div", {});
  let drawn;
  const draw = () => {
    drawn = graph("Lineage: tables to the left, views that read them to the right", told.nodes.map(node), edges(told, wanted.derives));
    place.replaceChildren(drawn.element);
  };
  draw();
  const box = h("input", { type: "checkbox", id: "derives", checked: true, onchange: () => { wanted.derives = box.checked; draw(); } });
  return { title: "Lineage", parts: [
    h("div.row.spread", {}, h("h1", {}, "Lineage and lattice"), h("div.row.small", {}, box, h("label", { for: "derives" }, "Which summaries derive which"))),
    place,
    h("ul.key", {}, h("li", {}, "→ reads"), told.lattice.edges.length ? h("li", {}, "blue: derives; the heavy line is the cheapest way, ⋈ the tables that it joins") : null),
    told.last ? replay(told.last, () => drawn, signal) : h("p.soft", {}, "Nothing was refreshed yet."),
    list(told),
  ] };
}

function node(one) {
  const kind = one.kind === "view" ? (one.failing ? "view.failing" : one.stale ? "view.stale" : "view") : "table";
  const standing = one.kind === "view" ? (one.failing ? "failing" : one.stale ? "stale" : "fresh") : one.kind;
  return { id: one.name, name: one.name, kind, href: `#/view/${named(one.name)}`,
    lines: `${count(one.rows)} rows, ${standing}`, label: `${one.name}: ${one.kind}, ${count(one.rows)} rows, ${standing}` };
}

function edges(told, derives) {
  const views = new Set(told.nodes.map((one) => one.name));
  const reads = told.edges.map((one) => ({ ...one, kind: "reads" }));
  const lattice = told.lattice.edges.filter((one) => views.has(one.parent) && views.has(one.child)).map((one) => ({
    from: one.parent, to: one.child, kind: one.chosen ? "derives.chosen" : "derives", text: one.joins.length ? `⋈ ${one.joins.join(", ")}` : "" }));
  return derives ? [...reads, ...lattice] : reads;
}

/** The views of the last refresh, in the order of the work, lit one after the other. */
function replay(last, drawn, signal) {
  let at = -1, timer = null;
  const items = last.views.map((one, place) => h("li", {}, h("button.quiet", { type: "button", onclick: () => go(place) }, one.view),
    ` ${one.strategy}${one.details.parent ? ` by way of ${one.details.parent}` : ""}, ${count(one.rows_written)} rows in ${span(one.seconds)}. ${one.reason.sentence}`));
  const go = (place) => {
    at = Math.max(Math.min(place, items.length - 1), -1);
    items.forEach((item, number) => { item.classList.toggle("lit", number === at); item.toggleAttribute("aria-current", number === at); });
    const one = last.views[at];
    const from = one ? [...Object.keys(one.details.reads ?? {}), ...(one.details.parent ? [one.details.parent] : [])].map((name) => name.replace(/__(delta|new|old)$/, "")) : [];
    drawn().light(one ? [one.view, ...from] : [], from.map((name) => [name, one?.view]));
    if (one) tell(`Step ${at + 1} of ${items.length}: ${one.view}, ${one.strategy}`);
  };
  const stop = () => { clearInterval(timer); timer = null; play.textContent = "Play"; };
  const start = () => {
    play.textContent = "Stop";
    if (at >= items.length - 1) at = -1;
    go(at + 1);
    timer = setInterval(() => (at >= items.length - 1 ? stop() : go(at + 1)), PACE);
  };
  const play = h("button", { type: "button", id: "play", onclick: () => (timer ? stop() : start()) }, "Play");
  signal.addEventListener("abort", () => clearInterval(timer));
  return h("section.card", { "aria-label": "The last refresh" },
    h("div.row.spread", {}, h("h2", {}, "The last refresh, step by step"), h("span.small.soft", {}, `version ${last.version}, `, moment(last.written))),
    h("p.row", {}, play, h("button.quiet", { type: "button", id: "back", onclick: () => go(at - 1) }, "Back"),
      h("button.quiet", { type: "button", id: "next", onclick: () => go(at + 1) }, "Next")),
    h("ol.steps", { id: "replay" }, items));
}

function list(told) {
  return h("details.card", {}, h("summary", {}, "The same as a list"), h("ul", {}, told.nodes.map((one) => {
    const read = told.edges.filter((edge) => edge.to === one.name).map((edge) => edge.from);
    return h("li", {}, h("a", { href: `#/view/${named(one.name)}` }, one.name), ` (${one.kind})${read.length ? ` reads ${read.join(", ")}` : ""}`);
  })));
}
