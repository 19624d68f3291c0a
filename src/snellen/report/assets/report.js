"use strict";
/* Galleries, tooltips and the table of contents. No framework, no network; text from models only as textContent. */
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const PAGE = 48;
  const waiting = new Map();
  const arrived = new Map();

  window.snellenGallery = (run, data) => {
    arrived.set(run, data);
    const root = waiting.get(run);
    if (root) start(root, data);
  };

  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "class") node.className = value;
      else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children) if (child !== null && child !== undefined) node.append(child);
    return node;
  }

  function shape(tag, attributes) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  }

  /* ---- controls ---------------------------------------------------------------------------------------------- */

  function choice(label, options, onchange) {
    const select = make("select", { onchange: () => onchange(select.value) });
    for (const [value, text] of options) select.append(make("option", { value }, text));
    return make("label", {}, label, select);
  }

  function counted(values) {
    const counts = new Map();
    for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
    return counts;
  }

  function start(root, data) {
    if (root.dataset.started) return;
    root.dataset.started = "yes";
    (root.dataset.kind === "boxes" ? boxes : answers)(root, data);
    aim();
  }

  /* A gallery that grows above the section that was asked for pushes it away: go there again, unless the reader moved. */
  let wanted = location.hash;
  function aim() {
    const target = wanted && document.getElementById(decodeURIComponent(wanted.slice(1)));
    if (target) target.scrollIntoView();
  }
  window.addEventListener("hashchange", () => { wanted = location.hash; });
  for (const moved of ["wheel", "touchmove", "keydown", "pointerdown"]) {
    window.addEventListener(moved, (event) => {
      if (!(event.target.closest && event.target.closest("nav"))) wanted = "";
    }, { passive: true });
  }

  /* A pager over `items`: cards are made for one page at a time, pictures load when they come into view. */
  function pager(root, card) {
    let items = [];
    let page = 0;
    const cards = make("div", { class: "cards" });
    const where = make("span", { "aria-live": "polite" });
    const bars = [];
    function bar() {
      const back = make("button", { type: "button", onclick: () => turn(-1) }, "Previous");
      const next = make("button", { type: "button", onclick: () => turn(1) }, "Next");
      bars.push([back, next]);
      return [back, next];
    }
    const [back, next] = bar();
    root.append(make("div", { class: "pager" }, back, next, where), cards);
    const [back2, next2] = bar();
    const foot = make("div", { class: "pager" }, back2, next2);
    root.append(foot);
    function turn(by) {
      page += by;
      draw();
      root.scrollIntoView({ block: "start" });
    }
    function draw() {
      const pages = Math.max(1, Math.ceil(items.length / PAGE));
      page = Math.min(Math.max(page, 0), pages - 1);
      const from = page * PAGE;
      cards.replaceChildren(...items.slice(from, from + PAGE).map((item, i) => card(item, from + i, items)));
      where.textContent = items.length
        ? `${(from + 1).toLocaleString("en")} to ${Math.min(from + PAGE, items.length).toLocaleString("en")} of ${items.length.toLocaleString("en")}`
        : "Nothing fits this choice.";
      for (const [b, n] of bars) { b.disabled = page === 0; n.disabled = page >= pages - 1; }
      foot.hidden = items.length <= 8;
    }
    return (list) => { items = list; page = 0; draw(); };
  }

  /* ---- closed answers ---------------------------------------------------------------------------------------- */

  function answers(root, data) {
    const state = { question: "", kind: "" };
    const kindOf = (item) => (item.correct ? "right" : item.answer === "other" ? "other" : "wrong");
    const controls = make("div", { class: "controls" });
    const questions = counted(data.items.map((item) => item.question));
    if (questions.size > 1) {
      const options = [["", "all"], ...[...questions].map(([name, n]) => [name, `${name} (${n})`])];
      controls.append(choice("Question", options, (value) => { state.question = value; update(); }));
    }
    const kinds = counted(data.items.map(kindOf));
    const names = { wrong: "wrong", other: "no single option", right: "right" };
    const options = [["", "all"], ...Object.entries(names).filter(([k]) => kinds.has(k)).map(([k, name]) => [k, `${name} (${kinds.get(k)})`])];
    controls.append(choice("Answer", options, (value) => { state.kind = value; update(); }));
    root.append(controls);
    const show = pager(root, (item) => make("article", { class: "card" },
      picture(item),
      make("div", { class: "text" },
        make("div", {}, item.text || item.question),
        item.reply ? make("div", { class: "reply" }, item.reply) : null,
        verdict(item, kindOf(item)),
        item.why ? make("div", { class: "soft" }, item.why) : null,
        make("div", { class: "id" }, item.id))));
    const rank = { wrong: 0, other: 1, right: 2 };
    const sorted = data.items.map((item, i) => [item, i])
      .sort(([a, i], [b, j]) => rank[kindOf(a)] - rank[kindOf(b)] || i - j).map(([item]) => item);
    function update() {
      show(sorted.filter((item) => (!state.question || item.question === state.question) && (!state.kind || kindOf(item) === state.kind)));
    }
    update();
  }

  function verdict(item, kind) {
    if (kind === "right") return make("div", { class: "verdict right" }, `Right: ${item.target}`);
    const said = kind === "other" ? "names no single option" : `said ${item.answer}`;
    return make("div", { class: "verdict wrong" }, `Wrong: ${said}; truth ${item.target}`);
  }

  function picture(item) {
    if (!item.picture) return make("div", { class: "picture none" }, item.missing || "no picture");
    const [width, height] = item.size;
    return make("div", { class: "answer picture", style: "cursor: default" },
      make("img", { src: item.picture, alt: `Picture of sample ${item.id}`, width, height, loading: "lazy", decoding: "async" }));
  }

  /* ---- boxes ------------------------------------------------------------------------------------------------- */

  const TRUTH = 0, X1 = 1, Y1 = 2, X2 = 3, Y2 = 4, LABEL = 5, KIND = 6, SCORE = 7;

  function boxes(root, data) {
    const state = { label: "", kind: "", sort: "errors", search: "", truth: true, said: true };
    const kindIndex = new Map(data.kinds.map((kind, i) => [kind, i]));
    const present = new Map();  // label -> true instances; 0 where it was only predicted
    for (const item of data.items) {
      for (const box of item.boxes) present.set(box[LABEL], (present.get(box[LABEL]) || 0) + (box[TRUTH] && data.kinds[box[KIND]] !== "crowd" ? 1 : 0));
    }
    const kindCounts = counted(data.items.flatMap((item) => item.boxes.filter((box) => !box[TRUTH] || data.kinds[box[KIND]] === "miss").map((box) => data.kinds[box[KIND]])));
    const controls = make("div", { class: "controls" });
    const labels = [...present].sort((a, b) => b[1] - a[1]).map(([i, n]) => [String(i), `${data.labels[i]} (${n})`]);
    controls.append(choice("Class", [["", "all"], ...labels], (value) => { state.label = value; update(); }));
    const kinds = Object.keys(data.words).filter((kind) => kindCounts.has(kind));
    controls.append(choice("With", [["", "anything"], ...kinds.map((kind) => [kind, `${kind} (${kindCounts.get(kind)})`])],
      (value) => { state.kind = value; update(); }));
    controls.append(choice("Order", [["errors", "most errors first"], ["fewest", "fewest errors first"], ["many", "most instances first"], ["name", "by name"]],
      (value) => { state.sort = value; update(); }));
    const search = make("input", { type: "search", size: "14", oninput: () => { state.search = search.value.toLowerCase(); update(); } });
    controls.append(make("label", {}, "Name holds", search));
    for (const [name, text] of [["truth", "truth"], ["said", "predictions"]]) {
      const box = make("input", { type: "checkbox", checked: true, onchange: () => { state[name] = box.checked; redraw(); } });
      controls.append(make("label", { class: "tick" }, box, text));
    }
    const key = make("div", { class: "key" });
    for (const [style, text, dash] of [["#56d0f0", "truth, found", true], ["#ffc83d", "truth, missed", true], ["#5ccc80", "hit", false], ["#ff6a4d", "error", false]]) {
      key.append(make("span", {}, make("i", { class: dash ? "dash" : null, style: `border-color: ${style}` }), text));
    }
    root.append(controls, key);
    const show = pager(root, (item, i, all) => boxCard(item, i, all, data, state));
    let current = [];
    const labelled = (box) => !state.label || String(box[LABEL]) === state.label;
    const ofKind = (box) => !state.kind || (box[KIND] === kindIndex.get(state.kind) && (!box[TRUTH] || state.kind === "miss"));
    const wanted = (item) => item.boxes.some((box) => labelled(box) && ofKind(box));
    const wrong = (box) => {
      const kind = data.kinds[box[KIND]];
      return box[TRUTH] ? kind === "miss" : kind !== "hit" && kind in data.words;
    };
    let errors = new Map();  // item -> errors of the class and kind chosen; beside hits, of the class
    const erring = (item) => !state.label && !state.kind ? item.errors
      : item.boxes.filter((box) => wrong(box) && labelled(box) && (state.kind === "hit" || ofKind(box))).length;
    const orders = {
      errors: (a, b) => errors.get(b) - errors.get(a), fewest: (a, b) => errors.get(a) - errors.get(b),
      many: (a, b) => b.boxes.length - a.boxes.length, name: (a, b) => a.id.localeCompare(b.id, "en", { numeric: true }),
    };
    function update() {
      current = data.items.filter((item) => (!state.search || item.id.toLowerCase().includes(state.search))
        && ((!state.label && !state.kind) || wanted(item)));
      errors = new Map(current.map((item) => [item, erring(item)]));
      current.sort((a, b) => orders[state.sort](a, b) || a.id.localeCompare(b.id, "en", { numeric: true }));
      show(current);
    }
    function redraw() {
      root.classList.toggle("no-truth", !state.truth);
      root.classList.toggle("no-said", !state.said);
    }
    update();
  }

  function overlay(item, data) {
    const [w, h] = item.size;
    const svg = shape("svg", { viewBox: `0 0 ${w} ${h}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    const order = [...item.boxes].sort((a, b) => b[TRUTH] - a[TRUTH]);
    for (const box of order) {
      const kind = data.kinds[box[KIND]];
      const style = kind === "crowd" ? "box-crowd" : box[TRUTH] ? (kind === "miss" ? "box-missed" : "box-truth") : kind === "hit" ? "box-hit" : "box-error";
      const place = { x: box[X1], y: box[Y1], width: Math.max(0, box[X2] - box[X1]), height: Math.max(0, box[Y2] - box[Y1]) };
      const group = shape("g", { class: box[TRUTH] ? "truth" : "said" });
      const front = shape("rect", { ...place, class: style });
      const title = shape("title", {});
      title.textContent = boxWords(box, data);
      front.append(title);
      group.append(shape("rect", { ...place, class: "back" }), front);
      svg.append(group);
    }
    return svg;
  }

  function boxWords(box, data) {
    const kind = data.kinds[box[KIND]];
    const score = box.length > SCORE ? `, score ${box[SCORE]}` : "";
    if (box[TRUTH]) {
      const fate = { hit: "found", miss: "missed", crowd: "crowd region" }[kind] || `missed by a ${kind} error`;
      return `truth: ${data.labels[box[LABEL]]}, ${fate}`;
    }
    return `predicted: ${data.labels[box[LABEL]]}${score}, ${kind}${kind && data.words[kind] ? `: ${data.words[kind]}` : ""}`;
  }

  function tally(item, data) {
    const counts = new Map();
    for (const box of item.boxes) {
      const kind = data.kinds[box[KIND]];
      if (!box[TRUTH] || kind === "miss") counts.set(kind, (counts.get(kind) || 0) + 1);
    }
    return Object.keys(data.words).filter((kind) => counts.has(kind)).map((kind) => `${counts.get(kind)} ${kind}`).join(", ") || "nothing there, nothing said";
  }

  function boxCard(item, i, all, data) {
    return make("article", { class: "card" },
      make("button", { class: "picture", type: "button", style: `aspect-ratio: ${item.size[0]} / ${item.size[1]}`,
        "aria-label": `Enlarge ${item.id}: ${tally(item, data)}`, onclick: () => enlarge(all, i, data) },
        item.picture ? make("img", { src: item.picture, alt: `Picture ${item.id}`, loading: "lazy", decoding: "async" }) : null,
        overlay(item, data)),
      make("div", { class: "text" },
        make("div", {}, tally(item, data)),
        item.status ? make("div", { class: "verdict wrong" }, `Reply ${item.status}${item.why ? `: ${item.why}` : ""}`) : null,
        item.picture ? null : make("div", { class: "soft" }, item.missing || "no picture"),
        make("div", { class: "id" }, item.id)));
  }

  function enlarge(all, i, data) {
    const dialog = make("dialog", { "aria-label": "Picture with boxes", onclose: () => dialog.remove() });
    function draw() {
      const item = all[i];
      const list = make("ul", {});
      const listed = [...item.boxes].sort((a, b) => (data.kinds[a[KIND]] === "hit") - (data.kinds[b[KIND]] === "hit"));
      for (const box of listed) list.append(make("li", {}, boxWords(box, data)));
      const step = (by) => () => { i = (i + by + all.length) % all.length; draw(); };
      dialog.replaceChildren(
        make("form", { method: "dialog" },
          make("button", { type: "button", onclick: step(-1) }, "Previous"),
          make("button", { type: "button", onclick: step(1) }, "Next"),
          make("button", {}, "Close")),
        make("div", { class: "picture", style: `--ratio: ${item.size[0] / item.size[1]}; aspect-ratio: ${item.size[0]} / ${item.size[1]}` },
          item.picture ? make("img", { src: item.picture, alt: `Picture ${item.id}` }) : null, overlay(item, data)),
        make("div", { class: "text" }, make("div", { class: "id" }, item.id), make("div", {}, tally(item, data)),
          item.status ? make("div", { class: "verdict wrong" }, `Reply ${item.status}`) : null,
          item.why ? make("div", { class: "soft" }, item.why) : null,
          item.reply ? make("div", { class: "reply" }, item.reply) : null, list));
    }
    dialog.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by) { i = (i + by + all.length) % all.length; draw(); }
    });
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    draw();
    document.body.append(dialog);
    dialog.showModal();
  }

  /* ---- the page ---------------------------------------------------------------------------------------------- */

  function tooltips() {
    const tip = document.getElementById("tip");
    document.addEventListener("pointermove", (event) => {
      const mark = event.target.closest ? event.target.closest("figure svg [aria-roledescription][aria-label]") : null;
      const text = mark && mark.getAttribute("role") === "graphics-symbol" && !/axis|legend|title/.test(mark.getAttribute("aria-roledescription"))
        ? mark.getAttribute("aria-label") : "";
      tip.style.display = text ? "block" : "none";
      if (!text) return;
      tip.textContent = text;
      const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
      const below = event.clientY + 18 + tip.offsetHeight < window.innerHeight;
      tip.style.left = `${Math.max(4, left)}px`;
      tip.style.top = `${below ? event.clientY + 18 : event.clientY - tip.offsetHeight - 10}px`;
    });
  }

  function contents() {
    const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
    const folded = document.querySelector("nav > details");
    if (folded && window.matchMedia("(max-width: 68rem)").matches) folded.open = false;
    if (!("IntersectionObserver" in window)) return;
    const watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        for (const link of links.values()) link.removeAttribute("aria-current");
        const link = links.get(entry.target.id);
        if (link) link.setAttribute("aria-current", "true");
      }
    }, { rootMargin: "-10% 0px -80% 0px" });
    for (const id of links.keys()) { const part = document.getElementById(id); if (part) watcher.observe(part); }
  }

  /* A gallery's data is a script beside the page, loaded when the gallery comes near: pages from a disk may not fetch. */
  function galleries() {
    function load(root) {
      const run = root.dataset.run;
      if (arrived.has(run)) { start(root, arrived.get(run)); return; }
      if (waiting.has(run)) return;
      waiting.set(run, root);
      if (root.dataset.src) document.body.append(make("script", { src: root.dataset.src }));
    }
    const all = [...document.querySelectorAll(".gallery")];
    if (!("IntersectionObserver" in window)) { all.forEach(load); return; }
    const watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) { watcher.unobserve(entry.target); load(entry.target); }
    }, { rootMargin: "800px 0px" });
    all.forEach((root) => watcher.observe(root));
  }

  document.addEventListener("DOMContentLoaded", () => { tooltips(); contents(); galleries(); });
})();
