import { glossary, type Place, type Row } from "./glossary.ts";

/** A part of a file from offset `at`, with the same length as in the file; `\f` ends a sentence. */
export interface Prose {
  at: number;
  text: string;
  place: Place;
}

/** Words at offset `at` of a file that are not plain English, and what to write instead. */
export interface Finding {
  at: number;
  words: string;
  instead: string;
}

/** Maximum number of words in a sentence. */
const limit = 40;

const sentences = /\S(?:(?![.!?]["')*]*\s+[A-Z_"'([*\d])(?!\n\s*\n)[^\f])*[.!?]?/g;

/** Code spans, quotes, targets of links, and URLs. */
const notProse = [
  /`[^`]*`/g,
  /"[^"\n]*"/g,
  /(?<!\w)'[^'\s]*'(?!\w)/g,
  /\{@link [^}]*\}/g,
  /\]\([^)]*\)/g,
  /https?:\S+/g,
];

const rows = glossary.map((row) => ({ ...row, pattern: patternOf(row) }));

function patternOf({ words }: Row): RegExp {
  const isStart = words.startsWith("^");
  const whole = isStart ? words : `(?<![\\w.$/-])(?:${words})(?![\\w(=/-]|\\.\\w)`;
  return new RegExp(whole.replaceAll(" ", "\\s+"), isStart ? "g" : "gi");
}

/** Returns a text of the same length with `_` in place of what the patterns match. */
export function blank(text: string, patterns: readonly RegExp[]): string {
  return patterns.reduce((rest, pattern) => rest.replace(pattern, (match) => "_".repeat(match.length)), text);
}

/** Finds words of a text that are in the glossary, and sentences with too many words. */
export function findWords({ at, text, place }: Prose): Finding[] {
  return [...blank(text, notProse).matchAll(sentences)].flatMap(({ 0: sentence, index }) =>
    findInSentence(sentence, place).map((found) => {
      const start = index + found.at;
      return { ...found, at: at + start, words: text.slice(start, start + found.words.length).replace(/\s+/g, " ") };
    })
  );
}

function findInSentence(sentence: string, place: Place): Finding[] {
  const found = rows.filter(({ places }) => places?.includes(place) ?? true).flatMap(({ pattern, instead }) =>
    [...sentence.matchAll(pattern)].map(({ 0: words, index }) => ({ at: index, words, instead }))
  );
  const count = sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;
  if (count <= limit) return found;
  const [start = ""] = /(?:\S+\s+){0,4}\S+/.exec(sentence) ?? [];
  return [...found, { at: 0, words: start, instead: `several sentences; this one has ${count} words` }];
}
