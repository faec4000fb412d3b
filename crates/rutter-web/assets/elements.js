// Elements of the page. No text is ever read as HTML.

const SVG = new Set(["svg", "rect", "text", "path", "g"]);
const numbers = new Intl.NumberFormat("en");

/** Makes an element with attributes and children. */
export function h(name, attributes = {}, ...children) {
  const element = SVG.has(name)
    ? document.createElementNS("http://www.w3.org/2000/svg", name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") element.addEventListener("click", value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== ""));
  return element;
}

export const count = (value) => numbers.format(value);
