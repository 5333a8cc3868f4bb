// The server counts Unicode code points, JavaScript counts UTF-16 units.

const SURROGATE = /[\ud800-\udfff]/;

/** A function from a code point offset in `text` to its UTF-16 index; offsets outside are moved to the ends. */
export function unitIndex(text) {
  if (!SURROGATE.test(text)) return (offset) => Math.min(Math.max(offset, 0), text.length);
  const starts = [];
  for (let unit = 0; unit < text.length; unit += text.codePointAt(unit) > 0xffff ? 2 : 1) starts.push(unit);
  starts.push(text.length);
  return (offset) => starts[Math.min(Math.max(offset, 0), starts.length - 1)];
}
