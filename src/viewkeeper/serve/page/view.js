// One table or view: what it is, how it stands, and what each refresh did.

import { followed, get, named, post } from "./api.js";
import { ages, bars } from "./chart.js";
import { count, h, isNumber, moment, problem, shown, span, table, tell } from "./dom.js";
import { sql } from "./sql.js";
import { freshness, size } from "./warehouse.js";

const SHOWN = 60;

export async function view({ name, signal }) {
  const one = await get(`api/relations/${named(name)}`);
  if (one.kind !== "view") return { title: one.name, parts: [head(one), facts(one), columns(one), sample(one.name)] };
  const told = await get(`api/views/${named(name)}/history`);
  const again = () => !signal.aborted && dispatchEvent(new Event("hashchange"));
  return { title: one.name, parts: [
    head(one), actions(one, again, signal),
    h("div.grid", {}, facts(one), definition(one), charts(one, told), alternatives(one, told), refreshes(told), columns(one), sample(one.name)),
  ] };
}

const relations = (names) => names.map((one, place) => [place ? ", " : "", h("a", { href: `#/view/${named(one)}` }, one)]);

function head(one) {
  return h("div", {}, h("p.small", {}, h("a", { href: "#/" }, "Warehouse")), h("h1", {}, one.name),
    h("p.row", {}, h("span.tag", {}, one.kind), one.kind === "view" ? freshness(one) : null,
      one.kind === "view" ? h("a", { href: `#/explain/${named(one.name)}` }, "How it is maintained") : null));
}

function facts(one) {
  const line = (term, ...what) => [h("dt", {}, term), h("dd", {}, what)];
  return h("section.card", { "aria-label": "Facts" }, h("h2", {}, "Facts"), h("dl", {},
    one.failing ? line("Failing", h("span.bad", {}, one.failing)) : null,
    one.unmet ? line("Cannot be met", h("span.warn", {}, one.unmet)) : null,
    one.target ? line("Asks for", one.target) : null,
    line("Stored rows", h("span", { id: "rows" }, size(one))),
    one.kind === "view" ? line("Shows version", count(one.version), one.stale ? `, ${one.commits_behind} commits and ${count(one.rows_behind)} rows behind` : "") : null,
    one.reads?.length ? line("Reads", relations(one.reads)) : null,
    one.read_by.length ? line("Read by", relations(one.read_by)) : null,
    one.key.length ? line("Key", one.key.join(", ")) : null,
    one.policy ? line("Refresh", `${one.refresh}, policy ${one.policy}`) : null,
    one.note ? line("Note", one.note) : null));
}

const definition = (one) => h("section.card", { "aria-label": "Definition" }, h("h2", {}, "Definition"), h("div.wrap", {}, sql(one.sql.trim())));

const columns = (one) => h("section.card", { "aria-label": "Columns" }, h("h2", {}, "Columns"),
  table(`Columns of ${one.name}`, ["name", "type", "NULL"], one.columns.map((c) => [c.name, h("code", {}, c.type), c.nullable ? "may be" : "never"])));

function sample(name) {
  const place = h("div", {}, h("p.wait", {}, "Loading"));
  get(`api/relations/${named(name)}/rows?limit=20`).then((found) => place.replaceChildren(rowsOf(`Rows of ${name}`, found)),
    (error) => place.replaceChildren(problem(error)));
  return h("section.card.wide", { "aria-label": "Some rows" }, h("h2", {}, "Some rows"), place);
}

/** Rows of a query as a table. */
export function rowsOf(caption, found) {
  const numbers = found.columns.map((_, place) => place).filter((place) => found.rows.length && found.rows.every((row) => row[place] === null || isNumber(row[place])));
  const words = `${caption}: ${found.truncated ? "the first " : ""}${found.rows.length}`;
  return table(words, found.columns, found.rows.map((row) => row.map(shown)), { numbers });
}

function actions(one, again, signal) {
  const place = h("div", { id: "run", "aria-live": "polite" });
  const begin = async (button, path, body) => {
    const buttons = button.parentElement.querySelectorAll("button");
    buttons.forEach((each) => { each.disabled = true; });
    const bar = h("progress", { "aria-label": "Progress" }), words = h("p.small.soft", {}, "Waiting for its turn");
    place.replaceChildren(h("div.card", {}, words, bar));
    try {
      const run = await followed(await post(path, body), (event) => {
        words.textContent = `${event.stage} ${event.detail}`.trim();
        if (event.total) { bar.max = event.total; bar.value = event.done; }
      });
      place.replaceChildren(ended(run));
      if (run.kind === "refresh" && run.state === "done" && !signal.aborted) place.append(h("button.quiet", { type: "button", onclick: again }, "Show it as it is now"));
      tell(`${run.kind} ${run.state}`);
    } catch (error) {
      place.replaceChildren(problem(error));
    }
    buttons.forEach((each) => { each.disabled = false; });
  };
  const button = (id, text, path, body) => h("button", { id, type: "button", onclick: (event) => begin(event.currentTarget, path, body) }, text);
  return h("div", {}, h("p.row.apart", {}, button("refresh", "Refresh", "api/refresh", { views: [one.name] }),
    button("verify", "Verify", "api/verify", { view: one.name })), place);
}

