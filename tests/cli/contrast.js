// The least contrast of a page, as WCAG 2 counts it: of all text with its ground, of letters with boxes.
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [lighter, darker] = [light(a), light(b)].sort((p, q) => q - p);
    return (lighter + 0.05) / (darker + 0.05);
  };
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = rgb(getComputedStyle(each).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const says = (element) => [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  const texts = [...document.querySelectorAll("body *")].filter(
    (element) => element.checkVisibility() && !element.closest("svg") && says(element),
  );
  const style = getComputedStyle(document.documentElement);
  const value = (name) => rgb(style.getPropertyValue(name));
  const boxes = [...Array(12).keys()].map((n) => ratio(value(`--b${n}`), value("--ink")));
  const meters = ratio(value("--used"), value("--text"));
  const ratios = texts.map((e) => ratio(rgb(getComputedStyle(e).color), ground(e)));
  return Math.min(...ratios, ...boxes, meters);
})();
