"use strict";
// Everything from a run is set as text, never as HTML. The address after # says what is shown: it can be sent on.
const by = (id) => document.getElementById(id);
const state = { q: "", show: "all", where: "", page: 0, id: "" };
let about = null, rows = [], total = 0, size = 0;

function make(name, properties = {}, ...inside) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) key === "class" ? (node.className = value) : (node[key] = value);
  node.append(...inside.filter((x) => x !== null && x !== undefined));
  return node;
}
async function get(path, query = {}) {
  const reply = await fetch(path + "?" + new URLSearchParams(query));
  if (!reply.ok) throw new Error(await reply.text());
  return reply.json();
}
function fromAddress() {
  const found = new URLSearchParams(location.hash.slice(1));
  for (const key of Object.keys(state)) state[key] = found.get(key) ?? (key === "show" ? "all" : key === "page" ? 0 : "");
  state.page = Number(state.page) || 0;
}
function toAddress() {
  const kept = Object.entries(state).filter(([key, value]) => value && !(key === "show" && value === "all"));
  history.replaceState(null, "", "#" + new URLSearchParams(kept));
}
let asked = 0;
async function list({ last: fromEnd = false, around = "" } = {}) {
  const number = ++asked;
  let found;
  try { found = await get("/api/samples", { q: state.q, show: state.show, where: state.where, page: state.page, around }); }
  catch (error) { by("count").textContent = error.message; return; }
  if (number !== asked) return;
  rows = found.rows; total = found.total; state.page = found.page; size = found.size;
  const last = Math.min(total, (found.page + 1) * found.size);
  by("count").textContent = total ? `${(found.page * found.size + 1).toLocaleString()} to ${last.toLocaleString()} of ${total.toLocaleString()}` : "nothing fits";
  by("back").disabled = found.page === 0; by("next").disabled = last >= total;
  by("pages").hidden = total <= found.size;
  by("list").replaceChildren(...rows.map((row) => {
    const dots = make("span", { class: "dots", title: row.right.map((r) => (r ? "right" : "wrong")).join(", ") },
      ...row.right.map((r) => make("span", { class: r ? "right" : "wrong" }, r ? "●" : "○")));
    const item = make("li", {}, row.id, dots);
    item.onclick = () => choose(row.id);
    return item;
  }));
  if (rows.length && !state.id) state.id = rows.at(fromEnd ? -1 : 0).id;
  toAddress(); mark();
  if (state.id) show(state.id); else by("sample").replaceChildren(make("p", { class: "soft" }, "No sample fits the search and the filters."));
}
function mark() {
  [...by("list").children].forEach((item, i) => {
    if (rows[i].id === state.id) { item.setAttribute("aria-current", "true"); item.scrollIntoView({ block: "nearest" }); }
    else item.removeAttribute("aria-current");
  });
}
function choose(id) { state.id = id; toAddress(); mark(); show(id); }
async function show(id) {
  let found;
  try { found = await get("/api/sample", { id }); }
  catch (error) { by("sample").replaceChildren(make("p", { class: "wrong" }, error.message)); return; }
  if (id !== state.id) return;
  const known = Object.entries(found.attributes).flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, String(v))]);
  const questions = found.prompts.map((text) => make("details", { open: !about.boxes }, make("summary", {}, "What was asked"), make("pre", {}, text)));
  by("sample").replaceChildren(...[
    make("h2", {}, id),
    found.doubt ? make("p", { class: "wrong" }, `Without pictures: ${found.doubt}`) : null,
    about.boxes ? legend(found.runs.some((run) => run.boxes.some((box) => !box.counts))) : null,
    ...(about.boxes ? [] : questions),
    about.boxes ? null : make("p", {}, "Right answer: ", make("strong", {}, found.truth)),
    about.boxes || !found.size ? null : frame(found, []),
    make("div", { class: "runs" }, ...found.runs.map((run) => make("section", { class: "run" },
      make("h3", {}, run.name + " "),
      about.boxes ? frame(found, run.boxes, run.missed) : null,
      make("p", { class: run.right ? "right" : "wrong" }, (run.right ? "right" : "wrong") + (run.answer === null ? "" : `: ${run.answer}`) + (run.status === "ok" ? "" : ` (${run.status})`)),
      run.reason ? make("p", { class: "soft" }, run.reason) : null,
      about.boxes ? said(found, run) : null,
      ...run.replies.map((text) => make("pre", {}, text))))),
    ...(about.boxes ? questions : []),
    known.length ? make("dl", {}, ...known) : null].filter((node) => node !== null));
}
function legend(below) {
  const key = (kind, text) => make("span", {}, make("i", { class: kind }), text);
  return make("p", { class: "soft legend" }, key("truth", "truth"), key("lost", "truth, missed"), key("hit", "predicted, matched"), key("miss", "predicted, not matched"), below ? key("under", "predicted, below the operating point") : null);
}
function named(item) { return item.label + (item.score === null ? "" : ` ${item.score.toFixed(2)}`); }
function listed(items) {
  const counts = new Map();
  for (const name of items.map(named)) counts.set(name, (counts.get(name) || 0) + 1);
  return [...counts].map(([name, n]) => (n > 1 ? `${name} \u00d7 ${n}` : name)).join(", ");
}
function said(found, run) {
  const rows = [["matched", run.boxes.filter((box) => box.matched)], ["not matched", run.boxes.filter((box) => !box.matched && box.counts)], ["below the operating point", run.boxes.filter((box) => !box.counts)], ["missed", run.missed.map((i) => found.truth[i])]];
  return make("dl", {}, ...rows.filter(([, boxes]) => boxes.length).flatMap(([name, boxes]) => [make("dt", {}, name), make("dd", {}, listed(boxes))]));
}
function frame(found, boxes, missed = []) {
  if (!found.size) return make("p", { class: "soft" }, "no picture");
  const picture = make("img", { src: "/api/picture?" + new URLSearchParams({ id: found.id }), alt: `the picture of ${found.id}`, loading: "lazy" });
  const ns = "http://www.w3.org/2000/svg", svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", `0 0 ${found.size[0]} ${found.size[1]}`);
  const draw = (item, kind) => {
    const [x1, y1, x2, y2] = item.box, rect = document.createElementNS(ns, "rect"), title = document.createElementNS(ns, "title");
    for (const [key, value] of Object.entries({ x: x1, y: y1, width: Math.max(0, x2 - x1), height: Math.max(0, y2 - y1), class: kind })) rect.setAttribute(key, value);
    title.textContent = `${named(item)} (${kind === "truth" ? "truth" : kind === "lost" ? "truth, missed" : kind === "hit" ? "matched" : kind === "miss" ? "not matched" : "below the operating point"})`;
    rect.append(title); svg.append(rect);
  };
  if (about.boxes) { found.truth.forEach((item, i) => draw(item, missed.includes(i) ? "lost" : "truth")); boxes.forEach((item) => draw(item, item.matched ? "hit" : item.counts ? "miss" : "under")); }
  const node = make("div", { class: "frame" }, picture, svg);
  if (!about.boxes) node.style.maxWidth = "24rem";
  else { node.title = "Click: larger, and back"; node.onclick = () => node.parentNode.classList.toggle("large"); }
  return node;
}
async function step(by_) {
  const i = rows.findIndex((row) => row.id === state.id) + by_;
  if (i >= 0 && i < rows.length) choose(rows[i].id);
  else if (i < 0 && state.page > 0) turn(-1, { last: true });
  else if (i >= rows.length && (state.page + 1) * size < total) turn(1);
}
function turn(by_, options) { state.page += by_; state.id = ""; list(options); }
let waiting = 0;
by("q").oninput = () => { clearTimeout(waiting); waiting = setTimeout(() => { state.q = by("q").value; state.page = 0; state.id = ""; list(); }, 150); };
for (const name of ["show", "where"]) by(name).onchange = () => { state[name] = by(name).value; state.page = 0; state.id = ""; list(); };
by("back").onclick = () => turn(-1);
by("next").onclick = () => turn(1);
by("filters").onsubmit = (event) => event.preventDefault();
document.onkeydown = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (/INPUT|SELECT/.test(event.target.tagName)) { if (event.key === "Escape") event.target.blur(); return; }
  if (event.key === "/") { by("q").focus(); event.preventDefault(); }
  else if (event.key === "j" || event.key === "ArrowDown") { step(1); event.preventDefault(); }
  else if (event.key === "k" || event.key === "ArrowUp") { step(-1); event.preventDefault(); }
  else if (event.key === "b") document.body.classList.toggle("bare");
};
function arrive() {
  fromAddress();
  by("q").value = state.q; by("show").value = state.show; by("where").value = state.where;
  list({ around: state.id });
}
window.onhashchange = arrive;
(async () => {
  about = await get("/api/about");
  by("title").textContent = `${about.samples.toLocaleString()} samples: ${about.runs.map((run) => run.name).join(", ")}`;
  by("report").hidden = !about.report;
  const shows = ["all", "all right", "all wrong", "disagree", "unreadable", ...about.runs.map((_, i) => `wrong ${i + 1}`)];
  by("show").append(...shows.map((name) => make("option", { value: name }, name.startsWith("wrong ") ? `wrong: ${about.runs[Number(name.slice(6)) - 1].name}` : name)));
  for (const [name, values] of Object.entries(about.attributes)) by("where").append(...values.map((value) => make("option", { value: `${name}=${value}` }, `${name}: ${value}`)));
  by("attributes").hidden = !Object.keys(about.attributes).length;
  arrive();
})();
