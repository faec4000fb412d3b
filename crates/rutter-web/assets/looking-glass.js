// The looking glass: reads the REST interface and shows it. No text of a route is ever read as HTML.

import { chart, gaps, time } from "./charts.js";
import { count, h } from "./elements.js";

const main = document.getElementById("main");
const status = document.getElementById("status");

/** Asks the interface. An error has the words of the daemon. */
async function ask(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== undefined));
  const suffix = query.size ? `?${query}` : "";
  let response;
  try {
    response = await fetch(`api/v1/${path}${suffix}`);
  } catch {
    throw new Error("The daemon does not answer. Is it running?");
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail);
  return answer;
}

/** Asks for the first page with rows. A page may have none and lead to the next, because the daemon limits its time. */
async function askPage(path, parameters = {}) {
  const mine = turn;
  let page = await ask(path, parameters);
  while (page.rows.length === 0 && page.next !== undefined && mine === turn) {
    page = await ask(path, { ...parameters, after: page.next });
  }
  return page;
}

/** Asks for the rows of all pages of a short list. */
async function askAll(path) {
  const mine = turn;
  const rows = [];
  let next;
  do {
    const page = await ask(path, { after: next });
    rows.push(...page.rows);
    next = page.next;
  } while (next !== undefined && mine === turn);
  return rows;
}

/** Writes `1 route`, `2 routes`. */
const plural = (number, one, several = `${one}s`) => `${count(number)} ${number === 1 ? one : several}`;
const sum = (rows, key) => rows.reduce((total, row) => total + row[key], 0);
const asn = (number) => `AS${number}`;
const link = (target, ...text) => h("a", { href: `#/${target}` }, ...text);
const memberLink = (peer) => link(`member/${encodeURIComponent(peer.address)}`, peer.name);
const prefixLink = (prefix) => h("span", { class: "code prefix" }, link(`explain/${prefix}`, prefix));

/** Writes `3 days` or `5 min`. */
function duration(seconds) {
  for (const [unit, length] of [["days", 86400], ["h", 3600], ["min", 60]]) {
    if (seconds >= 2 * length) return `${Math.floor(seconds / length)} ${unit}`;
  }
  return `${seconds} s`;
}

