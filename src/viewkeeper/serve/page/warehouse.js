// Every table and view: what is failing and stale first.

import { get, named } from "./api.js";
import { sparkline } from "./chart.js";
import { count, h, moment, span, table } from "./dom.js";

const EVERY = 3000;

export async function warehouse({ signal }) {
  let found = await get("api/warehouse");
  const search = h("input", { id: "search", type: "search", autocomplete: "off", oninput: () => fill() });
  const list = h("div", {}), summary = h("p.soft", {});
  const fill = () => {
    const held = document.activeElement?.closest?.("[data-name]")?.dataset.name;
    const wanted = search.value.trim().toLowerCase();
    const kept = found.relations.filter((one) => one.name.toLowerCase().includes(wanted));
    summary.replaceChildren(...told(found));
    list.replaceChildren(...lists(kept));
    if (held) [...list.querySelectorAll("[data-name]")].find((one) => one.dataset.name === held)?.focus();
    standing(found);
  };
  fill();
  const timer = setInterval(async () => {
    if (document.hidden) return;
    try { found = await get("api/warehouse"); fill(); } catch { standing(null); }
  }, EVERY);
  signal.addEventListener("abort", () => clearInterval(timer));
  return { title: "Warehouse", parts: [
    h("div.row.spread", {}, h("div", {}, h("h1", {}, "Warehouse"), summary),
      h("div", {}, h("label", { for: "search" }, "Search by name (press /)"), search)), list] };
}

export function standing(found) {
  const words = found === null ? "The service does not answer."
    : `version ${count(found.version)}${found.busy.length ? ", refreshing" : ""}${found.keeping ? "" : ", only showing"}`;
  document.getElementById("standing").textContent = words;
}

function told(found) {
  const views = found.relations.filter((one) => one.kind === "view");
  const failing = views.filter((one) => one.failing).length, stale = views.filter((one) => one.stale).length;
  const bad = failing ? [h("span.bad", {}, `${failing} failing`), ", "] : [];
  return [`${found.place}: ${views.length} views, `, ...bad, `${stale} stale, last change `, moment(found.written)];
}

function lists(kept) {
  const views = kept.filter((one) => one.kind === "view"), tables = kept.filter((one) => one.kind !== "view");
  if (!kept.length) return [h("p.card.soft", {}, "Nothing has such a name.")];
  return [
    views.length ? h("section.card", { "aria-labelledby": "views" }, h("h2", { id: "views" }, "Views"), viewTable(views)) : "",
    tables.length ? h("section.card", { "aria-labelledby": "tables" }, h("h2", { id: "tables" }, "Tables"), tableTable(tables)) : "",
  ];
}

const link = (one) => h("a", { href: `#/view/${named(one.name)}`, "data-name": one.name }, one.name);

/** The rows that are stored: those of the main part, and those of layers that are laid over it. */
export const size = (one) => [h("span", {}, count(one.main_rows)),
  one.layers ? h("span.soft", {}, ` + ${count(one.layer_rows)} in ${one.layers} layer${one.layers > 1 ? "s" : ""}`) : ""];


/** How fresh a view is, in words and by a mark; against what it asks for. */
export function freshness(one) {
  if (one.failing) return h("span.state.bad", { title: one.failing }, `failing, ${behind(one)}`);
  if (!one.stale) return h("span.state.good", {}, "fresh");
  const late = one.lag_seconds && one.seconds_behind > one.lag_seconds;
  return h(late ? "span.state.bad" : one.lag_seconds ? "span.state.idle" : "span.state.idle.warn", {}, behind(one));
}

const behind = (one) => (!one.stale ? "fresh" : one.seconds_behind === null ? "stale" : `${span(one.seconds_behind)} behind`);

function viewTable(views) {
  return table("Views: failing and stale ones first", ["view", "freshness", "asks for", "stored rows", "last refresh", "seconds of each"],
    views.map((one) => [
      link(one), freshness(one),
      one.unmet ? h("span.warn", { title: one.unmet }, `${one.target} (cannot be met)`) : one.target || h("span.soft", {}, "nothing"),
      h("span", {}, size(one)),
      one.last ? h("span", {}, one.last.strategy, h("span.soft", {}, ` ${span(one.last.seconds)}`)) : h("span.soft", {}, "never"),
      sparkline(one.line),
    ]), { stack: true });
}

function tableTable(tables) {
  return table("Tables by name", ["table", "stored rows", "read by", "note"], tables.map((one) => [
    link(one), h("span", {}, size(one)),
    one.read_by.length ? `${one.read_by.length} view${one.read_by.length > 1 ? "s" : ""}` : h("span.soft", {}, "nobody"),
    one.note + (one.versions_behind ? `, ${one.versions_behind} versions behind` : ""),
  ]), { stack: true });
}
