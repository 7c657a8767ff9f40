// Elements, and values as people read them.

const SVG = "http://www.w3.org/2000/svg";

/** An element: h("p.soft", {id: "x"}, "text", other). Texts are never HTML. */
export function h(what, attributes = {}, ...children) {
  const [tag, ...classes] = what.split(".");
  return filled(document.createElement(tag), classes, attributes, children);
}

/** The same of SVG. */
export function s(what, attributes = {}, ...children) {
  const [tag, ...classes] = what.split(".");
  return filled(document.createElementNS(SVG, tag), classes, attributes, children);
}

function filled(element, classes, attributes, children) {
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(9).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

export const count = (number) => (number ?? 0).toLocaleString("en");

/** A span of seconds: 0.26 s, 12 s, 3 min, 2 h. */
export function span(seconds) {
  if (seconds === null || seconds === undefined) return "unknown";
  if (seconds < 10) return `${Number(seconds.toPrecision(2))} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

/** A moment, as the clock of the reader shows it. */
export function moment(text) {
  if (!text) return "";
  const at = new Date(text);
  return h("time", { datetime: text }, at.toLocaleString([], { dateStyle: "medium", timeStyle: "medium" }));
}

/** A table of rows under names; `numbers` are the places of columns that stand to the right. */
export function table(caption, names, rows, { numbers = [], stack = false } = {}) {
  const cell = (value, place) => {
    const isNull = value === null || value === undefined;
    const className = numbers.includes(place) ? "td.num" : isNull ? "td.null" : "td";
    return h(className, { "data-label": stack && place ? names[place] : null }, isNull ? "NULL" : value);
  };
  return h("div.scroll", { tabindex: 0, role: "region", "aria-label": caption },
    h(stack ? "table.stack" : "table", {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, names.map((name, place) =>
        h(numbers.includes(place) ? "th.num" : "th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell))))));
}

/** A value of a query, as a cell shows it. */
export function shown(value) {
  if (value === null || value === undefined) return null;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export const isNumber = (value) => typeof value === "number";

export function tell(text) {
  document.getElementById("live").textContent = text;
}

/** An error, with all that it says. */
export function problem(error) {
  const told = error.told ?? { message: String(error.message ?? error) };
  return h("div.card", { role: "alert" }, h("p.bad", {}, told.message),
    told.detail ? h("pre", { tabindex: 0 }, told.detail) : null, told.hint ? h("p", {}, told.hint) : null);
}
