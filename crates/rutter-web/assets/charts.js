// Charts of the history: lines over time as SVG. Each has its numbers in words, for people who do not see it.

import { count, h } from "./elements.js";

const [WIDTH, HEIGHT] = [360, 200];
const [LEFT, RIGHT, TOP, BOTTOM] = [48, 10, 30, 24];
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const TIME_STEPS = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200];

/** Writes the local time of day. */
export const time = (unix) => clock.format(new Date(unix * 1000));

/** Draws a chart. `samples` are rows with ascending times, and `every` is the number of seconds between two of them. A line
 * is {name, key}: a row without the key, and a longer time without a row, are gaps. */
export function chart(heading, title, unit, lines, samples, every) {
  const start = samples[0]["unix-s"];
  const end = Math.max(samples.at(-1)["unix-s"], start + 1);
  const values = samples.flatMap((one) => lines.map((line) => one[line.key])).filter((value) => value !== undefined);
  const ticks = valueTicks(values);
  const x = (unix) => LEFT + ((unix - start) / (end - start)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - (value / ticks.at(-1)) * (HEIGHT - TOP - BOTTOM);
  const parts = [
    h("text", { x: 0, y: 12, class: "faint" }, unit),
    ticks.map((tick) => [
      h("path", { d: `M${LEFT} ${round(y(tick))}H${WIDTH - RIGHT}`, class: "grid" }),
      h("text", { x: LEFT - 6, y: round(y(tick) + 4), "text-anchor": "end", class: "faint" }, compact.format(tick)),
    ]),
    timeTicks(start, end).map((tick) => [
      h("path", { d: `M${round(x(tick))} ${HEIGHT - BOTTOM}v5`, class: "grid" }),
      h("text", { x: round(x(tick)), y: HEIGHT - 4, "text-anchor": "middle", class: "faint" }, time(tick)),
    ]),
    lines.map((line, index) => h("path", { d: way(line, samples, every, x, y), class: `line line-${index + 1}` })),
  ];
  return h("section", {}, h(heading, {}, title), legend(lines, samples),
    h("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words(title, lines, samples, every), class: "chart" }, parts.flat(2)));
}

/** Returns the times without samples, as pairs of the sample before and the one after. */
export function gaps(samples, every) {
  const pairs = samples.slice(1).map((after, index) => [samples[index]["unix-s"], after["unix-s"]]);
  return pairs.filter(([before, after]) => after - before > 1.5 * every);
}

const round = (number) => Math.round(number * 10) / 10;

/** The path of a line. Where a sample has no neighbors, it is a dot. */
function way(line, samples, every, x, y) {
  let last;
  return samples.filter((one) => one[line.key] !== undefined).map((one) => {
    const unix = one["unix-s"];
    const goesOn = last !== undefined && unix - last <= 1.5 * every;
    last = unix;
    return `${goesOn ? "L" : "M"}${round(x(unix))} ${round(y(one[line.key]))}${goesOn ? "" : "h0"}`;
  }).join("");
}

/** Returns round numbers from 0 to at least the largest value. */
function valueTicks(values) {
  const largest = Math.max(0, ...values);
  if (largest === 0) return [0, 1];
  const rough = Math.max(largest / 5, values.every(Number.isInteger) ? 1 : 0);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.9999);
  const steps = Math.ceil(largest / step - 1e-9);
  return Array.from({ length: steps + 1 }, (_, index) => Number((index * step).toPrecision(6)));
}

/** Returns round times of day. */
function timeTicks(start, end) {
  const step = TIME_STEPS.find((one) => (end - start) / one <= 6) ?? TIME_STEPS.at(-1);
  const offset = new Date(start * 1000).getTimezoneOffset() * 60;
  const first = Math.ceil((start - offset) / step) * step + offset;
  const ticks = [];
  for (let tick = first; tick <= end; tick += step) ticks.push(tick);
  // A label at the edge would be cut.
  const margin = (end - start) * 0.04;
  return ticks.filter((tick) => tick <= end - margin);
}

function legend(lines, samples) {
  const item = (line, index) => {
    const last = samples.findLast((one) => one[line.key] !== undefined);
    const mark = h("svg", { viewBox: "0 0 24 8", class: "mark", "aria-hidden": "true" }, h("path", { d: "M1 4H23", class: `line line-${index + 1}` }));
    return h("li", {}, mark, `${line.name}: `, h("strong", {}, last ? count(last[line.key]) : "unknown"));
  };
  return h("ul", { class: "plain legend" }, lines.map(item));
}

function words(title, lines, samples, every) {
  const of = (line) => {
    const known = samples.filter((one) => one[line.key] !== undefined);
    if (known.length === 0) return `${line.name}: no value yet.`;
    const value = (one) => `${count(one[line.key])} at ${time(one["unix-s"])}`;
    const [low, high] = known.reduce(([low, high], one) =>
      [one[line.key] < low[line.key] ? one : low, one[line.key] > high[line.key] ? one : high], [known[0], known[0]]);
    return `${line.name}: ${value(known.at(-1))}, lowest ${value(low)}, highest ${value(high)}.`;
  };
  const missing = gaps(samples, every).length;
  return [`${title}.`, ...lines.map(of), missing ? `Times without samples: ${missing}.` : ""].join(" ").trim();
}
