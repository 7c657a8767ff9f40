// The API, from its description.

import { get } from "./api.js";
import { h, problem, table } from "./dom.js";

function operation(path, method, told) {
  const body = told.requestBody?.content["application/json"].schema.properties ?? {};
  const fields = [
    ...told.parameters.map((one) => [one.name, one.in === "path" ? "in the path" : "after ?", one.description]),
    ...Object.entries(body).map(([name, one]) => [name, "in the body", one.description]),
  ];
  return h("section.card", { "aria-label": `${method} ${path}` },
    h("h2", {}, h("code", {}, `${method.toUpperCase()} ${path}`)),
    h("p", {}, `${told.summary}.`, told.security ? " Needs the token." : ""),
    fields.length ? table(`What ${path} takes`, ["name", "where", "meaning"], fields) : null,
    method === "get" && !path.includes("{") ? h("p.small", {}, h("a", { href: path.slice(1) }, "Ask it")) : null);
}

async function show() {
  const told = await get("openapi.json");
  const all = Object.entries(told.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => operation(path, method, one)));
  return [h("h1", {}, "The API"), h("p.soft", {}, "For programs: ", h("a", { href: "openapi.json" }, "openapi.json")), all];
}

const main = document.getElementById("main");
show().then((parts) => main.replaceChildren(...parts.flat()), (error) => main.replaceChildren(problem(error)));
