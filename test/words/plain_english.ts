import { findWords, type Prose } from "./find_words.ts";

type Comment = Deno.lint.LineComment | Deno.lint.BlockComment;

/** Three words in a row: shorter strings are not checked. */
const sentenceLike = /[A-Za-z][\w'-]*[,;:]? [\w'-]+[,;:]? [\w'-]+/;

/** Files with copies of code of other files; the text of a copy is checked only in its original file. */
const copies = ["test/planted/faults.ts"];

/** Lint rule: requires plain English in comments and strings. */
export function plainEnglish(context: Deno.lint.RuleContext, path: string): Deno.lint.LintVisitor {
  if (copies.includes(path)) return {};
  const { text: source } = context.sourceCode;
  const see = (prose: Prose): void => {
    for (const { at, words, instead } of findWords(prose)) {
      const message = `"${words}" is not plain English`;
      context.report({ range: [at, at + words.length], message, hint: `Write: ${instead}` });
    }
  };
  const seeString = (from: number, text: string): void => {
    if (sentenceLike.test(text)) {
      see({ at: from + 1, text: text.slice(1, -1).replaceAll("\n", "\f"), place: "message" });
    }
  };
  return {
    Program(): void {
      for (const comment of commentsOf(context.sourceCode.getAllComments(), source)) see(comment);
    },
    Literal({ range, value }): void {
      if (typeof value === "string") seeString(range[0], source.slice(...range));
    },
    TemplateLiteral({ range: [from, to], expressions }): void {
      const text = expressions.reduce((rest, { range: [start, end] }) => {
        return rest.slice(0, start - from) + "_".repeat(end - start) + rest.slice(end - from);
      }, source.slice(from, to));
      seeString(from, text);
    },
  };
}

/** Returns comments as prose; `//` comments on adjacent lines are one text. */
function commentsOf(comments: Comment[], source: string): Prose[] {
  const texts: { from: number; to: number; isLine: boolean }[] = [];
  for (const { type, range: [from, to] } of comments) {
    const last = texts.at(-1);
    const isLine = type === "Line";
    if (isLine && last?.isLine && /^\n\s*$/.test(source.slice(last.to, from))) last.to = to;
    else texts.push({ from, to, isLine });
  }
  return texts.map(({ from, to }) => ({ at: from, text: withoutMarks(source.slice(from, to)), place: "comment" }));
}

/** Removes `//` and `*`; a list item or an indented line is a sentence of its own. */
function withoutMarks(comment: string): string {
  const marks = /^[ \t]*(?:\/\/|\/\*+|\*\/|\*)(  +| *(?:[-*]|\d+\.) )?|\*\/$/gm;
  return comment.replace(marks, (mark, item?: string) => (item ? "\f" : " ").padStart(mark.length));
}
