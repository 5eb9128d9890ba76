// The search page. `SECTIONS`, from searchindex.js, holds [page, its title, anchor, heading, sentences, code] of every
// section: a page opened from a file may not read the others, so their words come with the index.
"use strict";

const MOST = 40; // results
const AROUND = 90; // characters before the first word found
const EXCERPT = 240;

/** "The patches of ViT-B/16" -> a pattern for each word; plurals and -ing find their stem. */
function patterns(query) {
  const words = query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [];
  return [...new Set(words)].map((word) => {
    const stem = word.replace(/(?:es|s|ing|ed)$/, "");
    const whole = word.length < 3;
    const body = !whole && stem.length > 3 ? stem : word;
    return new RegExp(`(?<![\\p{L}\\p{N}])${body}${whole ? "(?![\\p{L}\\p{N}])" : "[\\p{L}\\p{N}]*"}`, "giu");
  });
}

const count = (text, pattern) => (text.match(pattern) || []).length;

/** How well a section answers, 0 where a word is missing. */
function score([, title, anchor, heading, sentences, code], wanted, query) {
  const text = `${sentences} ${code}`;
  let sum = 0;
  for (const pattern of wanted) {
    const one = 20 * count(heading, pattern) + Math.min(count(text, pattern), 5);
    if (!one && !count(title, pattern)) return 0;
    sum += one + (anchor ? 0 : 4 * count(title, pattern));
  }
  // A section that has the words side by side, before those that have them here and there.
  return sum + (wanted.length > 1 && `${heading} ${text}`.toLowerCase().includes(query.toLowerCase()) ? 30 : 0);
}

/** The part of the text that has most of the words. */
function excerpt(text, wanted) {
  const found = wanted.flatMap((pattern) => [...text.matchAll(pattern)].map(({ index }) => [index, pattern]));
  let [best, most] = [0, 0];
  for (const [start] of found) {
    const inside = found.filter(([at]) => at >= start && at < start + EXCERPT - AROUND);
    const kinds = new Set(inside.map(([, pattern]) => pattern)).size;
    if (kinds > most) [best, most] = [start, kinds];
  }
  const from = best > AROUND ? text.indexOf(" ", best - AROUND) + 1 : 0;
  const to = from + EXCERPT < text.length ? text.lastIndexOf(" ", from + EXCERPT) : text.length;
  return `${from ? "… " : ""}${text.slice(from, Math.max(to, best + 1))}${to < text.length ? " …" : ""}`;
}

/** A new element that holds the text, the words that were found marked. */
function marked(tag, text, wanted) {
  const node = document.createElement(tag);
  const spots = wanted.flatMap((pattern) => [...text.matchAll(pattern)].map((m) => [m.index, m.index + m[0].length]));
  let at = 0;
  for (const [from, to] of spots.sort((a, b) => a[0] - b[0])) {
    if (from < at) continue;
    const mark = document.createElement("mark");
    mark.textContent = text.slice(from, to);
    node.append(text.slice(at, from), mark);
    at = to;
  }
  node.append(text.slice(at));
  return node;
}

function show(query) {
  const wanted = patterns(query);
  const scored = SECTIONS.map((section) => [wanted.length ? score(section, wanted, query) : 0, section]);
  const found = scored.filter(([points]) => points).sort((a, b) => b[0] - a[0]);
  const items = found.slice(0, MOST).map(([, [page, title, anchor, heading, sentences, code]]) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `${page}?highlight=${encodeURIComponent(query)}${anchor && `#${anchor}`}`;
    if (heading !== title) link.append(Object.assign(document.createElement("small"), { textContent: title }), " ");
    link.append(marked("span", heading, wanted));
    // What the section says about it, before the code that uses it.
    const said = wanted.some((pattern) => count(sentences, pattern)) || !wanted.some((pattern) => count(code, pattern));
    item.append(link, marked("p", excerpt(said ? sentences : code, wanted), wanted));
    return item;
  });
  const sections = found.length === 1 ? "section has" : "sections have";
  const first = found.length > MOST ? `; these are the best ${MOST}` : "";
  const words = wanted.length === 1 ? "this word" : "all of these words";
  document.getElementById("search-results").replaceChildren(...items);
  document.getElementById("search-status").textContent =
    wanted.length ? `${found.length || "No"} ${sections} ${words}${first}.` : "";
}

const field = document.querySelector("#search input[type=search]");
field.value = new URLSearchParams(location.search).get("q") || "";
field.addEventListener("input", () => {
  history.replaceState(null, "", `?q=${encodeURIComponent(field.value)}`);
  show(field.value);
});
show(field.value);
field.focus();
