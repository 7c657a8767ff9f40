// SQL with its keywords, texts, numbers and comments told apart.

import { h } from "./dom.js";

const WORDS = new Set(("select from where group by having order limit join inner left right full outer cross semi anti on " +
  "using as and or not in is null between like case when then else end distinct union all except intersect with " +
  "recursive over partition rows range values exists cast sum count min max avg coalesce date decimal int bigint " +
  "string interval lateral view sets grouping rollup cube filter true false asc desc nulls first last broadcast").split(" "));

const PIECES = /(--[^\n]*|\/\*[\s\S]*?\*\/)|('(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*")|(`[^`]*`)|(\b\d+(?:\.\d+)?\b)|([A-Za-z_]\w*)|([\s\S])/g;

export function sql(text) {
  const parts = [];
  for (const [whole, comment, quoted, , number, word] of text.matchAll(PIECES)) {
    if (comment) parts.push(h("span.c", {}, whole));
    else if (quoted) parts.push(h("span.s", {}, whole));
    else if (number) parts.push(h("span.n", {}, whole));
    else if (word && WORDS.has(word.toLowerCase())) parts.push(h("span.k", {}, whole));
    else parts.push(whole);
  }
  return h("pre.sql", { tabindex: 0 }, h("code", {}, parts));
}
