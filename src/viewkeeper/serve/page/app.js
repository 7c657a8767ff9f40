// The page: which screen the address names, and what all of them share.

import { token } from "./api.js";
import { h, problem, tell } from "./dom.js";
import { explain } from "./explain.js";
import { lineage } from "./lineage.js";
import { query } from "./query.js";
import { view } from "./view.js";
import { warehouse } from "./warehouse.js";

const SCREENS = { "": warehouse, view, explain, lineage, query };
const main = document.getElementById("main");
let leave = null, turn = 0;

async function open() {
  leave?.abort();
  leave = new AbortController();
  const mine = ++turn;
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  const screen = SCREENS[name] ?? warehouse;
  for (const link of document.querySelectorAll("nav a[data-screen]")) {
    const isHere = link.dataset.screen === (name || "warehouse");
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  main.replaceChildren(h("p.wait", {}, "Loading"));
  main.removeAttribute("data-ready");
  try {
    const { title, parts } = await screen({ name: decodeURIComponent(rest.join("/")), signal: leave.signal });
    if (mine !== turn) return;
    document.title = `${title} – Viewkeeper`;
    main.replaceChildren(...[parts].flat(9).filter(Boolean));
    tell(title);
  } catch (error) {
    if (mine !== turn) return;
    main.replaceChildren(h("h1", {}, "This cannot be shown"), problem(error));
  }
  main.setAttribute("data-ready", name || "warehouse");
}

const dialog = document.getElementById("ask-token"), button = document.getElementById("token");
const label = () => { button.textContent = token.get() ? "Token kept" : "Token"; };

button.addEventListener("click", () => {
  document.getElementById("token-text").value = token.get();
  dialog.showModal();
});
dialog.addEventListener("close", () => {
  if (dialog.returnValue === "keep") token.keep(document.getElementById("token-text").value.trim());
  label();
});

document.addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key === "/" && !isTyping) {
    const search = document.getElementById("search");
    if (search) { event.preventDefault(); search.focus(); }
  }
});
addEventListener("hashchange", () => { open(); main.focus({ preventScroll: true }); scrollTo(0, 0); });
label();
open();
