"use strict";
// The page is made from the server's OpenAPI document. All texts are set with textContent, so that no text becomes markup.
const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};
const byId = (id) => document.getElementById(id);
let apiDocument = {};

/** Resolves a reference in the document. */
const resolved = (thing) =>
  thing && thing.$ref ? thing.$ref.split("/").slice(1).reduce((at, part) => at[part], apiDocument) : thing;

/** Returns an example value of a schema. */
function sample(given, depth = 0) {
  const schema = resolved(given) || {};
  if (given && given.default !== undefined) return given.default;
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return sample(schema.anyOf[0], depth);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => sample(part, depth)));
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (schema.properties || type === "object" || schema.required) {
    const named = Object.entries(schema.properties || {}).filter(([name]) => wanted(name, schema, depth));
    return Object.fromEntries(named.map(([name, of]) => [name, sample(of, depth + 1)]));
  }
  if (type === "array") return schema.minItems ? [sample(schema.items, depth + 1)] : [];
  if (type === "integer" || type === "number") return Math.max(schema.minimum || 0, 0);
  if (type === "boolean") return false;
  return "";
}

/** Whether an example includes a property. Customised attributes and fields of older paths are left out. */
const wanted = (name, schema, depth) =>
  !/^((bool|dt|num|str|txt)[0-9]+|repeat_.*|apikey|group_id)$/.test(name) && depth < 4;

function field(parameter) {
  const schema = resolved(parameter.schema) || {};
  const choices = schema.enum || (schema.anyOf || []).map(resolved).flatMap((one) => one.enum || []);
  const open = (schema.anyOf || [schema]).map(resolved).some((one) => !one.enum);
  if (choices.length > 2 && !open) {
    const select = make("select", { name: parameter.name, ariaLabel: parameter.name });
    select.append(make("option", { value: "", textContent: "" }));
    choices.filter((choice) => choice !== "").forEach((choice) => select.append(make("option", { textContent: choice })));
    return select;
  }
  return make("input", { name: parameter.name, ariaLabel: parameter.name, placeholder: parameter.required ? "required" : "", spellcheck: false });
}

/** Returns the query parameters of a field. The values of a list are separated by commas. */
function asQuery(parameter, value) {
  if (value === "") return [];
  const values = resolved(parameter.schema).type === "array" ? value.split(",").map((one) => one.trim()) : [value];
  return values.map((one) => `${encodeURIComponent(parameter.name)}=${encodeURIComponent(one)}`);
}

