/** Draws all figures as bars in one SVG: each measure has its own scale, and each measured system its own bar. */
import type { Column, Figure } from "./figure.ts";
import { shown } from "./table.ts";

const colours: Record<Column, string> = { OSM: "#888888", Ostler: "#1f77b4", floor: "#d4a017" };
const [bar, gap, left, widest, right] = [14, 10, 420, 400, 120];

/** Returns a whole SVG document. */
export function chartOf(figures: readonly Figure[], title: string): string {
  let y = 40;
  const parts: string[] = [];
  for (const figure of figures) {
    const bars = barsOf(figure, y);
    if (bars.length === 0) continue;
    parts.push(text(left - 8, y + bar - 3, labelOf(figure), "end"), ...bars);
    y += Object.keys(figure.values).length * bar + gap;
  }
  const width = left + widest + right;
  const font = 'font-family="sans-serif" font-size="11"';
  const frame = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y}" ${font}>`;
  const ground = `<rect width="${width}" height="${y}" fill="white"/>`;
  return [frame, ground, text(8, 20, title, "start"), ...parts, "</svg>", ""].join("\n");
}

function labelOf({ part, what, unit, size }: Figure): string {
  return `${part}: ${what}${size === undefined ? "" : `, ${size}`} (${unit})`;
}

function barsOf({ values }: Figure, top: number): string[] {
  const entries = Object.entries(values) as [Column, number][];
  const most = Math.max(...entries.map(([, value]) => value));
  return entries.flatMap(([column, value], nth) => {
    const [y, length] = [top + nth * bar, most > 0 ? widest * value / most : 0];
    const shape = `<rect x="${left}" y="${y}" width="${length.toFixed(1)}" height="${bar - 2}" fill="${
      colours[column]
    }"/>`;
    return [shape, text(left + length + 6, y + bar - 4, `${column} ${shown(value)}`, "start")];
  });
}

function text(x: number, y: number, words: string, anchor: "start" | "end"): string {
  const safe = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x.toFixed(1)}" y="${y}" text-anchor="${anchor}">${safe}</text>`;
}
