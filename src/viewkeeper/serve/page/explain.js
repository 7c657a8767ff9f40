// How a view is maintained: the physical plan as a graph, beside its SQL and the rule behind each step.

import { get, named } from "./api.js";
import { count, h, span, table } from "./dom.js";
import { graph } from "./graph.js";
import { sql } from "./sql.js";

export async function explain({ name }) {
  const told = await get(`api/views/${named(name)}/explain`);
  const measured = new Map((told.last?.details?.steps ?? []).map((one) => [one.step, one]));
  const drawn = graph(`The plan of ${told.view}`, nodes(told, measured), edges(told), { low: true });
  return { title: `How ${told.view} is maintained`, parts: [
    h("p.small", {}, h("a", { href: "#/" }, "Warehouse"), " / ", h("a", { href: `#/view/${named(told.view)}` }, told.view)),
    h("h1", {}, `How ${told.view} is maintained`),
    h("p", {}, h("b", { id: "strategy" }, told.strategy), ". ", told.reason.sentence, " ", h("span.soft", {}, `For changes of ${told.changed.join(", ") || "nothing"}.`),
      told.parent ? ` By way of ${told.parent}.` : "", told.note ? ` ${told.note}.` : ""),
    h("section", { "aria-label": "The plan as a graph" }, drawn.element), h("p.small.soft", {}, "Rows and seconds of a step are those of the last refresh, where it had one."),
    h("div.grid", {}, costs(told), kept(told)),
    h("section.card", { "aria-label": "Steps" }, h("h2", {}, "Step by step"), h("ol.steps", {}, told.steps.map((one, place) => step(one, place, measured, drawn, told)))),
    told.figures ? h("section.card", {}, h("h2", {}, "As mumick97 writes it"), sql(told.figures)) : null,
    h("section.card", { "aria-label": "The view" }, h("h2", {}, "The view as a plan"), h("pre", { tabindex: 0 }, told.plan)),
  ] };
}

const idOf = (one, place) => `${place}:${one.name}`;

function where(how) {
  const words = how.split(", ").filter(Boolean);
  return words.includes("on the driver") ? "on the driver" : words.join(", ") || "by Spark";
}

function nodes(told, measured) {
  const made = new Set(told.steps.map((one) => one.name));
  const read = new Set(told.steps.flatMap((one) => one.reads).filter((one) => !made.has(one)));
  const inputs = [...read].map((one) => ({ id: one, name: one.replace(/__delta$/, ""), kind: "table",
    lines: one.endsWith("__delta") ? "what changed" : "as it is stored", label: `reads ${one}` }));
  return [...inputs, ...told.steps.map((one, place) => {
    const last = measured.get(one.name);
    const cost = last ? `${count(last.rows)} rows, ${span(last.seconds)}` : where(one.how);
    return { id: idOf(one, place), name: one.name || `step ${place + 1}`, kind: "made", lines: cost, href: `#step`, label: `step ${place + 1}: ${one.title}; ${where(one.how)}${last ? `; ${cost}` : ""}` };
  })].map((one) => ({ ...one, href: undefined }));
}

function edges(told) {
  const found = [], maker = new Map();
  told.steps.forEach((one, place) => {
    for (const read of one.reads) found.push({ from: maker.get(read) ?? read, to: idOf(one, place), text: one.how.includes("broadcast") ? "broadcast" : "" });
    maker.set(one.name, idOf(one, place));
  });
  return found.filter((one) => one.from !== one.to);
}

function step(one, place, measured, drawn, told) {
  const last = measured.get(one.name);
  const reading = told.steps.slice(0, place).map((each, at) => [each.name, idOf(each, at)]);
  const ids = new Map(reading);
  const light = () => drawn.light([idOf(one, place)], one.reads.map((read) => [ids.get(read) ?? read, idOf(one, place)]));
  return h("li", { onmouseenter: light, onfocusin: light, tabindex: 0 },
    h("b", {}, one.title), h("p.small", {}, h("span.tag", {}, where(one.how)), " ", one.rule),
    last ? h("p.small.soft", {}, `Last time: ${count(last.rows)} rows in ${span(last.seconds)}.`) : null,
    one.sql ? h("details", {}, h("summary", {}, "SQL"), sql(one.sql)) : null);
}

function costs(told) {
  const rows = Object.entries(told.expected).map(([name, cost]) => [name + (name === told.strategy ? " (taken)" : ""), span(cost.seconds), count(cost.rows_read), count(cost.rows_written), ""]);
  const refused = told.rejected.map((one) => [one.strategy, "", "", "", one.sentence]);
  return h("section.card", { "aria-label": "Ways" }, h("h2", {}, "Ways, and why not"),
    table("What each way is expected to cost", ["way", "seconds", "reads", "writes", "why not"], [...rows, ...refused], { numbers: [1, 2, 3] }));
}

function kept(told) {
  const last = told.last;
  return h("section.card", { "aria-label": "State" }, h("h2", {}, "What is kept, and the last refresh"), h("dl", {},
    h("dt", {}, "Keeps"), h("dd", {}, told.state.length ? told.state.map((one) => `${one.relation}${one.rows === null ? "" : ` (${count(one.rows)} rows)`}`).join(", ") : "nothing beside its rows"),
    h("dt", {}, "Last"), h("dd", {}, last ? `${last.strategy} in ${span(last.seconds)}, ${count(last.rows_read)} rows read, ${count(last.rows_written)} written` : "never"),
    told.alone ? [h("dt", {}, "In no lattice"), h("dd", {}, told.alone.sentence)] : null));
}