function authorization() {
  const email = byId("email").value;
  if (!email) return null;
  const bytes = new TextEncoder().encode(`${email}:${byId("password").value}`);
  return "Basic " + btoa(String.fromCharCode(...bytes));
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

async function send(path, method, operation, form, output, given) {
  let target = path;
  const query = [];
  const headers = {};
  for (const parameter of operation.parameters.map(resolved)) {
    const value = form.elements[parameter.name].value;
    if (parameter.in === "path") target = target.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (parameter.in === "query") query.push(...asQuery(parameter, value));
    else if (parameter.in === "header" && value !== "") headers[parameter.name] = value;
  }
  const open = (operation.security || []).some((needs) => Object.keys(needs).length === 0);
  const credentials = authorization();
  if (!open && byId("apikey").value) query.push(`apikey=${encodeURIComponent(byId("apikey").value)}`);
  if (!open && credentials) headers.Authorization = credentials;
  const body = form.elements.body ? form.elements.body.value : undefined;
  if (body !== undefined) headers["Content-Type"] = form.elements.body.dataset.type;
  // A relative URL also works behind a proxy that serves the API under another path.
  const url = new URL(target.slice(1) + (query.length ? `?${query.join("&")}` : ""), document.baseURI);
  const shown = Object.entries(headers).filter(([name]) => name !== "Authorization");
  const curl = ["curl -s", method === "get" ? "" : `-X ${method.toUpperCase()}`]
    .concat(!open && credentials ? [`-u ${quoted(`${byId("email").value}:…`)}`] : [])
    .concat(shown.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`))
    .concat(body === undefined ? [] : [`-d ${quoted(body)}`])
    .concat([quoted(url.href)])
    .filter(Boolean)
    .join(" ");
  output.replaceChildren(make("p", { className: "dim", textContent: "sending…" }));
  const began = performance.now();
  try {
    const response = await fetch(url, { method: method.toUpperCase(), headers, body, credentials: "same-origin" });
    const text = await response.text();
    const took = `${Math.round(performance.now() - began)} ms`;
    const status = make("span", { className: "status", textContent: `${response.status} ${response.statusText}` });
    output.replaceChildren(make("p", {}, status, ` in ${took}`), scrollable(indented(text), "response"));
    if (response.ok) given.then?.(JSON.parse(text));
  } catch (error) {
    output.replaceChildren(make("p", { className: "status", textContent: `no response: ${error.message}` }));
  }
  output.append(make("p", { className: "dim", textContent: "the same request with curl:" }), scrollable(curl, "curl command"));
}

/** Returns a text that may be longer than its box, which the keyboard can scroll. */
const scrollable = (text, label) =>
  make("pre", { textContent: text, tabIndex: 0, role: "region", ariaLabel: label });

function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Returns the form of an operation. `given` holds values of its fields, and what its answer is for. */
function inside(path, method, operation, given = {}) {
  const form = make("form");
  const output = make("div", { ariaLive: "polite" });
  if (operation.description) form.append(make("p", { className: "dim", textContent: operation.description }));
  const rows = operation.parameters.map(resolved).map((parameter) => {
    const name = make("code", { textContent: parameter.name });
    return make("tr", {}, make("td", {}, name), make("td", {}, field(parameter)),
      make("td", { className: "dim", textContent: parameter.description || (parameter.in === "path" ? "in the path" : "") }));
  });
  if (rows.length) form.append(make("table", {}, make("tbody", {}, ...rows)));
  const content = operation.requestBody && resolved(operation.requestBody).content;
  if (content) {
    const [type, of] = Object.entries(content)[0];
    const text = type.endsWith("json") ? JSON.stringify(sample(of.schema), null, 2) : "";
    const area = make("textarea", { name: "body", ariaLabel: "body", value: text, spellcheck: false });
    area.dataset.type = type;
    form.append(make("p", { className: "dim", textContent: "body" }), area);
  }
  for (const [name, value] of Object.entries(given.values ?? {})) form.elements[name].value = value;
  const answers = Object.entries(operation.responses)
    .map(([status, answer]) => `${status} ${resolved(answer).description}`).join("\n");
  form.append(make("p", {}, make("button", { textContent: "Send" })));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(path, method, operation, form, output, given);
  });
  const listing = make("details", {}, make("summary", { className: "dim", textContent: "answers" }),
    scrollable(answers, "answers"));
  return make("div", { className: "inside" }, form, output, listing);
}

function titled(path, method, says) {
  return make("summary", {},
    make("span", { className: `method ${method}`, textContent: method.toUpperCase() }),
    make("code", {}, ...path.split(/(?=\/)/).flatMap((part) => [make("wbr", {}), part])),
    make("span", { className: "says", textContent: says }));
}

function shown(path, method, operation) {
  const summary = titled(path, method, operation.summary || "");
  const details = make("details", { className: "operation" }, summary);
  details.dataset.words = `${method} ${path} ${operation.summary} ${operation.tags}`.toLowerCase();
  // A form is made when it is first opened, because most never are.
  details.addEventListener("toggle", () => details.append(inside(path, method, operation)), { once: true });
  return details;
}

function filter() {
  const words = byId("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const section of document.querySelectorAll("main section")) {
    let any = false;
    for (const details of section.querySelectorAll("details.operation")) {
      const found = words.every((word) => details.dataset.words.includes(word));
      details.classList.toggle("hidden", !found);
      any ||= found;
    }
    const older = section.querySelector("details.older");
    older?.classList.toggle("hidden", !older.querySelector(".operation:not(.hidden)"));
    section.classList.toggle("hidden", !any);
  }
}

const booking = (date) => JSON.stringify({ appointment: { date, intervention_ids: [1],
  fiche: { lastname: "Durand", firstname: "Zoé", email: "zoe@example.org" } } }, null, 2);

/** Returns three calls with values, from the services of a group to a booking. */
function worked() {
  const body = () => byId("worked").querySelector("textarea");
  const begin = "/api/v1/groups/{group_id}";
  const calls = [
    { path: `${begin}/interventions`, method: "get", says: "1. Read the services of a group.", values: { group_id: 1 } },
    { path: `${begin}/availabletimeslots`, method: "get", says: "2. Find the free starts of a service.",
      values: { group_id: 1, "intervention_ids[]": 1, nDays: 7 },
      then: ({ availabletimeslots: [slot] }) => { if (slot) body().value = booking(slot.start); } },
    { path: `${begin}/appointments`, method: "post", says: "3. Book the first free start that the second call found.",
      values: { group_id: 1, body: booking("2030-01-07 09:00:00") } },
  ];
  const boxes = calls.map((call) => make("details", { open: call === calls[0] }, titled(call.path, call.method, call.says),
    inside(call.path, call.method, apiDocument.paths[call.path][call.method], call)));
  return make("div", { id: "worked" }, make("h2", { textContent: "Three calls to a booking" }), ...boxes);
}

async function begin() {
  const response = await fetch(new URL("api/v1/openapi.json", document.baseURI));
  apiDocument = await response.json();
  byId("about").textContent = `version ${apiDocument.info.version}: ${apiDocument.info.description.split("\n")[0]}`;
  const sections = new Map(apiDocument.tags.map(({ name }) => [name, make("section", { id: name }, make("h2", { textContent: name }))]));
  const all = Object.entries(apiDocument.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })));
  // Older paths stand last in their section, folded away.
  const older = new Map();
  for (const { path, method, operation } of all) {
    const [tag] = operation.tags;
    if (!operation.deprecated) sections.get(tag).append(shown(path, method, operation));
    else older.set(tag, [...(older.get(tag) || []), shown(path, method, operation)]);
  }
  for (const [tag, operations] of older) {
    const summary = make("summary", { textContent: `older paths of ${tag} (${operations.length})` });
    sections.get(tag).append(make("details", { className: "older" }, summary, ...operations));
  }
  byId("operations").append(worked(), ...sections.values());
  byId("tags").append(...[...sections.keys()].map((name) => make("a", { href: `#${name}`, textContent: name })));
  byId("find").addEventListener("input", filter);
  byId("who").addEventListener("submit", (event) => event.preventDefault());
}

begin().catch((error) => {
  byId("about").textContent = `the document could not be read: ${error.message}`;
});
