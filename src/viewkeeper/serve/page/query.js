// SQL over the warehouse, and which view answered it.

import { get, post } from "./api.js";
import { h, problem, span, tell } from "./dom.js";
import { sql } from "./sql.js";
import { rowsOf } from "./view.js";

const LAST = "viewkeeper-query";

export async function query() {
  const { relations } = await get("api/warehouse");
  const first = relations.find((one) => one.kind === "view") ?? relations[0];
  const text = h("textarea", { id: "sql", spellcheck: "false", autocapitalize: "off" });
  text.value = sessionStorage.getItem(LAST) ?? (first ? `SELECT *\nFROM ${first.name}` : "");
  const limit = h("select", { id: "limit" }, [10, 100, 1000].map((one) => h("option", { selected: one === 100 }, String(one))));
  const place = h("div", { id: "answer", "aria-live": "polite" });
  const run = h("button", { id: "run-query", type: "submit" }, "Run");
  const ask = async () => {
    sessionStorage.setItem(LAST, text.value);
    run.disabled = true;
    place.replaceChildren(h("p.wait", {}, "Running"));
    const began = performance.now();
    try {
      const found = await post("api/query", { sql: text.value, limit: Number(limit.value) });
      place.replaceChildren(...answer(found, (performance.now() - began) / 1000));
      tell(`${found.rows.length} rows`);
    } catch (error) {
      place.replaceChildren(problem(error));
    }
    run.disabled = false;
  };
  const form = h("form.card", { onsubmit: (event) => { event.preventDefault(); ask(); } },
    h("label", { for: "sql" }, "A SELECT over tables and views (Ctrl+Enter runs it)"), text,
    h("p.row", {}, run, h("span", {}, h("label", { for: "limit" }, "Rows at most"), limit)));
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); ask(); }
  });
  const names = relations.map((one) => h("button.quiet", { type: "button", onclick: () => { text.value = `SELECT *\nFROM ${plain(one.name)}`; text.focus(); } }, one.name));
  return { title: "Query", parts: [h("h1", {}, "Query"), form, place,
    h("details.card", {}, h("summary", {}, "Tables and views"), h("p.row", {}, names))] };
}

const plain = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replaceAll("`", "``")}\``);

function answer(found, seconds) {
  const by = found.answered;
  return [
    h("section.card", { "aria-label": "Answer" }, h("p", {}, by.view ? ["Answered from ", h("b", { id: "answered" }, by.view)] : h("span", { id: "answered" }, "Answered from what it names"),
      h("span.soft", {}, ` in ${span(seconds)}. ${by.reason.sentence}`)), rowsOf("Rows", found)),
    h("details.card", {}, h("summary", {}, "What was run, and which views could not answer"), sql(by.sql),
      by.rejected.length ? h("ul.small", {}, by.rejected.map((one) => h("li", {}, `not ${one.view}: ${one.sentence}`))) : null),
  ];
}