function facts(...pairs) {
  const known = pairs.filter(([, value]) => value !== undefined && value !== "");
  return h("dl", { class: "facts" }, known.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/** Makes a table. A column is {name, cell, number, sort}; one with `sort` orders the rows at a click. */
function table(caption, columns, rows) {
  const body = h("tbody");
  const row = (one) => h("tr", {}, columns.map((column) =>
    h("td", { "data-label": column.name, class: column.number ? "number" : column.code ? "code" : undefined }, column.cell(one))));
  const fill = (list) => body.replaceChildren(...list.map(row));
  const heads = columns.map((column) => {
    const head = h("th", { scope: "col", class: column.number ? "number" : undefined });
    if (!column.sort) return head.append(column.name), head;
    head.append(h("button", { type: "button", onclick: () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = (a, b) => {
        const [x, y] = [column.sort(a), column.sort(b)];
        return (typeof x === "number" ? x - y : String(x).localeCompare(String(y))) * (down ? -1 : 1);
      };
      fill([...rows].sort(order));
    } }, column.name));
    return head;
  });
  fill(rows);
  const element = h("table", { class: "cards" }, h("caption", {}, caption), h("thead", {}, h("tr", {}, heads)), body);
  return { element: h("div", { class: "wide" }, element), add: (more) => body.append(...more.map(row)) };
}

const ROUTE = [
  { name: "Prefix", cell: (route) => prefixLink(route.prefix) },
  { name: "From", cell: (route) => memberLink(route.peer) },
  { name: "AS path", code: true, cell: (route) => route.attributes["as-path"] ?? "" },
  { name: "Next hop", code: true, cell: (route) => route.attributes["next-hop"] ?? "" },
  { name: "Communities", code: true, cell: (route) => communities(route.attributes) },
];
const REASONS = {
  name: "Why it is rejected",
  cell: (route) => h("ul", { class: "plain" }, route.findings.map((one) =>
    h("li", {}, h("strong", {}, one.name), ` ${one.explanation} `, h("span", { class: "code faint" }, one.evidence)))),
};

const WITHHELD = { name: "Why it is withheld", cell: (route) => route.withheld.explanation };

function communities(attributes) {
  const all = ["communities", "large-communities", "extended-communities"].flatMap((kind) => attributes[kind] ?? []);
  return all.join(" ");
}

/** Shows routes page by page. */
async function routeList(caption, path, parameters) {
  const first = await askPage(path, { limit: 50, ...parameters });
  if (first.rows.length === 0) return h("p", {}, `${caption}: none.`);
  const columns = path === "rejected" ? [...ROUTE.slice(0, 3), REASONS]
    : path.startsWith("withheld/") ? [...ROUTE.slice(0, 3), WITHHELD] : ROUTE;
  const list = table(caption, columns, first.rows);
  let next = first.next;
  const more = h("button", { type: "button", onclick: async () => {
    try {
      const page = await askPage(path, { limit: 200, ...parameters, after: next });
      list.add(page.rows);
      next = page.next;
      more.hidden = next === undefined;
      say(`${plural(page.rows.length, "more route")}`);
    } catch (error) {
      say(error.message, true);
    }
  } }, "Show more");
  more.hidden = next === undefined;
  return h("section", {}, list.element, more);
}

async function members() {
  const [process, peers] = await Promise.all([ask("status"), ask("peers")]);
  const server = process.rows[0];
  const rows = peers.rows;
  const families = rows.flatMap((peer) => peer.families);
  const total = (key) => (peer) => sum(peer.families, key);
  const counted = (name, key, page) => ({
    name, number: true, sort: total(key),
    cell: (peer) => total(key)(peer) && page ? link(`member/${encodeURIComponent(peer.address)}`, count(total(key)(peer))) : count(total(key)(peer)),
  });
  return ["Members", facts(
    ["Sessions", `${count(server.established)} of ${count(server.peers)} are up`],
    ["Accepted routes", count(sum(families, "accepted"))],
    ["Rejected routes", count(sum(families, "rejected"))],
    ["Running for", duration(server["uptime-s"])],
  ), table("All sessions. A heading sorts the table.", [
    { name: "Member", sort: (peer) => peer.name, cell: memberLink },
    { name: "AS", sort: (peer) => peer.asn, cell: (peer) => asn(peer.asn) },
    { name: "Address", sort: (peer) => peer.address, code: true, cell: (peer) => peer.address },
    { name: "State", sort: (peer) => peer.state, cell: state },
    counted("Received", "received"), counted("Accepted", "accepted"), counted("Rejected", "rejected", true),
  ], rows).element];
}

function state(peer) {
  const up = peer.state === "Established";
  return h("span", { class: up ? "good" : "bad" }, `${up ? "up" : peer.state} for ${duration(peer["state-for-s"])}`);
}

/** Says how many routes a member is sent, and why it is not sent others. */
function advertisedCounts(rows) {
  const reasons = new Map();
  for (const one of rows.flatMap((row) => row.withheld ?? [])) {
    reasons.set(one.explanation, (reasons.get(one.explanation) ?? 0) + one.routes);
  }
  return h("ul", {},
    rows.map((row) => h("li", {}, `${row.family}: ${plural(row.prefixes, "prefix", "prefixes")} advertised`)),
    [...reasons].map(([why, routes]) => h("li", {}, `${count(routes)} withheld: ${why}`)));
}

/** Shows what a member is sent, as it is sent, and what it is not sent. */
async function received(address) {
  const client = encodeURIComponent(address);
  const peer = (await ask(`peers/${client}`)).rows[0];
  const counts = await askAll(`advertised-count/${client}`);
  return [`What ${peer.name} receives`, h("p", {}, memberLink(peer), `, ${asn(peer.asn)}, ${peer.address}`),
    counts.length ? advertisedCounts(counts) : h("p", {}, "The session is not established: nothing is sent."),
    h("h2", {}, "Advertised routes"), await routeList("Routes as they are sent to this member", `advertised/${client}`, {}),
    h("h2", {}, "Withheld routes"), await routeList("Better routes that this member is not sent", `withheld/${client}`, {})];
}

async function member(address) {
  const peer = (await ask(`peers/${encodeURIComponent(address)}`)).rows[0];
  const families = peer.families.filter((one) => one.negotiated).map((one) => one.family).join(", ");
  return [`${peer.name}, ${asn(peer.asn)}`, facts(
    ["State", state(peer)], ["Address", peer.address], ["Families", families],
    ["Accepted routes", count(sum(peer.families, "accepted"))],
    ["Rejected routes", count(sum(peer.families, "rejected"))],
    ["Last error", peer["last-error"]],
  ),
  h("p", {}, link(`receives/${encodeURIComponent(peer.address)}`, `What ${peer.name} receives, and what is withheld from it`)),
  ...await memberHistory(peer.address),
  h("h2", {}, "Rejected routes"), await routeList("Rejected routes, with all reasons", "rejected", { peer: peer.address }),
  h("h2", {}, "Received routes"), await routeList("Routes as received", "routes", { peer: peer.address })];
}

const MINUTE = 60;
const ACCEPTED = { name: "Accepted routes", key: "accepted" };
const REJECTED = { name: "Rejected routes", key: "rejected" };
const UPDATES = { name: "Received", key: "updates-received-per-s" };

/** Charts of all neighbors over the last day. */
async function history() {
  const { rows } = await ask("history");
  return ["History", ...charts("h2", rows, MINUTE, [
    ["Routes", "routes", [ACCEPTED, { name: "Prefixes", key: "prefixes" }]],
    ["Rejected routes", "routes", [REJECTED]],
    ["UPDATEs received", "UPDATEs a second", [UPDATES]],
    ["Bytes sent", "bytes a second", [{ name: "Sent", key: "bytes-sent-per-s" }]],
    ["Sessions", "established sessions", [{ name: "Established", key: "established" }]],
  ])];
}

/** Charts of one neighbor. */
async function memberHistory(address) {
  const { rows } = await ask("history", { neighbor: address });
  return [h("h2", {}, "The last 24 hours"), ...charts("h3", rows, 5 * MINUTE, [
    ["Routes", "routes", [ACCEPTED, REJECTED]],
    ["UPDATEs received", "UPDATEs a second", [UPDATES]],
  ])];
}

/** Draws samples: several charts, the times without samples, and the numbers as a table. */
function charts(heading, samples, every, list) {
  const often = every === MINUTE ? "each minute" : `every ${every / MINUTE} minutes`;
  if (samples.length < 2) {
    const start = samples.length ? `The first sample is that of ${time(samples[0]["unix-s"])}.` : "There are no samples yet.";
    return [h("p", {}, `${start} One is taken ${often}: come back soon.`)];
  }
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const [from, to] = [samples[0]["unix-s"], samples.at(-1)["unix-s"]];
  const isToday = new Date(from * 1000).getDate() === new Date(to * 1000).getDate();
  const without = gaps(samples, every).map(([before, after]) => `${time(before)} to ${time(after)}`);
  const hourly = samples.filter((one, index) =>
    index + 1 === samples.length || Math.floor(one["unix-s"] / 3600) !== Math.floor(samples[index + 1]["unix-s"] / 3600));
  const lines = list.flatMap(([title, , all]) => all.map((line) => ({ ...line, name: all.length > 1 || line.name === title ? line.name : title })));
  const number = (line) => ({
    name: line.name, number: true, cell: (one) => (one[line.key] === undefined ? "" : count(one[line.key])),
  });
  const units = list.filter(([, unit]) => unit.endsWith("a second")).map(([title]) => title);
  return [
    h("p", { class: "faint" }, `A sample ${often}, from ${time(from)}${isToday ? "" : " the day before"} to ${time(to)} (${zone}).`,
      without.length ? ` No samples were taken from ${without.slice(-3).join(", ")}.` : ""),
    h("div", { class: "charts" }, list.map(([title, unit, all]) => chart(heading, title, unit, all, samples, every))),
    h("details", {}, h("summary", {}, "The same numbers as a table"),
      table(`The last sample of each hour. Rates are per second: ${units.join(", ")}.`,
        [{ name: "Time", cell: (one) => time(one["unix-s"]) }, ...lines.map(number)], hourly.reverse()).element),
  ];
}

async function explain(target) {
  const row = (await ask(`explain/${encodeURI(target)}`)).rows[0];
  const receivers = (rank) => row.clients.filter((client) => client.advertised.includes(rank));
  const nothing = row.clients.filter((client) => client.advertised.length === 0);
  const clientCell = (client) => client.advertised.length
    ? client.advertised.map((rank) => `route ${rank}`).join(", ") : "nothing";
  const why = (client) => (client.withheld ?? []).map((one) => `route ${one.rank}: ${one.why}`).join("; ");
  return [row.prefix, h("p", {}, `${plural(row.candidates.length, "route")}. ${count(row.clients.length - nothing.length)} of ${plural(row.clients.length, "client")} receive one.`),
    picture(row, receivers),
    h("h2", {}, "Routes, best first"),
    table("The candidates, in the order of the decision process", [
      { name: "Rank", cell: (one) => String(one.rank) },
      ...ROUTE.slice(1).map((column) => ({ ...column, cell: (one) => column.cell(one.route) })),
      { name: "Decision", cell: decision },
    ], row.candidates).element,
    h("h2", {}, "What each client receives"),
    table("Clients", [
      { name: "Client", sort: (one) => one.client.name, cell: (one) => memberLink(one.client) },
      { name: "AS", sort: (one) => one.client.asn, cell: (one) => asn(one.client.asn) },
      { name: "Receives", sort: clientCell, cell: clientCell },
      { name: "Why not another", cell: why },
    ], row.clients).element];
}

function decision(candidate) {
  if (candidate.route.rejected) {
    return h("ul", { class: "plain bad" }, (candidate.findings ?? []).map((one) => h("li", {}, `${one.name}: ${one.evidence}`)));
  }
  return candidate.rank === 1 ? h("span", { class: "good" }, "best") : `${candidate["lost-at"]}: the route above is better`;
}

/** Draws the candidates from top to bottom, and the number of clients that receive each. A phone has no room for arrows. */
function picture(row, receivers) {
  const isNarrow = matchMedia("(max-width: 40rem)").matches;
  const [width, box, longest] = isNarrow ? [360, 352, 38] : [740, 500, 60];
  const shown = row.candidates.slice(0, 8);
  const height = shown.length * 84 + (shown.length < row.candidates.length ? 30 : 0);
  const words = [];
  const parts = shown.flatMap((one, index) => {
    const top = index * 84 + 4;
    const clients = receivers(one.rank).length;
    const path = one.route.attributes["as-path"] ?? "no AS path";
    const kind = one.route.rejected ? "rejected" : one.rank === 1 ? "best" : "";
    const note = one.route.rejected ? `rejected: ${one.route.rejected.name}` : one["lost-at"] ? `loses by ${one["lost-at"]}` : "best";
    const receiving = clients ? plural(clients, "client") : "no client";
    words.push(`Route ${one.rank} from ${one.route.peer.name}: ${note}, for ${receiving}.`);
    return [
      h("rect", { x: 4, y: top, width: box, height: 64, rx: 8, class: kind }),
      h("text", { x: 18, y: top + 26 }, clip(`${one.rank}. ${one.route.peer.name}: ${path}`, longest)),
      h("text", { x: 18, y: top + 48, class: "faint" }, isNarrow ? clip(`${note} → ${receiving}`, longest) : note),
      clients && !isNarrow ? h("path", { d: `M504 ${top + 32} H600 l-9 -6 m9 6 l-9 6` }) : "",
      isNarrow ? "" : h("text", { x: 612, y: top + 37 }, receiving),
    ];
  });
  if (shown.length < row.candidates.length) {
    parts.push(h("text", { x: 4, y: height - 8, class: "faint" }, `and ${row.candidates.length - shown.length} more`));
  }
  return h("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words.join(" ") }, parts);
}

const clip = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

async function sources() {
  const { rows } = await ask("sources");
  if (rows.length === 0) return ["Sources", h("p", {}, "The configuration names no source of outside data.")];
  return ["Sources", table("Validators, IRR servers and files", [
    { name: "Source", cell: (one) => one.name },
    { name: "State", cell: (one) => h("span", { class: one.state === "live" ? "good" : "bad" }, one.state) },
    { name: "Age", number: true, cell: (one) => (one["age-s"] === undefined ? "" : duration(one["age-s"])) },
    { name: "Entries", number: true, cell: (one) => count(one.entries) },
    { name: "From", code: true, cell: (one) => one.location },
    { name: "Note", cell: (one) => one.refused ?? one["last-error"] ?? "" },
  ], rows).element];
}

/** Shows routes with an AS or a community. */
async function routes(parameters) {
  const names = { "origin-as": "Originated by AS", "path-as": "With a path through AS", community: "With community ", within: "Inside " };
  const title = Object.entries(parameters).map(([name, value]) => `${names[name] ?? `${name} `}${value}`).join(", ");
  const number = parameters["origin-as"];
  if (number === undefined) return [title, await routeList("Routes as received", "routes", parameters)];
  const own = (await ask("peers")).rows.filter((peer) => String(peer.asn) === number);
  const sessions = own.length ? h("p", {}, "Sessions: ", own.flatMap((peer) => [memberLink(peer), ` ${peer.address} `])) : "";
  const other = h("p", {}, link(`routes?path-as=${number}`, `All routes with AS${number} in their path`));
  return [title, sessions, other, await routeList("Routes as received", "routes", parameters)];
}

/** Finds out what a search means. */
async function search(text) {
  const number = /^(?:as)?(\d+)$/i.exec(text);
  if (number) return go(`routes?origin-as=${number[1]}`);
  if (/^\d+(:\d+){1,2}$/.test(text)) return go(`routes?community=${text}`);
  if (/^[0-9a-f:.]+\/\d+$/i.test(text)) return go(`explain/${text}`);
  const { rows } = await ask("peers");
  // The address of a session is in the peering LAN, to which the table has no route.
  const own = rows.find((peer) => peer.address === text.toLowerCase());
  if (own) return go(`member/${encodeURIComponent(own.address)}`);
  if (/^[0-9a-f:.]+$/i.test(text) && /[.:]/.test(text)) return go(`explain/${text}`);
  const found = rows.filter((peer) => peer.name.toLowerCase().includes(text.toLowerCase()));
  if (found.length === 1) return go(`member/${encodeURIComponent(found[0].address)}`);
  if (found.length === 0) throw new Error(`Nothing is called “${text}”. Search for an address, a prefix, an AS number, a community or a member.`);
  return [`Members called “${text}”`, h("ul", {}, found.map((peer) => h("li", {}, memberLink(peer), ` ${asn(peer.asn)}, ${peer.address}`)))];
}

function go(target) {
  location.replace(`#/${target}`);
}

/** Finds the view of an address: `#/explain/8.8.8.0/24`. */
function view(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split("?");
  const slash = path.indexOf("/");
  const [name, rest] = slash < 0 ? [path, ""] : [path.slice(0, slash), decodeURIComponent(path.slice(slash + 1))];
  switch (name) {
    // `#main` is left when somebody skips to the content before this script runs.
    case "": case "main": return members();
    case "member": return member(rest);
    case "receives": return received(rest);
    case "explain": return explain(rest);
    case "history": return history();
    case "sources": return sources();
    case "routes": return routes(Object.fromEntries(new URLSearchParams(query)));
    case "rejected": return routeList("Rejected routes, with all reasons", "rejected", {}).then((list) => ["Rejected routes", list]);
    case "search": return search(rest);
    default: throw new Error(`There is no page “${name}”.`);
  }
}

function say(text, isError = false) {
  status.textContent = text;
  status.className = isError ? "error" : "";
}

let turn = 0;
async function show() {
  const mine = ++turn;
  say("Loading…");
  main.setAttribute("aria-busy", "true");
  try {
    const shown = await view(location.hash);
    // Another page may have been opened meanwhile, or a search may have found one.
    if (mine !== turn || shown === undefined) return;
    const [title, ...content] = shown;
    document.title = `${title} · Looking glass`;
    main.replaceChildren(h("h1", { tabindex: "-1" }, title), ...content.filter((one) => one !== ""));
    if (mine > 1) main.querySelector("h1").focus({ preventScroll: false });
    say("");
  } catch (error) {
    if (mine !== turn) return;
    document.title = "Error · Looking glass";
    main.replaceChildren(h("h1", { tabindex: "-1" }, "Nothing to show"), h("p", {}, error.message));
    if (mine > 1) main.querySelector("h1").focus();
    say(error.message, true);
  }
  main.removeAttribute("aria-busy");
  for (const page of document.querySelectorAll("nav a")) {
    if (page.getAttribute("href") === (location.hash || "#/")) page.setAttribute("aria-current", "page");
    else page.removeAttribute("aria-current");
  }
}

document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = document.getElementById("query").value.trim();
  if (text) location.hash = `#/search/${encodeURIComponent(text)}`;
});
// The link to the content moves the focus only: the address stays that of the page.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", show);
show();
ask("status").then(({ rows }) => {
  document.getElementById("server").textContent = `${asn(rows[0].asn)}, ${rows[0]["router-id"]}`;
}).catch(() => {});