function ended(run) {
  if (run.error) return problem({ told: run.error });
  if (run.kind === "verify") {
    const is = run.result.verdict ?? (run.result.equal ? "right" : "different");
    return h("p.card", {}, h(is === "right" ? "span.good" : "span.bad", { id: "verdict" }, is), ` after ${span(run.seconds)}: compared with Spark's answer to the text of the view.`);
  }
  const done = run.result.views.map((one) => `${one.view} by ${one.strategy}, ${count(one.rows_written)} rows written`);
  return h("p.card", {}, done.length ? `${done.join("; ")}. ` : "There was nothing to do. ", `Version ${run.result.version}, ${span(run.seconds)}.`);
}

const clock = (text) => new Date(text).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
const kindOf = (one) => (one.failure ? "failed" : one.report.strategy === "recompute" ? "rec" : "inc");

function charts(one, told) {
  const done = told.filter((each) => each.failure || (each.report.strategy && each.report.strategy !== "none")).slice(-SHOWN);
  if (!done.length) return null;
  const seconds = done.map((each) => ({
    value: each.report.seconds ?? 0, estimate: each.report.details?.estimate?.seconds, kind: kindOf(each), at: clock(each.written),
    label: each.failure ? `failed: ${each.failure}` : `version ${each.version}: ${each.report.strategy}, ${span(each.report.seconds)}`,
  }));
  const changed = done.map((each) => ({ value: each.report.rows_written ?? 0, kind: kindOf(each), at: clock(each.written), label: `version ${each.version}: ${count(each.report.rows_written)} rows written` }));
  const old = done.filter((each) => each.age !== null).map((each) => ({ value: each.age, at: clock(each.written) }));
  return h("section.card.wide", { "aria-label": "Refreshes as charts" }, h("h2", {}, "Refreshes"), h("div.grid", {},
    bars("Seconds", seconds, { words: "Dashes are what was estimated." }),
    bars("Rows written", changed, { format: (value) => count(Math.round(value)) }),
    old.length ? ages("Age of the oldest change that it did not show, up to each refresh", old, one.lag_seconds) : null,
    h("ul.key.wide", {}, h("li", {}, h("i.i-inc"), "incremental"), h("li", {}, h("i.i-rec"), "recomputed"), h("li", {}, h("i.i-bad"), "failed"),
      h("li", {}, h("i.i-est"), "estimated"), one.lag_seconds ? h("li", {}, h("i.i-target"), "target lag") : null)));
}

const number = (value) => (value === undefined ? "" : count(value));

function refreshes(told) {
  const rows = told.slice(-SHOWN).reverse().map((each) => [
    count(each.version), moment(each.written),
    each.failure ? h("span.bad", {}, "failed") : each.report.strategy ?? each.operation,
    number(each.report.rows_read), number(each.report.rows_written),
    each.report.seconds === undefined ? "" : span(each.report.seconds),
    each.report.details?.estimate ? span(each.report.details.estimate.seconds) : "",
    each.failure || each.report.reason?.sentence || each.operation,
  ]);
  return h("section.card.wide", { "aria-label": "What each refresh did" }, h("h2", {}, "What each refresh did"),
    table("The newest first", ["version", "when", "strategy", "rows read", "rows written", "took", "estimated", "why"], rows, { numbers: [0, 3, 4, 5, 6] }));
}

function alternatives(one, told) {
  const last = [...told].reverse().find((each) => each.report.details?.alternatives);
  if (!last) return null;
  const taken = last.report.strategy, all = Object.entries(last.report.details.alternatives);
  const rows = all.map(([name, cost]) => [name + (name === taken ? " (taken)" : ""), span(cost.seconds), count(cost.rows_read), count(cost.rows_written)]);
  const refused = Object.entries(last.report.details.rejected ?? {});
  return h("section.card.wide", { "aria-label": "Other ways" }, h("h2", {}, "What else could have been done"),
    table(`Ways to refresh ${one.name}, as they were priced for version ${last.version}`, ["way", "estimated", "rows read", "rows written"], rows, { numbers: [1, 2, 3] }),
    refused.length ? h("ul.small", {}, refused.map(([name, code]) => h("li", {}, `not ${name}: ${code}`))) : null);
}
